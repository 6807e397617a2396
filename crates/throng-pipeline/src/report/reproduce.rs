//! How to make the release again, and how to check it.

use super::numbers::figure;
use crate::markup::Markup;
use crate::sidecar::Sidecar;

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    let algorithm = &sidecar.algorithm;
    body.within("section", &[], |section| {
        section.element("h2", &[], "How to reproduce it");
        section.element(
            "p",
            &[],
            "The same input, policy and seed give the same bytes, on any machine. The digest tells whether a policy is the \
             one that was used; it does not depend on where input and output are.",
        );
        section.within("dl", &[("class", &"facts")], |facts| {
            let mut fact = |name: &str, key: &str, value: &str| {
                facts.element("dt", &[], name);
                facts.within("dd", &[], |dd| dd.within("code", &[], |code| figure(code, key, value, value)));
            };
            fact("policy digest", "policy_digest", &sidecar.policy_digest);
            fact("Throng", "throng_version", &sidecar.throng_version);
            fact("seed", "algorithm.seed", &algorithm.seed.to_string());
            fact("partition", "algorithm.partition", &algorithm.partition);
            fact("cluster", "algorithm.cluster", &algorithm.cluster);
            fact("budget", "algorithm.budget", &algorithm.budget);
            fact("run", "run_id", &sidecar.run_id);
        });
        let seed = algorithm.seed;
        section.within("pre", &[], |pre| {
            pre.element(
                "code",
                &[],
                format_args!("throng run POLICY --seed {seed}\nthrong verify RELEASE --policy POLICY"),
            );
        });
    });
    body.element(
        "footer",
        &[],
        format_args!("Written by Throng {}. This page fetches nothing and runs no script.", sidecar.throng_version),
    );
}
