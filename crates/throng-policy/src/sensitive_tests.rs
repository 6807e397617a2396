use crate::test_policies::{HEAD, complaints, complaints_of_columns, complaints_with, folder, read, read_in};
use crate::{Overrides, Role, Sensitive, SensitiveRelease};

/// Returns a sensitive column with these fields, from line 7 on.
fn column(fields: &str) -> String {
    format!("columns.q.role = 'quasi'\n[columns.a]\n{fields}role = 'sensitive'\n")
}

fn accepted(fields: &str) -> Sensitive {
    let policy = read(&format!("{HEAD}{}", column(fields))).unwrap();
    let Role::Sensitive(sensitive) = &policy.columns.by_name[1].1 else { panic!("not sensitive") };
    sensitive.clone()
}

fn refused(fields: &str) -> Vec<String> {
    complaints_of_columns(&column(fields))
}

const TREE: &str = "hierarchy = { tree = { cancer = ['lung', 'skin'], flu = ['flu', 'cold'] } }\n";

#[test]
fn protected_values_are_those_of_a_tree() {
    let protection = accepted(&format!("{TREE}protected = ['cancer', 'lung']\n")).protection.unwrap();
    assert_eq!(protection.protected, ["cancer", "lung"]);
    assert_eq!(
        refused(&format!("{TREE}protected = ['cancer', 'Cancer', '*']\n")),
        [
            "policy.toml:8:24: columns.a.protected[1]: is not a value of the column's hierarchy; correct one of the two",
            "policy.toml:8:34: columns.a.protected[2]: is the root of the hierarchy, and would make all values the \
             same; protect values below it",
        ]
    );
    assert_eq!(
        refused(&format!("{TREE}protected = []\n")),
        ["policy.toml:8:13: columns.a.protected: is empty; name at least one value of the hierarchy, or take it out"]
    );
}

#[test]
fn protected_values_may_come_from_a_file() {
    let with = |protected: &str| {
        let text = format!("{HEAD}{}", column(&format!("hierarchy = 'hierarchies/country.csv'\n{protected}")));
        read_in(folder().path(), &text, &Overrides::default()).map_err(|error| error.to_string())
    };
    assert!(with("protected = ['Europe']\n").is_ok());
    assert_eq!(
        with("protected = ['Africa']\n").unwrap_err(),
        "policy.toml:8:14: columns.a.protected[0]: is not a value of the column's hierarchy; correct one of the two"
    );
}

#[test]
fn a_hierarchy_and_protected_values_need_each_other() {
    assert_eq!(
        refused(TREE),
        ["policy.toml:7:1: columns.a.hierarchy: has no use in a sensitive column without `protected` or `distance = \
          \"hierarchical\"`; name the values of the hierarchy that must not be learned, or take it out"]
    );
    assert_eq!(
        refused("protected = ['cancer']\n"),
        ["policy.toml:7:1: columns.a.protected: needs a `hierarchy`, whose values it names"]
    );
    assert_eq!(
        refused("hierarchy = 'x.csv'\nprotected = ['x']\n"),
        ["policy.toml:7:13: columns.a.hierarchy: `x.csv`: there is no such file; paths start at the folder of the \
          policy"]
    );
}

#[test]
fn protected_labels_of_a_rule_are_those_that_it_builds() {
    for (rule, protected, others) in [
        ("{ mask = 'right' }", "'41*', '4****'", "'41', '***', '*41'"),
        ("{ mask = 'left' }", "'*41'", "'41', '*', '41*'"),
        ("{ width = 5 }", "'[20-24]', '[-5-0)'", "'[20-29]', '20', '[21-25]'"),
        ("{ intervals = [5, 10], origin = 1 }", "'[1-5]', '[11-21)'", "'[0-4]', '[6-15]', '*'"),
        ("{ date = ['month', 'decade'] }", "'2024-02', '2020s'", "'2024', '2024-Q1', '2025s'"),
    ] {
        let with = |labels: &str| format!("hierarchy = {rule}\nprotected = [{labels}]\n");
        assert!(accepted(&with(protected)).protection.is_some(), "{rule}");
        let refused = refused(&with(others));
        assert_eq!(refused.len(), 3, "{rule}: {refused:?}");
        assert!(
            refused.iter().all(|text| text.contains("is not a label of the column's hierarchy; name ")),
            "{refused:?}"
        );
    }
}

