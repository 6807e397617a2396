use super::*;
use crate::hierarchy::{HierarchyOutline, parse_hierarchy};

fn tree(lines: &str) -> Tree {
    parse_hierarchy(lines).unwrap()
}

fn round_trip(lines: &str) -> String {
    let tree = tree(lines);
    let text = hierarchy_inline(&tree).unwrap();
    let read = finished_tree(parse_hierarchy_rule("x", &text).unwrap()).unwrap();
    assert_eq!(hierarchy_lines(&read), hierarchy_lines(&tree), "{text}");
    text
}

#[test]
fn a_file_becomes_a_line_of_a_policy_and_comes_back() {
    assert_eq!(
        round_trip("France;Europe;*\nJapan;Asia;*\nSpain;Europe;*\n"),
        "hierarchy = { tree = { \"Europe\" = [\"France\", \"Spain\"], \"Asia\" = [\"Japan\"] } }\n"
    );
    assert_eq!(round_trip("a;*\nb;*\n"), "hierarchy = { tree = [\"a\", \"b\"] }\n");
    round_trip("a;b;c;*\nd;b;c;*\ne;f;g;*\n");
    round_trip("Other;Other;*\nFrance;Europe;*\n");
    round_trip("a;a;a;*\nb;c;d;*\n");
    round_trip("\"a;b\";\"say \"\"x\"\"\";*\n\"two\nlines\";\\;*\n");
}

#[test]
fn what_a_policy_would_refuse_or_change_stays_a_file() {
    for lines in ["a;A;all\nb;B;all\n", "a;x;y;*\nb;y;z;*\n", "*;x;*\n"] {
        let Ok(tree) = parse_hierarchy(lines) else { continue };
        assert_eq!(hierarchy_inline(&tree), Err(NotInline), "{lines}");
    }
    assert_eq!(hierarchy_inline(&tree("a;A;all\nb;B;all\n")), Err(NotInline));
}

#[test]
fn a_rule_is_checked_like_one_in_a_policy() {
    let problem_of = |text: &str| parse_hierarchy_rule("rule", text).unwrap_err().to_string();
    assert!(
        problem_of("hierarchy = { intervals = [5, 7] }")
            .contains("rule:1:31: hierarchy.intervals[1]: 7 is not a multiple")
    );
    assert!(problem_of("hierarchy = { mask = 'up' }").contains("unknown value `up`"));
    assert!(problem_of("hierarchy = { interval = [5] }").contains("did you mean `intervals`?"));
    assert!(problem_of("hierarchy = 'file.csv'").contains("expected a table"));
    assert!(problem_of("tree = ['a']").contains("hierarchy: required field is missing"));
    assert!(problem_of("hierarchy = {").contains("not TOML"));
}

#[test]
fn a_tree_is_drawn_with_skipped_levels_once() {
    let outline = HierarchyOutline::of(&tree("France;Europe;*\nOther;Other;*\nSpain;Europe;*\n\"a\u{7}b\";X;*\n"));
    assert_eq!(outline.draw(9), "*\n├─ Europe\n│  ├─ France\n│  └─ Spain\n├─ Other\n└─ X\n   └─ a\\u{7}b");
    assert_eq!(outline.draw(1), "*\n├─ Europe (2 below)\n├─ Other\n└─ X (1 below)");
}
