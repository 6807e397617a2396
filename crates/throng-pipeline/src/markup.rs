//! Markup of pages and plots. All text and every attribute goes through one place that escapes it, so that no name of a
//! column and no damaged document can break out of a page.

use std::fmt::{self, Display, Write};

/// The attributes of an element.
pub(crate) type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

/// HTML or SVG that is being written.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    text: String,
}

impl Markup {
    /// An element with what `content` writes into it. Names of elements and attributes are ours and are not escaped.
    pub(crate) fn within(&mut self, tag: &'static str, attributes: Attributes<'_>, content: impl FnOnce(&mut Self)) {
        self.open(tag, attributes);
        content(self);
        self.text.push_str("</");
        self.text.push_str(tag);
        self.text.push('>');
    }

    /// An element that holds text.
    pub(crate) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: impl Display) {
        self.within(tag, attributes, |inner| inner.text(text));
    }

    /// An element of HTML that has no end, such as `meta`.
    pub(crate) fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.begin(tag, attributes);
        self.text.push('>');
    }

    /// An element without content.
    pub(crate) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.begin(tag, attributes);
        self.text.push_str("/>");
    }

    /// Text, escaped.
    pub(crate) fn text(&mut self, text: impl Display) {
        // Writing to a string can't fail.
        let _ = write!(Escaped(&mut self.text), "{text}");
    }

    /// What is ours and needs no escaping: the style sheet, the document type.
    pub(crate) fn verbatim(&mut self, text: &'static str) {
        self.text.push_str(text);
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn begin(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.text.push('<');
        self.text.push_str(tag);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.text(value);
            self.text.push('"');
        }
    }
}

/// Escapes what is written to it, for text and for quoted attributes.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // Not allowed in a document; a column may be called anything.
                character if character.is_control() && character != '\n' && character != '\t' => {
                    self.0.push('\u{fffd}')
                }
                character => self.0.push(character),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out_of_text_or_attributes() {
        let mut markup = Markup::default();
        let hostile = "</p><script>alert('x')</script>\" onload=\"y\u{0}&";
        markup.element("p", &[("title", &hostile)], hostile);
        let safe = "&lt;/p&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot; onload=&quot;y\u{fffd}&amp;";
        assert_eq!(markup.finish(), format!("<p title=\"{safe}\">{safe}</p>"));
    }

    #[test]
    fn elements_nest() {
        let mut markup = Markup::default();
        markup.within("div", &[("class", &"a"), ("data-n", &1.5)], |inner| {
            inner.empty("rect", &[]);
            inner.text(2);
        });
        assert_eq!(markup.finish(), "<div class=\"a\" data-n=\"1.5\"><rect/>2</div>");
    }
}