#[test]
fn categories_may_be_given_by_prefixes_and_bands() {
    let by_prefix =
        "categories = [{ name = 'x', prefixes = ['C', 'D0'], values = ['Z9'] }, { name = 'y', prefixes = ['D'] }]\n";
    let list = accepted(by_prefix).categories.unwrap().list.clone();
    assert_eq!((list[0].prefixes.len(), list[0].values.len(), list[1].prefixes.len()), (2, 1, 1));
    let by_band = "categories = [{ name = 'x', bands = [{ below = 10 }, { from = 99 }] }, { name = 'y', bands = [{ from = 10, \
                   below = 99 }] }, { name = 'z', bands = [] , values = ['7'] }]\n";
    assert_eq!(refused(by_band).len(), 1);
    let by_date =
        "categories = [{ name = 'x', bands = [{ from = '1970-01-02' }] }, { name = 'y', bands = [{ below = 1 }] }]\n";
    let list = accepted(by_date).categories.unwrap().list.clone();
    assert_eq!((list[0].bands[0].from, list[0].bands[0].below), (1.0, f64::INFINITY));
    assert_eq!((list[1].bands[0].from, list[1].bands[0].below), (f64::NEG_INFINITY, 1.0));
    for (fields, complaint) in [
        (
            "[{ name = 'x', prefixes = ['C'] }, { name = 'y', prefixes = ['C'] }]",
            "categories[1].prefixes[0]: is already in a category",
        ),
        ("[{ name = 'x', prefixes = [''] }, ['y']]", "prefixes[0]: is empty, and every text begins with it"),
        ("[{ name = 'x' }, ['y']]", "categories[0].values: is empty; give it at least one value"),
        ("[{ name = 'x', bands = [{}] }, ['y']]", "bands[0]: has neither `from` nor `below`"),
        (
            "[{ name = 'x', bands = [{ from = 5, below = 5 }] }, ['y']]",
            "bands[0]: is empty: `from` must be less than `below`",
        ),
        (
            "[{ name = 'x', bands = [{ from = 5 }] }, { name = 'y', bands = [{ from = 0, below = 6 }] }]",
            "categories[1].bands[0]: overlaps with columns.a.categories[0].bands[0]",
        ),
        ("[{ name = 'x', bands = [{ from = 'May' }] }, ['y']]", "from: must be a finite number, or a date such as"),
    ] {
        let refused = refused(&format!("categories = {fields}\n"));
        assert!(refused.len() == 1 && refused[0].contains(complaint), "{fields}: {refused:?}");
    }
}

#[test]
fn values_may_be_compared_by_a_hierarchy() {
    let sensitive = accepted(&format!("{TREE}t = 0.2\ndistance = 'hierarchical'\n"));
    assert!(sensitive.hierarchy.is_some() && sensitive.protection.is_none() && sensitive.compares_by_hierarchy());
    assert!(
        accepted(&format!("{TREE}t = 0.2\ndistance = 'hierarchical'\nprotected = ['cancer']\n")).protection.is_some()
    );
    assert_eq!(
        refused("t = 0.2\ndistance = 'hierarchical'\n"),
        ["policy.toml:8:12: columns.a.distance: needs a `hierarchy`, by which values are compared"]
    );
    assert!(accepted("hierarchy = { mask = 'left' }\nt = 0.2\ndistance = 'hierarchical'\n").hierarchy.is_some());
    let categories = "categories = [['lung'], ['skin'], ['flu', 'cold']]\n";
    let published = refused(&format!("{TREE}t = 0.2\ndistance = 'hierarchical'\n{categories}"));
    assert_eq!(
        published,
        ["policy.toml:9:12: columns.a.distance: compares values, and categories are released in place of them; set \
          `release` to \"value\" or \"both\", or take it out"]
    );
}

