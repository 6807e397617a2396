use std::path::Path;

use throng_core::hierarchy::{DatePart, HierarchySpec, MaskSide, Tree, TreeError};

use crate::test_policies::{HEAD, complaints_of_columns, read, read_in};
use crate::{HierarchyError, Overrides, PolicyError, Role, parse_hierarchy};

/// Returns the hierarchy of a policy's only column.
fn built(written: &str) -> HierarchySpec {
    let policy = read(&format!("{HEAD}[columns.a]\nrole = 'quasi'\nhierarchy = {written}\n")).unwrap();
    let Role::Quasi(quasi) = &policy.columns.by_name[0].1 else { panic!("not a quasi-identifier") };
    quasi.hierarchy.as_deref().unwrap().clone()
}

/// Returns the problems of a hierarchy that is written in line 7 from column 13 on, without their common prefix.
fn refused(written: &str) -> Vec<String> {
    let complaints = complaints_of_columns(&format!("[columns.a]\nrole = 'quasi'\nhierarchy = {written}\n"));
    complaints.iter().map(|line| line.strip_prefix("policy.toml:7:").unwrap().to_owned()).collect()
}

/// Returns the labels from a leaf to the root.
fn path<'a>(tree: &'a Tree, leaf: &str) -> Vec<&'a str> {
    let mut node = Some(tree.leaf_node(tree.leaf(leaf).unwrap()));
    let mut labels = Vec::new();
    while let Some(at) = node {
        labels.push(tree.label(at));
        node = tree.parent(at);
    }
    labels
}

fn tree(written: &str) -> Tree {
    let HierarchySpec::Tree(tree) = built(written) else { panic!("not a tree: {written}") };
    (*tree).clone()
}

#[test]
fn an_even_tree_has_its_leaves_in_the_order_of_the_file() {
    let tree = tree("{ tree = { Europe = ['Spain', 'France'], Asia = ['Japan'] } }");
    assert_eq!(["Spain", "France", "Japan"].map(|leaf| tree.leaf(leaf)), [Some(0), Some(1), Some(2)]);
    assert_eq!(path(&tree, "France"), ["France", "Europe", "*"]);
}

#[test]
fn an_uneven_tree_is_padded_at_its_lower_levels() {
    let tree = tree("{ tree = { Europe = ['France'], Asia = { East = ['Japan'], South = { Sub = ['India'] } } } }");
    assert_eq!(path(&tree, "France"), ["France", "France", "France", "Europe", "*"]);
    assert_eq!(path(&tree, "Japan"), ["Japan", "Japan", "East", "Asia", "*"]);
    assert_eq!(path(&tree, "India"), ["India", "Sub", "South", "Asia", "*"]);
    assert_eq!(tree.leaf_count(), 3);
}

#[test]
fn a_list_is_a_tree_of_one_level() {
    assert_eq!(path(&tree("{ tree = ['a', 'b'] }"), "b"), ["b", "*"]);
}

#[test]
fn a_label_may_repeat_directly_below_itself() {
    let tree = tree("{ tree = { Other = ['Other', 'Misc'], A = { B = ['c'] } } }");
    assert_eq!(path(&tree, "Other"), ["Other", "Other", "Other", "*"]);
    assert_eq!(path(&tree, "Misc"), ["Misc", "Misc", "Other", "*"]);
}

#[test]
fn a_tree_in_tables_of_its_own_is_the_same_tree() {
    let policy = read(&format!(
        "{HEAD}[columns.a]\nrole = 'quasi'\n[columns.a.hierarchy.tree]\nNorth = ['x']\n\
         [columns.a.hierarchy.tree.South]\nEast = ['y']\n"
    ))
    .unwrap();
    let Role::Quasi(quasi) = &policy.columns.by_name[0].1 else { panic!("not a quasi-identifier") };
    let Some(HierarchySpec::Tree(tree)) = quasi.hierarchy.as_deref() else { panic!("not a tree") };
    assert_eq!(path(tree, "y"), ["y", "East", "South", "*"]);
}

#[test]
fn a_tree_refuses_what_a_release_could_not_tell_apart() {
    let twice = |first: &str| {
        format!("is already in this tree, at columns.a.hierarchy.tree{first}; a value has one place in a hierarchy")
    };
    assert_eq!(
        refused("{ tree = { A = ['x', 'y', 'x'], B = ['y'] } }"),
        [
            format!("39: columns.a.hierarchy.tree.A[2]: {}", twice(".A[0]")),
            format!("50: columns.a.hierarchy.tree.B[0]: {}", twice(".A[1]")),
        ]
    );
    assert_eq!(
        refused("{ tree = { A = { N = ['x'] }, B = { N = ['y'] } } }"),
        [format!("49: columns.a.hierarchy.tree.B.N: {}", twice(".A.N"))]
    );
    assert_eq!(
        refused("{ tree = { A = ['B'], B = ['c'] } }"),
        [format!("35: columns.a.hierarchy.tree.B: {}", twice(".A[0]"))]
    );
    assert_eq!(
        refused("{ tree = { A = { B = ['A'] } } }"),
        [format!("35: columns.a.hierarchy.tree.A.B[0]: {}", twice(".A"))]
    );
    assert_eq!(
        refused("{ tree = { Other = ['Other', 'Other'] } }"),
        [format!("42: columns.a.hierarchy.tree.Other[1]: {}", twice(".Other[0]"))]
    );
    assert_eq!(
        refused("{ tree = { A = ['*'], B = [] } }"),
        [
            "29: columns.a.hierarchy.tree.A[0]: `*` is the root above the whole tree; use another name",
            "35: columns.a.hierarchy.tree.B: is empty; give it at least one value",
        ]
    );
    assert_eq!(refused("{ tree = {} }"), ["15: columns.a.hierarchy.tree: is empty; give it at least one value"]);
}

