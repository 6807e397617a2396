//! What all pages have: a head that lets nothing in from outside, and one style.

use crate::markup::Markup;

/// The page may use its own style and nothing else: no script runs and nothing is fetched, whatever is in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A whole page.
pub(crate) fn page(title: &str, content: impl FnOnce(&mut Markup)) -> String {
    let mut markup = Markup::default();
    markup.verbatim("<!doctype html>\n");
    markup.within("html", &[("lang", &"en")], |html| {
        html.within("head", &[], |head| {
            head.open("meta", &[("charset", &"utf-8")]);
            head.open("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &POLICY)]);
            head.open("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
            head.open("meta", &[("name", &"referrer"), ("content", &"no-referrer")]);
            head.open("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
            head.element("title", &[], title);
            head.within("style", &[], |style| style.verbatim(include_str!("style.css")));
        });
        html.within("body", &[], content);
    });
    markup.verbatim("\n");
    markup.finish()
}

/// The head of a table: what the columns are called, and whether they are numbers.
pub(crate) fn head(table: &mut Markup, caption: &str, columns: &[(&str, bool)]) {
    table.element("caption", &[], caption);
    table.within("thead", &[], |head| {
        head.within("tr", &[], |row| {
            for (name, is_number) in columns {
                let class = if *is_number { "n" } else { "" };
                row.element("th", &[("scope", &"col"), ("class", &class)], name);
            }
        });
    });
}

/// A figure with words above it.
pub(crate) fn captioned(markup: &mut Markup, title: &str, words: &str, content: impl FnOnce(&mut Markup)) {
    markup.within("figure", &[], |figure| {
        figure.within("figcaption", &[], |caption| {
            caption.element("strong", &[], title);
            caption.text(words);
        });
        content(figure);
    });
}