#[test]
fn a_sensitive_column_has_a_weight_above_zero() {
    assert_eq!(accepted("weight = 2.5\n").weight, Some(2.5));
    assert_eq!(accepted("").weight, None);
    assert_eq!(
        refused("weight = 0\n"),
        ["policy.toml:7:10: columns.a.weight: must be a number above 0 and at most 1000000"]
    );
}

#[test]
fn categories_have_names_and_values() {
    let categories =
        accepted("categories = [['HIV', 'Cancer'], { name = 'Lung', values = ['Asthma'] }, ['Flu']]\n").categories;
    let list: Vec<(String, Vec<String>)> =
        categories.unwrap().list.iter().map(|category| (category.name.clone(), category.values.clone())).collect();
    let expected = [("1", vec!["HIV", "Cancer"]), ("Lung", vec!["Asthma"]), ("3", vec!["Flu"])];
    assert_eq!(list, expected.map(|(name, values)| (name.to_owned(), values.into_iter().map(str::to_owned).collect())));
}

#[test]
fn categories_can_be_distinguished() {
    let too_few = |count: u32| {
        format!(
            "policy.toml:7:14: columns.a.categories: has {count} of at least 2 categories; with fewer there is nothing \
             to distinguish"
        )
    };
    assert_eq!(refused("categories = []\n"), [too_few(0)]);
    assert_eq!(refused("categories = [['x']]\np = 2\n"), [too_few(1)]);
    assert_eq!(
        refused("categories = [[], { name = 'N', values = [] }]\n"),
        [
            "policy.toml:7:15: columns.a.categories[0]: is empty; give it at least one value",
            "policy.toml:7:42: columns.a.categories[1].values: is empty; give it at least one value",
        ]
    );
    assert_eq!(
        refused("categories = [['x', 'y', 'x'], { name = 'N', values = ['y'] }]\n"),
        [
            "policy.toml:7:26: columns.a.categories[0][2]: is already in a category, at columns.a.categories[0][0]; a \
             value has one category",
            "policy.toml:7:56: columns.a.categories[1].values[0]: is already in a category, at \
             columns.a.categories[0][1]; a value has one category",
        ]
    );
    assert_eq!(
        refused(
            "categories = [{ name = '2', values = ['a'] }, ['b'], { name = 'N', values = ['c'] },\n\
             { name = 'N', values = ['d'] }, { name = '', values = ['e'] }]\n"
        ),
        [
            "policy.toml:7:24: columns.a.categories[0].name: is also the name of columns.a.categories[1]; choose \
             another",
            "policy.toml:8:10: columns.a.categories[3].name: is also the name of columns.a.categories[2]; choose \
             another",
            "policy.toml:8:42: columns.a.categories[4].name: is empty; give the category a name",
        ]
    );
}

#[test]
fn categories_decide_the_release() {
    let categories = "categories = [['x'], ['y']]\n";
    assert_eq!(accepted("").release, SensitiveRelease::Value);
    assert_eq!(accepted(categories).release, SensitiveRelease::Category);
    for (name, release) in
        [("category", SensitiveRelease::Category), ("value", SensitiveRelease::Value), ("both", SensitiveRelease::Both)]
    {
        assert_eq!(accepted(&format!("{categories}release = '{name}'\n")).release, release);
        assert_eq!(
            refused(&format!("release = '{name}'\n")),
            [format!(
                "policy.toml:7:11: columns.a.release: `{name}` needs `categories`; without them a sensitive column is \
                 released as it is, so leave it out"
            )]
        );
    }
    for name in ["interval", "bounds", "ancestor", "set", "mean", "median", "mode"] {
        assert_eq!(
            refused(&format!("{categories}release = '{name}'\n")),
            [format!(
                "policy.toml:8:11: columns.a.release: `{name}` is for the role `quasi`, and this column is `sensitive`"
            )]
        );
    }
}