#[test]
fn intervals_have_an_origin_and_widths() {
    let HierarchySpec::Intervals { origin, widths } = built("{ intervals = [5, 10, 20] }") else { panic!() };
    assert_eq!((origin, widths), (0.0, vec![5.0, 10.0, 20.0]));
    let HierarchySpec::Intervals { origin, widths } = built("{ intervals = [0.1, 0.3], origin = -1.5 }") else {
        panic!()
    };
    assert_eq!((origin, widths), (-1.5, vec![0.1, 0.3]));
}

#[test]
fn intervals_must_fit_into_each_other() {
    assert_eq!(
        refused("{ intervals = [5, 12, 24, 24, 0, -3] }"),
        [
            "31: columns.a.hierarchy.intervals[1]: 12 is not a multiple of the width before it, 5; intervals must fit \
             into the next level",
            "39: columns.a.hierarchy.intervals[3]: 24 is not a multiple of the width before it, 24; intervals must fit \
             into the next level",
            "43: columns.a.hierarchy.intervals[4]: must be greater than zero",
            "46: columns.a.hierarchy.intervals[5]: must be greater than zero",
        ]
    );
    assert_eq!(refused("{ intervals = [] }"), ["27: columns.a.hierarchy.intervals: is empty; give at least one width"]);
}

#[test]
fn intervals_grow() {
    let HierarchySpec::Intervals { origin, widths } = built("{ width = 5, growth = 3, levels = 4, origin = 1 }") else {
        panic!()
    };
    assert_eq!((origin, widths), (1.0, vec![5.0, 15.0, 45.0, 135.0]));
    let HierarchySpec::Intervals { widths, .. } = built("{ width = 5, levels = 4 }") else { panic!() };
    assert_eq!(widths, [5.0, 10.0, 20.0, 40.0]);
    let HierarchySpec::Intervals { widths, .. } = built("{ width = 2.5 }") else { panic!() };
    assert_eq!(widths, [2.5]);
}

#[test]
fn growing_intervals_have_limits() {
    assert_eq!(
        refused("{ width = 0, growth = 1, levels = 33 }"),
        [
            "23: columns.a.hierarchy.width: must be greater than zero",
            "35: columns.a.hierarchy.growth: must be at least 2, so that each level is coarser than the one before",
            "47: columns.a.hierarchy.levels: must be from 1 to 32",
        ]
    );
    assert_eq!(
        refused("{ width = 1e300, growth = 1000, levels = 9 }"),
        ["13: columns.a.hierarchy: its widths grow past the largest number; lower `levels` or `growth`"]
    );
}

#[test]
fn calendar_parts_ascend() {
    let HierarchySpec::DateParts(parts) = built("{ date = ['day', 'month', 'quarter', 'year', 'decade'] }") else {
        panic!()
    };
    assert_eq!(parts, [DatePart::Day, DatePart::Month, DatePart::Quarter, DatePart::Year, DatePart::Decade]);
    assert_eq!(
        refused("{ date = ['year', 'month', 'month'] }"),
        [
            "31: columns.a.hierarchy.date[1]: must be coarser than the part before it; the order is day, month, \
             quarter, year, decade",
            "40: columns.a.hierarchy.date[2]: must be coarser than the part before it; the order is day, month, \
             quarter, year, decade",
        ]
    );
    assert_eq!(
        refused("{ date = [] }"),
        ["22: columns.a.hierarchy.date: is empty; name at least one part of the calendar, such as \"year\""]
    );
}

#[test]
fn masks_have_a_side() {
    assert!(matches!(built("{ mask = 'right' }"), HierarchySpec::Mask(MaskSide::Right)));
    assert!(matches!(built("{ mask = 'left' }"), HierarchySpec::Mask(MaskSide::Left)));
}

#[test]
fn a_hierarchy_has_exactly_one_form_and_its_options() {
    assert_eq!(
        refused("{ mask = 'left', intervals = [5], width = 3 }"),
        ["13: columns.a.hierarchy: has 3 forms, `intervals`, `width` and `mask`; keep one"]
    );
    assert_eq!(
        refused("{ origin = 3 }"),
        [
            "13: columns.a.hierarchy: has no form; use one of `file`, `lines`, `tree`, `intervals`, `width`, `date` or `mask`"
        ]
    );
    assert_eq!(
        refused("{ mask = 'left', origin = 3, delimiter = ',', growth = 2 }"),
        [
            "30: columns.a.hierarchy.origin: goes with `intervals` or `width`, not with `mask`",
            "42: columns.a.hierarchy.delimiter: goes with `file` or `lines`, not with `mask`",
            "59: columns.a.hierarchy.growth: goes with `width`, not with `mask`",
        ]
    );
}

