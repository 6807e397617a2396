//! Bars in SVG: drawn with the colours of the page, titled and described, without a script or a font of their own.

use std::fmt::Write;

/// One bar.
pub(super) struct Bar {
    pub(super) label: String,
    /// From 0 to 1.
    pub(super) share: f64,
    /// What is written at its end.
    pub(super) note: String,
}

/// The width of a chart, in the units of its view box.
const WIDTH: f64 = 640.0;
/// The room for labels at the left, and for notes at the right.
const MARGIN: f64 = 150.0;
const BAR: f64 = 18.0;
const STEP: f64 = 26.0;

/// Horizontal bars below each other.
pub(super) fn bars(id: &str, title: &str, description: &str, bars: &[Bar]) -> String {
    let height = STEP * bars.len() as f64 + 8.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n<title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-text\">{}</desc>\n",
        escaped(title),
        escaped(description)
    );
    for (place, bar) in bars.iter().enumerate() {
        let y = STEP * place as f64 + 4.0;
        let length = (WIDTH - 2.0 * MARGIN) * bar.share.clamp(0.0, 1.0);
        let (base, end) = (y + BAR - 4.0, MARGIN + length + 6.0);
        let shortened: String = match bar.label.chars().count() {
            0..=20 => bar.label.clone(),
            _ => bar.label.chars().take(19).chain(['…']).collect(),
        };
        // Writing to a string never fails.
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{base:.1}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{MARGIN}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{BAR}\" class=\"bar\"/>\
             <text x=\"{end:.1}\" y=\"{base:.1}\">{}</text>",
            MARGIN - 8.0,
            escaped(&shortened),
            escaped(&bar.note)
        );
    }
    svg + "</svg>\n"
}

/// A text as it may stand in HTML, in and out of attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_labels_can_not_break_out() {
        let bar = |label: &str, share| Bar { label: label.to_owned(), share, note: "n".to_owned() };
        let svg = bars("x", "<t>", "d\"", &[bar("<script>", 0.5), bar("a", 7.0), bar("b", 0.0)]);
        assert!(
            svg.contains("width=\"170.0\"") && svg.contains("width=\"340.0\"") && svg.contains("width=\"0.0\""),
            "{svg}"
        );
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;") && svg.contains("&lt;t&gt;"), "{svg}");
    }
}
