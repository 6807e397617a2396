use crate::test_policies::{complaints, complaints_with, read, read_in};
use crate::{Borrow, Guards, Overrides, Policy, Preset, PrivacySettings, Pseudonyms, UnitNulls};

/// Returns a policy with these settings under `[privacy]`, on its fourth line.
fn with(privacy: &str) -> String {
    format!(
        "version = 1\ninput.location = 'in'\noutput.location = 'out'\nprivacy = {{ {privacy} }}\n\
         columns = {{ a.role = 'quasi', b.role = 'sensitive' }}\n"
    )
}

#[test]
fn a_preset_gives_a_k_and_the_policy_a_p() {
    for (name, k) in [("common", 5), ("research", 10), ("cms", 11), ("public-health", 12), ("strict", 20)] {
        let privacy = read(&with(&format!("preset = '{name}', p = 2"))).unwrap().privacy;
        let preset = Preset::ALL.into_iter().find(|preset| preset.as_str() == name);
        let (unit, unit_nulls) = (Vec::new(), UnitNulls::Own);
        let (alpha, suppression_limit, max_gain, sampling_fraction) = (None, None, None, None);
        let guards = Guards::default();
        let expected = PrivacySettings {
            preset,
            k,
            p: 2,
            alpha,
            suppression_limit,
            max_gain,
            sampling_fraction,
            population: None,
            borrow: Borrow::Allowed,
            guards,
            unit,
            unit_nulls,
            pseudonyms: Pseudonyms::PerRun,
        };
        assert_eq!(privacy, expected);
    }
}

#[test]
fn k_may_be_raised_above_the_preset_and_not_lowered() {
    assert_eq!(read(&with("preset = 'common', k = 7, p = 1")).unwrap().privacy.k, 7);
    assert_eq!(read(&with("preset = 'common', k = 5, p = 1")).unwrap().privacy.k, 5);
    assert_eq!(
        complaints(&with("preset = 'common', k = 4, p = 1")),
        [
            "policy.toml:4:36: privacy.k: k = 4 is less than the 5 of the preset `common`; raise k, or take the preset out"
        ]
    );
    let text = with("preset = 'cms', p = 1");
    let lowered = Overrides { k: Some(10), ..Overrides::default() };
    assert_eq!(
        complaints_with(&text, &lowered),
        ["--k: k = 10 is less than the 11 of the preset `cms`; raise k, or take the preset out"]
    );
    let raised = Overrides { k: Some(30), ..Overrides::default() };
    assert_eq!(read_in("/".as_ref(), &text, &raised).unwrap().privacy.k, 30);
}

#[test]
fn a_preset_asks_for_an_explicit_p() {
    let found = complaints(&with("preset = 'strict'"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("policy.toml:4:1: privacy.p: required beside a preset: `strict` sets k = 20"),
        "{found:?}"
    );
    let answered = Overrides { p: Some(3), ..Overrides::default() };
    assert_eq!(read_in("/".as_ref(), &with("preset = 'strict'"), &answered).unwrap().privacy.p, 3);
}

#[test]
fn p_is_held_against_the_k_of_the_preset() {
    let found = complaints(&with("preset = 'common', p = 6"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("p = 6 is more than k = 5"), "{found:?}");
}

#[test]
fn without_a_preset_k_is_required_and_the_presets_are_reported() {
    assert_eq!(
        complaints(&with("p = 2")),
        ["policy.toml:4:1: privacy.k: required field is missing; give a number, or a `preset`: `common`, `research`, \
          `cms`, `public-health` or `strict`"]
    );
    assert_eq!(
        complaints(&with("preset = 'comon', p = 2")),
        ["policy.toml:4:22: privacy.preset: unknown value `comon`; did you mean `common`?"]
    );
}

#[test]
fn a_preset_promises_what_its_k_promises_and_is_portable() {
    let preset = read(&with("preset = 'cms', p = 2")).unwrap();
    assert_eq!(preset.canonical_json(), read(&with("k = 11, p = 2")).unwrap().canonical_json());
    let elsewhere = Policy::from_portable(&preset.to_portable()).unwrap();
    assert_eq!(elsewhere.privacy, preset.privacy);
    assert_eq!(elsewhere.canonical_json(), preset.canonical_json());
}