#[test]
fn a_column_has_its_own_p() {
    assert_eq!(accepted("p = 10\n").p, Some(10));
    assert_eq!(accepted("").p, None);
    assert_eq!(refused("p = 0\n"), ["policy.toml:7:5: columns.a.p: must be at least 1: every class has a value"]);
    let too_many = |p, k| {
        format!("p = {p} is more than k = {k}, and a class of {k} rows has at most {k} values; raise k or lower p")
    };
    assert_eq!(refused("p = 11\n"), [format!("policy.toml:7:5: columns.a.p: {}", too_many(11, 10))]);
    let text = format!("{HEAD}{}", column("p = 3\n"));
    assert_eq!(
        complaints_with(&text, &Overrides { k: Some(2), ..Default::default() }),
        [format!("--k: {}", too_many(3, 2))]
    );
}

#[test]
fn p_is_at_most_the_number_of_categories() {
    let categories = "categories = [['x'], ['y'], ['z']]\n";
    assert_eq!(accepted(&format!("{categories}p = 3\n")).p, Some(3));
    let too_many = "p = 4 is more than the 3 categories of column `a`, of which it needs as many; lower p";
    assert_eq!(refused(&format!("{categories}p = 4\n")), [format!("policy.toml:8:5: columns.a.p: {too_many}")]);
    let text = format!("{HEAD}privacy.p = 4\n{}", column(categories));
    let own = "or give that column a `p` of its own";
    assert_eq!(complaints(&text), [format!("policy.toml:5:13: privacy.p: {too_many}, {own}")]);
    let overrides = Overrides { p: Some(4), ..Default::default() };
    assert_eq!(complaints_with(&text, &overrides), [format!("--p: {too_many}, {own}")]);
    let text = format!("{HEAD}privacy.p = 4\n{}", column(&format!("{categories}p = 2\n")));
    assert_eq!(complaints(&text), [""; 0]);
}

#[test]
fn alpha_weighs_categories() {
    let with = |alpha: &str, fields: &str| {
        read(&format!("{HEAD}privacy.alpha = {alpha}\n{}", column(fields)))
            .map(|policy| policy.privacy.alpha)
            .map_err(|error| error.to_string())
    };
    let categories = "categories = [['x'], ['y']]\n";
    assert_eq!(with("2", categories), Ok(Some(2.0)));
    assert_eq!(with("0", categories), Ok(Some(0.0)));
    assert_eq!(with("1.5", categories), Ok(Some(1.5)));
    assert_eq!(with("-0.5", categories), Err("policy.toml:5:17: privacy.alpha: must not be negative".to_owned()));
    assert_eq!(with("nan", categories), Err("policy.toml:5:17: privacy.alpha: must be a finite number".to_owned()));
    assert_eq!(
        with("2", ""),
        Err("policy.toml:5:17: privacy.alpha: needs a sensitive column with `categories`, whose weights it adds up; \
             give them to one, or leave alpha out"
            .to_owned())
    );
}

#[test]
fn protected_values_need_values_in_the_release() {
    let both = "protected = ['cancer']\ncategories = [['lung', 'skin'], ['flu', 'cold']]\n";
    assert_eq!(
        refused(&format!("{TREE}{both}")),
        ["policy.toml:8:1: columns.a.protected: has nothing to protect where categories are released in place of \
          values; set `release` to \"value\" or \"both\", or take it out"]
    );
    for release in ["value", "both"] {
        accepted(&format!("{TREE}{both}release = '{release}'\n"));
    }
}
