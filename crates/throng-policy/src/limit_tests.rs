use throng_core::columns::Limit;

use crate::test_policies::{HEAD, complaints_of_columns, read};
use crate::{Policy, Role};

const TREE: &str = "hierarchy = { tree = { Europe = ['France'], Asia = { East = ['Japan'] } } }\n";

/// Returns a column with further fields, whose limit is written in line 7 from column 9 on.
fn column(limit: &str, further: &str) -> String {
    format!("[columns.a]\nrole = 'quasi'\nlimit = {limit}\n{further}")
}

fn limit_of(policy: &Policy) -> Limit {
    let Role::Quasi(quasi) = &policy.columns.by_name[0].1 else { panic!("not a quasi-identifier") };
    quasi.limit.clone().unwrap()
}

fn accepted(limit: &str, further: &str) -> Limit {
    limit_of(&read(&format!("{HEAD}{}", column(limit, further))).unwrap())
}

fn refused(limit: &str, further: &str) -> Vec<String> {
    let complaints = complaints_of_columns(&column(limit, further));
    complaints.iter().map(|line| line.strip_prefix("policy.toml:7:").unwrap().to_owned()).collect()
}

#[test]
fn a_limit_is_a_level_values_or_bands() {
    assert_eq!(accepted("0", ""), Limit::Level(0));
    assert_eq!(accepted("2", TREE), Limit::Level(2));
    assert_eq!(accepted("['Europe', 'Japan']", TREE), Limit::Values(["Europe".into(), "Japan".into()].into()));
    assert_eq!(accepted("[18, 65.5]", ""), Limit::Bands([18.0, 65.5].into()));
    assert_eq!(accepted("[-3]", ""), Limit::Bands([-3.0].into()));
}

#[test]
fn a_list_has_something_in_it() {
    assert_eq!(
        refused("[]", TREE),
        ["9: columns.a.limit: is empty; list the most general values that may be released, or the numbers at which \
          bands begin"]
    );
}

#[test]
fn bands_ascend() {
    let descends = "must be greater than the number before it";
    assert_eq!(
        refused("[0, 18, 18, 65, 3]", ""),
        [format!("17: columns.a.limit[2]: {descends}"), format!("25: columns.a.limit[4]: {descends}")]
    );
}

#[test]
fn values_are_those_of_the_tree() {
    assert_eq!(
        refused("['Europe', 'europe', 'East', 'x', '*']", TREE),
        ["20", "38"]
            .into_iter()
            .zip([1, 3])
            .map(|(column, position)| format!(
                "{column}: columns.a.limit[{position}]: is not a value of the column's hierarchy; correct one of the two"
            ))
            .collect::<Vec<_>>()
    );
    // The labels of a rule depend on the data.
    assert_eq!(refused("['410**']", "hierarchy = { mask = 'right' }\n"), [""; 0]);
}

#[test]
fn a_level_is_below_the_root() {
    let above = |root: u64| {
        format!(
            "9: columns.a.limit: limits nothing, since level {root} of the hierarchy is its root; the highest useful \
             level is {}",
            root - 1
        )
    };
    assert_eq!(refused("3", TREE), [above(3)]);
    assert_eq!(refused("99", TREE), [above(3)]);
    assert_eq!(refused("1", "hierarchy = { tree = ['x', 'y'] }\n"), [above(1)]);
    assert_eq!(refused("3", "hierarchy = { intervals = [5, 10] }\n"), [above(3)]);
    assert_eq!(accepted("2", "hierarchy = { intervals = [5, 10] }\n"), Limit::Level(2));
    assert_eq!(refused("5", "hierarchy = { width = 5, levels = 4 }\n"), [above(5)]);
    assert_eq!(refused("2", "hierarchy = { date = ['year'] }\n"), [above(2)]);
    assert_eq!(accepted("1", "hierarchy = { date = ['year'] }\n"), Limit::Level(1));
    assert_eq!(accepted("9", "hierarchy = { mask = 'right' }\n"), Limit::Level(9));
    assert_eq!(
        refused("4294967296", "hierarchy = { mask = 'right' }\n"),
        ["9: columns.a.limit: is more levels than any hierarchy has"]
    );
}
