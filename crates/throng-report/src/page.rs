//! Page layout: a head whose content policy blocks external resources, and one style sheet.

use maud::{Markup, PreEscaped, Render, html};

use crate::numbers::{cell, count};

/// Content security policy: inline styles only; no script runs and nothing is fetched.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Renders a whole page.
pub(crate) fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body { (body) }
        }
        "\n"
    };
    without_controls(page.into_string())
}

/// Returns the content of a page as a part of another page: without the head, and with styles that apply to nothing else and that
/// take precedence over those of the other page. Notebooks have styles for every table and list.
///
/// ```
/// # use throng_core::risk::Risk;
/// # fn notebook(risk: &Risk) -> String {
/// throng_report::fragment(&throng_report::risk_page(risk))
/// # }
/// ```
pub fn fragment(page: &str) -> String {
    let begin = page.find(BODY).map_or(0, |place| place + BODY.len());
    let end = page.rfind("</body>").filter(|end| *end >= begin).unwrap_or(page.len());
    let styles = include_str!("style.css").replace(":root", "&").replace("body {", "& {");
    let styles = format!("{SCOPE} {{\n{RESET}\n{styles}}}\n");
    html! {
        div class="throng-page" {
            style { (PreEscaped(styles)) }
            (PreEscaped(&page[begin..end]))
        }
    }
    .into_string()
}

/// Selects the fragment. Repeating a class raises the specificity above that of styles of the other page with one or two classes.
const SCOPE: &str = ".throng-page.throng-page.throng-page";

/// Reverts the styles of the other page, with a lower specificity than the styles that follow. Drawings are excluded, because `revert`
/// would also undo their presentation attributes.
const RESET: &str = ":where(:not(style, svg, svg *)) { all: revert; }";

/// The tag after which the content of a page begins.
const BODY: &str = "<body>";

/// Replaces control characters, which HTML forbids and a column name may contain.
fn without_controls(page: String) -> String {
    let is_forbidden = |c: char| c.is_control() && c != '\n' && c != '\t';
    if page.contains(is_forbidden) { page.replace(is_forbidden, "\u{fffd}") } else { page }
}

/// The footer of a page that is rendered without a release.
pub(crate) fn unpublished_footer() -> Markup {
    let version = env!("CARGO_PKG_VERSION");
    html! {
        footer {
            "Written by Throng " (version) ". Nothing was published by it. This page fetches nothing and runs no script."
        }
    }
}

/// Renders a table head: column names, and whether they are numeric.
pub(crate) fn head(caption: &str, columns: &[(&str, bool)]) -> Markup {
    html! {
        caption { (caption) }
        thead {
            tr {
                @for (name, is_number) in columns {
                    th scope="col" class=[is_number.then_some("n")] { (name) }
                }
            }
        }
    }
}

/// Renders a table of counts: what each counts, its key in the sidecar, and the number.
pub(crate) fn count_table(id: &str, caption: &str, counts: &[(&str, &str, u64)]) -> Markup {
    html! {
        table id=(id) {
            (head(caption, &[("What", false), ("How many", true)]))
            tbody {
                @for (words, key, number) in counts {
                    tr { (row_head(words, "")) (cell(key, *number, count(*number))) }
                }
            }
        }
    }
}

/// Renders a row head, with `words` below its name.
pub(crate) fn row_head(name: impl Render, words: &str) -> Markup {
    html! { th scope="row" { (name) @if !words.is_empty() { span class="words" { (words) } } } }
}

/// What the prosecutor of a risk table knows.
pub(crate) const PROSECUTOR: &str = "knows that the person is in the table";

/// What the marketer of a risk table does.
pub(crate) const MARKETER: &str = "targets everyone, and counts the average success";

/// Renders an entry of a list of key figures.
pub(crate) fn key_entry(name: &str, figure: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (figure) } } }
}

/// Renders a figure with a caption above it.
pub(crate) fn captioned(title: &str, words: &str, content: &Markup) -> Markup {
    html! { figure { figcaption { strong { (title) } (words) } (content) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_has_the_content_of_the_page_and_styles_for_it_alone() {
        let fragment = fragment(&page("A title", &html! { p { "</body> & more" } }));
        assert!(fragment.ends_with("<p>&lt;/body&gt; &amp; more</p></div>"), "{fragment}");
        assert!(fragment.contains("throng-page {\n:where(") && fragment.contains("\n& {\n  margin"), "{fragment}");
        assert!(
            !fragment.contains("A title") && !fragment.contains("<html") && !fragment.contains("<meta"),
            "{fragment}"
        );
    }

    #[test]
    fn nothing_breaks_out_of_text_or_attributes() {
        let hostile = "</p><script>alert('x')</script>\" onload=\"y\u{0}&";
        let page = page(hostile, &html! { p title=(hostile) { (hostile) } });
        let safe = "&lt;/p&gt;&lt;script&gt;alert('x')&lt;/script&gt;&quot; onload=&quot;y\u{fffd}&amp;";
        assert!(page.contains(&format!("<title>{safe}</title>")), "{page}");
        assert!(page.contains(&format!("<p title=\"{safe}\">{safe}</p>")), "{page}");
    }
}
