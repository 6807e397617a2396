//! How diverse the classes are in what must not be learned.

use super::classes::{figures, histogram};
use super::numbers::figure;
use super::page::captioned;
use crate::markup::Markup;
use crate::sidecar::Sidecar;

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    if sidecar.privacy.sensitive.is_empty() {
        return;
    }
    body.within("section", &[], |section| {
        section.element("h2", &[], "What the members of a class have in common");
        section.element(
            "p",
            &[],
            "Whoever finds the class of a person learns what all of its members share. The more different sensitive \
             values a class has, the less that is. Nulls do not count.",
        );
        for (at, column) in sidecar.privacy.sensitive.iter().enumerate() {
            let key = |field: &str| format!("privacy.sensitive.{at}.{field}");
            section.element("h3", &[], &column.column);
            section.within("p", &[], |p| {
                p.text("Every class has at least ");
                figure(p, &key("fewest"), column.fewest, column.fewest);
                p.text(format_args!(" different {}, on average ", column.reading));
                figure(p, &key("mean"), column.mean, format!("{:.1}", column.mean));
                p.text("; ");
                figure(p, &key("disclosures"), column.disclosures, column.disclosures);
                p.text(" classes give away what all of their members have.");
            });
            if column.diversity.is_empty() {
                continue;
            }
            let (id, title) = (format!("diversity-{at}"), format!("Different {} of {}", column.reading, column.column));
            captioned(section, &title, "Rows by how many the class has that they are in.", |figure| {
                histogram(figure, &id, &title, &column.diversity, ("different value", "different values"));
            });
            figures(section, &key("diversity"), "Different values in a class", &column.diversity);
        }
    });
}