/// Reads a policy whose only hierarchy is a file with this content.
fn read_file(written: &str, content: &[u8]) -> Result<Tree, PolicyError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.csv"), content).unwrap();
    let text = format!("{HEAD}[columns.a]\nrole = 'quasi'\nhierarchy = {written}\n");
    let policy = read_in(folder.path(), &text, &Overrides::default())?;
    let Role::Quasi(quasi) = &policy.columns.by_name[0].1 else { panic!("not a quasi-identifier") };
    let Some(HierarchySpec::Tree(tree)) = quasi.hierarchy.as_deref() else { panic!("not a tree") };
    Ok((**tree).clone())
}

fn refused_file(content: &[u8]) -> String {
    read_file("'x.csv'", content).unwrap_err().to_string()
}

#[test]
fn a_file_keeps_its_labels_exactly() {
    let tree = read_file("'x.csv'", "\u{feff} a ;\"A;1\";*\r\nb;B;*\r\n\r\n".as_bytes()).unwrap();
    assert_eq!(path(&tree, " a "), [" a ", "A;1", "*"]);
    assert_eq!(path(&tree, "b"), ["b", "B", "*"]);
    assert_eq!(tree.leaf_count(), 2);
}

#[test]
fn a_file_may_have_another_delimiter() {
    let tree = read_file("{ file = 'x.csv', delimiter = ',' }", b"a,A,*\nb,A,*").unwrap();
    assert_eq!(path(&tree, "b"), ["b", "A", "*"]);
    assert_eq!(
        read_file("{ file = 'x.csv', delimiter = ',,' }", b"a;*\n").unwrap_err().problems()[1].message,
        "must be one ASCII character other than a quote or a line break"
    );
}

#[test]
fn problems_of_a_file_are_reported_where_the_policy_names_it() {
    let at = "policy.toml:7:13: columns.a.hierarchy: `x.csv`:";
    assert_eq!(
        refused_file(b"a;A;*\n\nb;*\n"),
        format!("{at} line 3 of the hierarchy has 2 levels, and line 1 has 3; give every line the same number")
    );
    assert_eq!(
        refused_file(b"a;A;*\nb;A;*\n\na;A;*\n"),
        format!("{at} line 4 of the hierarchy repeats the value of line 1; keep one of them")
    );
    assert_eq!(
        refused_file(b"a;A;X;*\nb;A;Y;*\n"),
        format!(
            "{at} line 2 of the hierarchy puts its level-1 value below another value than line 1 does; a value has one \
             place in a hierarchy"
        )
    );
    assert_eq!(
        refused_file(b"a;A;a;*\n"),
        format!("{at} line 1 of the hierarchy has a value above itself (levels 0 and 2); remove the cycle")
    );
    assert_eq!(
        refused_file(b"a;*\nb;all\n"),
        format!(
            "{at} line 2 of the hierarchy ends in another root than line 1; let every line end in the same \
             value, usually *"
        )
    );
    assert_eq!(
        refused_file(b""),
        format!("{at} the hierarchy is empty; give it at least one line, from a value to the root")
    );
    assert_eq!(refused_file(b"a;*\nb\xff;*\n"), format!("{at} line 2 is not UTF-8 text"));
    assert_eq!(
        refused_file(b"a,A,*\nb,A,*\n"),
        format!("{at} its lines have one level only; is `;` what separates its levels?")
    );
}

#[test]
fn a_missing_file_is_named_as_it_is_written() {
    assert_eq!(
        refused("'h/x.csv'"),
        ["13: columns.a.hierarchy: `h/x.csv`: there is no such file; paths start at the folder of the policy"]
    );
    assert_eq!(
        refused("{ delimiter = ';', file = 'h/x.csv' }"),
        ["39: columns.a.hierarchy.file: `h/x.csv`: there is no such file; paths start at the folder of the policy"]
    );
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{HEAD}[columns.a]\nrole = 'quasi'\nhierarchy = '.'\n");
    let error = read_in(Path::new(folder.path()), &text, &Overrides::default()).unwrap_err();
    assert_eq!(error.to_string(), "policy.toml:7:13: columns.a.hierarchy: `.`: it can't be read: is a directory");
}

#[test]
fn one_mark_at_the_beginning_is_no_part_of_a_label_and_another_is() {
    let tree = parse_hierarchy("\u{feff}\u{feff}a;*\n\nb;*\n").unwrap();
    assert_eq!((tree.leaf("\u{feff}a"), tree.leaf("b")), (Some(0), Some(1)));
    let error = parse_hierarchy("\u{feff}a;*\n\n\nb;*\n\nb;*\n").unwrap_err();
    assert!(matches!(error, HierarchyError::Tree(TreeError::DuplicateLeaf { line: 6, first: 4 })), "{error}");
}
