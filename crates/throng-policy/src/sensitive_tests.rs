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
        ["policy.toml:7:1: columns.a.protected: needs a `hierarchy`, a file or a tree, whose values it names"]
    );
    for rule in ["{ mask = 'left' }", "{ width = 5 }", "{ date = ['year'] }"] {
        assert_eq!(
            refused(&format!("hierarchy = {rule}\nprotected = ['x']\n")),
            ["policy.toml:7:13: columns.a.hierarchy: must be a file or a `tree` in a sensitive column, whose values \
              are known"]
        );
    }
    assert_eq!(
        refused("hierarchy = 'x.csv'\nprotected = ['x']\n"),
        ["policy.toml:7:13: columns.a.hierarchy: `x.csv`: there is no such file; paths start at the folder of the \
          policy"]
    );
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
        [
            "policy.toml:8:12: columns.a.distance: needs a `hierarchy`, a file, its lines or a tree, by which values are \
          compared"
        ]
    );
    let masked = refused("hierarchy = { mask = 'left' }\nt = 0.2\ndistance = 'hierarchical'\n");
    assert_eq!(
        masked,
        [
            "policy.toml:7:13: columns.a.hierarchy: must be a file or a `tree` in a sensitive column, whose values are known"
        ]
    );
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
    assert_eq!(refused("weight = 0\n"), ["policy.toml:7:10: columns.a.weight: must be a number above 0"]);
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
fn categories_can_be_told_apart() {
    let too_few = |count: u32| {
        format!(
            "policy.toml:7:14: columns.a.categories: has {count} of at least 2 categories; with fewer there is nothing \
             to tell apart"
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
