use throng_core::columns::{ColumnRecoding, Nulls};
use throng_core::hierarchy::HierarchySpec;

use crate::test_policies::{COMPLETE, HEAD, complaints, complaints_of_columns, complaints_with, folder, read, read_in};
use crate::{
    Algorithm, Borrow, BoundSetting, Budget, ClusterSetting, Commit, CsvOptions, Format, Goal, Input, Mode, Output,
    OutputFormat, Overrides, Policy, TablePin,
};
use crate::{Guards, PrivacySettings, Pseudonyms, Role, SensitiveRelease, UnitNulls};
use throng_core::anonymize::PartitionChoice;

const NO_PROBLEM: [&str; 0] = [];

fn plain(k: u64, p: u64) -> PrivacySettings {
    let (unit, unit_nulls) = (Vec::new(), UnitNulls::Own);
    let guards = Guards::default();
    PrivacySettings {
        preset: None,
        k,
        p,
        alpha: None,
        suppression_limit: None,
        max_gain: None,
        sampling_fraction: None,
        population: None,
        borrow: Borrow::Allowed,
        unit,
        unit_nulls,
        pseudonyms: Pseudonyms::PerRun,
        guards,
    }
}

fn output(location: &str, mode: Mode) -> Output {
    Output {
        location: location.to_owned(),
        format: OutputFormat::Parquet,
        mode,
        report: false,
        rows_per_file: 2 * 1024 * 1024,
        data_folder: None,
        commit: Commit::Conditional,
    }
}

#[test]
fn a_folder_for_data_files_has_a_plain_name() {
    let with = |name: &str| read(&format!("{HEAD}output.data_folder = '{name}'\n[columns.age]\nrole = 'quasi'\n"));
    assert_eq!(with("data").unwrap().output.data_folder.as_deref(), Some("data"));
    assert_eq!(read(&format!("{HEAD}[columns.age]\nrole = 'quasi'\n")).unwrap().output.data_folder, None);
    for name in ["", "_data", ".data", "a/b", "a\\\\b", "..", "year=2024", "é"] {
        let refused = with(name).unwrap_err().to_string();
        assert!(refused.contains("output.data_folder: is the name of one folder"), "{name}: {refused}");
    }
}

#[test]
fn a_file_of_the_release_has_at_least_one_row() {
    let with = |rows: &str| read(&format!("{HEAD}output.rows_per_file = {rows}\n[columns.age]\nrole = 'quasi'\n"));
    assert_eq!(with("1").unwrap().output.rows_per_file, 1);
    let refused = with("0").unwrap_err().to_string();
    assert!(refused.contains("output.rows_per_file: must be at least 1"), "{refused}");
}

#[test]
fn the_complete_policy_means_what_it_says() {
    let folder = folder();
    let policy = read_in(folder.path(), COMPLETE, &Overrides::default()).unwrap();
    assert_eq!(
        policy.input,
        Input {
            locations: vec!["/data/census/".to_owned(), "more.csv".to_owned()],
            pin: TablePin::Latest,
            format: Some(Format::Csv),
            csv: CsvOptions { delimiter: b';', header: false },
        }
    );
    assert_eq!(policy.output, output("s3://bucket/census/", Mode::Overwrite));
    assert_eq!(policy.privacy, plain(10, 3));
    let (partition, cluster) = (PartitionChoice::Mondrian, ClusterSetting::Greedy);
    assert_eq!(
        policy.algorithm,
        Algorithm {
            partition,
            cluster,
            goal: Goal::Loss,
            budget: Budget::Balanced,
            bound: BoundSetting::Off,
            seed: 42
        }
    );
    assert!(policy.columns.drop_unlisted);
    let names: Vec<&str> = policy.columns.by_name.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["person_id", "age", "country", "diagnosis", "hours per week"]);
    let roles: Vec<&Role> = policy.columns.by_name.iter().map(|(_, role)| role).collect();
    let [Role::Identifier, Role::Quasi(age), Role::Quasi(country), Role::Sensitive(ill), Role::Insensitive] = roles[..]
    else {
        panic!("{roles:?}");
    };
    assert_eq!((age.release, age.weight, age.nulls), (Some(ColumnRecoding::Bounds), 2.0, Nulls::Suppress));
    assert!(age.hierarchy.is_none());
    assert_eq!((country.release, country.weight, country.nulls), (None, 1.0, Nulls::Value));
    assert!(age.limit.is_none() && country.limit.is_none());
    assert!(ill.p.is_none() && ill.protection.is_none() && ill.categories.is_none());
    assert_eq!(ill.release, SensitiveRelease::Value);
    let Some(HierarchySpec::Tree(tree)) = country.hierarchy.as_deref() else { panic!("{country:?}") };
    assert_eq!((tree.leaf_count(), tree.leaf("Spain")), (3, Some(1)));
}

#[test]
fn what_is_left_out_has_its_default() {
    let policy = read(&format!("{HEAD}[columns.age]\nrole = 'quasi'\n")).unwrap();
    assert_eq!(
        policy.input,
        Input {
            locations: vec!["in".to_owned()],
            pin: TablePin::Latest,
            format: None,
            csv: CsvOptions { delimiter: b',', header: true }
        }
    );
    assert_eq!(policy.output, output("out", Mode::Error));
    assert_eq!(policy.privacy, plain(10, 1));
    let (partition, cluster) = (PartitionChoice::Mondrian, ClusterSetting::Auto);
    assert_eq!(
        policy.algorithm,
        Algorithm { partition, cluster, goal: Goal::Loss, budget: Budget::Balanced, bound: BoundSetting::Off, seed: 0 }
    );
    assert!(!policy.columns.drop_unlisted);
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_no_place() {
    let text = format!("\u{feff}{HEAD}[columns.age]\nrole = 'sensitive'\n").replace('\n', "\r\n");
    assert_eq!(
        complaints(&text),
        ["policy.toml:5:2: columns: no column has the role `quasi`, so there is nothing to generalize; give it to \
             the columns by which a person could be found"]
    );
}

#[test]
fn k_and_p_have_limits_and_reasons() {
    let quasi = "columns.age.role = 'quasi'\n";
    let sensitive = "columns.ill.role = 'sensitive'\n";
    let head = "version = 1\ninput.location = 'in'\noutput.location = 'out'\n";
    let with = |privacy: &str| complaints(&format!("{head}{privacy}\n{quasi}{sensitive}"));
    assert_eq!(
        with("privacy.k = 1"),
        ["policy.toml:4:13: privacy.k: must be at least 2: k = 1 protects no one, since a class of one row \
             is a person"]
    );
    assert_eq!(
        with("privacy = { k = 5, p = 0 }"),
        ["policy.toml:4:24: privacy.p: must be at least 1: every class has a value"]
    );
    assert_eq!(
        with("privacy = { k = 5, p = 6 }"),
        ["policy.toml:4:24: privacy.p: p = 6 is more than k = 5, and a class of 5 rows has at most 5 values; \
             raise k or lower p"]
    );
    assert_eq!(with("privacy = { k = 5, p = 5 }"), NO_PROBLEM);
    assert_eq!(
        complaints(&format!("{head}privacy = {{ k = 5, p = 2 }}\n{quasi}")),
        ["policy.toml:4:24: privacy.p: p = 2 needs a column with the role `sensitive`; name one, or set p to 1"]
    );
}

#[test]
fn a_budget_is_for_the_method_that_searches() {
    let columns = "columns.age.role = 'quasi'\n";
    let with = |algorithm: &str| complaints(&format!("{HEAD}algorithm = {{ {algorithm} }}\n{columns}"));
    assert_eq!(with("budget = 'thorough'"), NO_PROBLEM);
    assert_eq!(with("cluster = 'auto', budget = '10min'"), NO_PROBLEM);
    assert_eq!(
        with("cluster = 'greedy', budget = 'fast'"),
        ["policy.toml:5:44: algorithm.budget: `greedy` does not search for better classes; leave the budget out, or \
          choose `auto`"]
    );
    assert_eq!(
        with("budget = 'slow'"),
        [
            "policy.toml:5:24: algorithm.budget: is not a budget; expected `fast`, `balanced`, `thorough`, or a time such as \
          `500ms`, `30s`, `5min` or `1h`"
        ]
    );
}

#[test]
fn a_goal_is_what_auto_chooses_by() {
    let columns = "columns.age.role = 'quasi'\n";
    let with = |algorithm: &str| complaints(&format!("{HEAD}algorithm = {{ {algorithm} }}\n{columns}"));
    for fine in ["goal = 'classes'", "goal = 'loss', budget = 'fast'", "goal = 'classes', partition = 'mdr'"] {
        assert_eq!(with(fine), NO_PROBLEM);
    }
    assert_eq!(
        with("goal = 'classes', cluster = 'greedy'"),
        ["policy.toml:5:15: algorithm.goal: is for `auto`, and the cluster method is `greedy`; keep one"]
    );
    assert_eq!(with("goal = 'classes', partition = 'incognito'").len(), 1);
    assert_eq!(with("goal = 'classes', budget = 'fast'").len(), 1);
}

#[test]
fn a_sampling_fraction_is_a_share_of_the_population() {
    let with = |fraction: &str| format!("{HEAD}privacy.population.fraction = {fraction}\ncolumns.age.role = 'quasi'\n");
    assert_eq!(read(&with("0.01")).unwrap().privacy.sampling_fraction.map(|fraction| fraction.get()), Some(0.01));
    for wrong in ["0.0", "1.5", "-0.1"] {
        assert_eq!(
            complaints(&with(wrong)),
            ["policy.toml:5:31: privacy.population.fraction: must be above 0 and at most 1: it is the share of the \
              population that is in the input"]
        );
    }
}

#[test]
fn a_policy_without_any_method_is_refused() {
    let columns = "columns.age.role = 'quasi'\n";
    assert_eq!(
        complaints(&format!("{HEAD}algorithm = {{ partition = 'none', cluster = 'none' }}\n{columns}")),
        ["policy.toml:5:45: algorithm.cluster: with neither a partition nor a cluster method the whole table would \
             be released as one class; choose one of the two"]
    );
    assert_eq!(complaints(&format!("{HEAD}algorithm = {{ partition = 'none' }}\n{columns}")), NO_PROBLEM);
    assert_eq!(complaints(&format!("{HEAD}algorithm = {{ cluster = 'none' }}\n{columns}")), NO_PROBLEM);
}

#[test]
fn full_domain_generalization_takes_no_cluster_method() {
    let with = |cluster: &str| {
        complaints(&format!("{HEAD}algorithm = {{ partition = 'incognito'{cluster} }}\ncolumns.age.role = 'quasi'\n"))
    };
    for fine in ["", ", cluster = 'auto'", ", cluster = 'none'"] {
        assert_eq!(with(fine), NO_PROBLEM);
    }
    for name in ["greedy", "greedy-pk", "enhanced-pk", "switching", "mdav", "random-seed"] {
        assert_eq!(
            with(&format!(", cluster = '{name}'")),
            [format!(
                "policy.toml:5:50: algorithm.cluster: `{name}` would cut the classes of `incognito`, which shows every \
                 value of a column on the same level; leave it out, or choose another partition"
            )]
        );
    }
}

#[test]
fn the_share_of_suppressed_rows_is_a_share() {
    let with = |share: &str| {
        read(&format!("{HEAD}privacy.suppression_limit = {share}\ncolumns.age.role = 'quasi'\n"))
            .map(|policy| policy.privacy.suppression_limit)
            .map_err(|error| error.to_string())
    };
    assert_eq!(with("0"), Ok(Some(0.0)));
    assert_eq!(with("1"), Ok(Some(1.0)));
    assert_eq!(with("0.05"), Ok(Some(0.05)));
    for share in ["1.01", "5", "-0.1"] {
        let refused = "privacy.suppression_limit: must be from 0 to 1: it is a share of the rows of the input";
        assert_eq!(with(share), Err(format!("policy.toml:5:29: {refused}")));
    }
}

#[test]
fn fields_of_a_role_are_refused_elsewhere() {
    assert_eq!(
        complaints_of_columns(
            "[columns.age]\nrole = 'quasi'\nweight = 0\n\
             [columns.id]\nrole = 'identifier'\n  weight = 1.0\nhierarchy = 'nowhere.csv'\n\
             [columns.ill]\nrole = 'sensitive'\nrelease = 'set'\nnulls = 'error'\nweight = 2\nlimit = 1\n\
             [columns.zip]\nrole = 'quasi'\np = 2\nprotected = ['x']\ncategories = [['x'], ['y']]\nrelease = 'both'\n\
             [columns.eyes]\nrole = 'insensitive'\nrelease = 'value'\np = 2\nlimit = 0\n"
        ),
        [
            "policy.toml:7:10: columns.age.weight: must be greater than zero; to keep the column as it is, make it \
             insensitive",
            "policy.toml:10:3: columns.id.weight: is for the roles `quasi` and `sensitive`, and this column is `identifier`",
            "policy.toml:11:1: columns.id.hierarchy: is for the roles `quasi` and `sensitive`, and this column is \
             `identifier`",
            "policy.toml:14:11: columns.ill.release: `set` is for the role `quasi`, and this column is `sensitive`",
            "policy.toml:15:1: columns.ill.nulls: is for the role `quasi`, and this column is `sensitive`",
            "policy.toml:17:1: columns.ill.limit: is for the role `quasi`, and this column is `sensitive`",
            "policy.toml:20:1: columns.zip.p: is for the role `sensitive`, and this column is `quasi`",
            "policy.toml:21:1: columns.zip.protected: is for the role `sensitive`, and this column is `quasi`",
            "policy.toml:22:1: columns.zip.categories: is for the role `sensitive`, and this column is `quasi`",
            "policy.toml:23:11: columns.zip.release: `both` is for the role `sensitive`, and this column is `quasi`",
            "policy.toml:26:1: columns.eyes.release: is for the roles `quasi`, `sensitive` and `identifier`, and this column is \
             `insensitive`",
            "policy.toml:27:1: columns.eyes.p: is for the role `sensitive`, and this column is `insensitive`",
            "policy.toml:28:1: columns.eyes.limit: is for the role `quasi`, and this column is `insensitive`",
        ]
    );
}

#[test]
fn ordered_releases_have_no_hierarchy() {
    for name in ["interval", "bounds", "mean", "median"] {
        assert_eq!(
            complaints_of_columns(&format!(
                "[columns.a]\nrole = 'quasi'\nrelease = '{name}'\nhierarchy = {{ width = 5 }}\n"
            )),
            [format!(
                "policy.toml:7:11: columns.a.release: `{name}` has no use for a hierarchy; take the hierarchy out, or \
                 use `ancestor`"
            )]
        );
    }
    for name in ["ancestor", "set", "mode"] {
        let written = format!("[columns.a]\nrole = 'quasi'\nrelease = '{name}'\nhierarchy = {{ width = 5 }}\n");
        assert_eq!(complaints_of_columns(&written), NO_PROBLEM);
    }
}

#[test]
fn locations_are_expanded_and_never_quoted() {
    let text = "version = 1\nprivacy.k = 2\ncolumns.a.role = 'quasi'\n\
                input.location = ['${MISSING}/a', '${URL}', '', '$HOME/a', '${DATA']\n\
                output.location = 's3://AKIA:hunter2@bucket/'\n";
    let complaints = complaints(text);
    assert_eq!(
        complaints,
        [
            "policy.toml:4:19: input.location[0]: the environment variable `MISSING` is not set",
            "policy.toml:4:35: input.location[1]: holds a user name or password; secrets come only from the \
             environment, so take it out of the location",
            "policy.toml:4:45: input.location[2]: is empty; name a file, a folder or a URL",
            "policy.toml:4:49: input.location[3]: has a `$` that does not begin `${NAME}`; write `$$` for a dollar",
            "policy.toml:4:60: input.location[4]: has a `${` that does not become `${NAME}`; write `$$` for a dollar",
            "policy.toml:5:19: output.location: holds a user name or password; secrets come only from the environment, \
             so take it out of the location",
        ]
    );
    let shown = format!("{:?}", read(text).unwrap_err());
    assert!(!complaints.concat().contains("hunter2") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn options_of_csv_are_for_csv() {
    let with = |input: &str| {
        complaints(&format!(
            "version = 1\noutput.location = 'o'\nprivacy.k = 2\ncolumns.a.role = 'quasi'\n[input]\n{input}"
        ))
    };
    assert_eq!(
        with("location = []\nformat = 'parquet'\nheader = true\ndelimiter = ';;'\n"),
        [
            "policy.toml:6:12: input.location: is empty; name at least one location",
            "policy.toml:8:1: input.header: is for CSV, and the format is `parquet`",
            "policy.toml:9:1: input.delimiter: is for CSV, and the format is `parquet`",
            "policy.toml:9:13: input.delimiter: must be one ASCII character other than a quote or a line break",
        ]
    );
    assert_eq!(with("location = 'x'\ndelimiter = \"\\t\"\n"), NO_PROBLEM);
    for delimiter in ["''", "'é'", "'\"'", "\"\\n\""] {
        assert_eq!(with(&format!("location = 'x'\ndelimiter = {delimiter}\n")).len(), 1, "{delimiter}");
    }
}

#[test]
fn overrides_replace_what_the_file_says() {
    let overrides = Overrides {
        input: Some(vec!["a$b".to_owned(), "c".to_owned()]),
        output: Some("elsewhere".to_owned()),
        overwrite: true,
        k: Some(7),
        p: Some(2),
        budget: Some("90s".to_owned()),
        seed: Some(u64::MAX),
        without_preset: true,
    };
    let text = "version = 1\n[output]\nlocation = '${MISSING}'\nmode = 'error'\n[privacy]\nk = 1\npreset = 'strict'\n\
                [columns.a]\nrole = 'quasi'\n[columns.b]\nrole = 'sensitive'\n";
    let policy = read_in("/nowhere".as_ref(), text, &overrides).unwrap();
    assert_eq!(policy.input.locations, ["a$b", "c"]);
    assert_eq!(policy.output, output("elsewhere", Mode::Overwrite));
    assert_eq!(policy.privacy, plain(7, 2));
    assert_eq!(policy.algorithm.seed, u64::MAX);
    assert_eq!(policy.algorithm.budget, Budget::Time(std::time::Duration::from_secs(90)));
}

#[test]
fn problems_of_overrides_name_the_flag() {
    let columns = "columns.a.role = 'quasi'\ncolumns.b.role = 'sensitive'\n";
    let text = format!("{HEAD}privacy.p = 3\n{columns}");
    let with = |overrides: Overrides| complaints_with(&text, &overrides);
    let too_many = |p, k| {
        format!("p = {p} is more than k = {k}, and a class of {k} rows has at most {k} values; raise k or lower p")
    };
    assert_eq!(with(Overrides { p: Some(11), ..Default::default() }), [format!("--p: {}", too_many(11, 10))]);
    assert_eq!(with(Overrides { k: Some(2), ..Default::default() }), [format!("--k: {}", too_many(3, 2))]);
    assert_eq!(with(Overrides { k: Some(2), p: Some(4), ..Default::default() }), [format!("--p: {}", too_many(4, 2))]);
    assert_eq!(
        with(Overrides { k: Some(1), ..Default::default() }),
        ["--k: must be at least 2: k = 1 protects no one, since a class of one row is a person"]
    );
    let secret = Some("s3://a:b@c/".to_owned());
    let refused =
        "holds a user name or password; secrets come only from the environment, so take it out of the location";
    assert_eq!(
        with(Overrides { input: Some(vec!["s3://a:b@c/".to_owned()]), output: secret, ..Default::default() }),
        [format!("--input: {refused}"), format!("--output: {refused}")]
    );
    assert_eq!(
        with(Overrides { input: Some(Vec::new()), ..Default::default() }),
        ["--input: is empty; name at least one location"]
    );
}

#[test]
fn a_table_of_the_wrong_type_stays_an_error_under_overrides() {
    let text = "version = 1\ninput = 3\noutput.location = 'o'\nprivacy.k = 2\ncolumns.a.role = 'quasi'\n";
    assert_eq!(
        complaints_with(text, &Overrides { input: Some(vec!["a".to_owned()]), ..Default::default() }),
        ["policy.toml:2:9: input: expected a table, found a whole number"]
    );
}

#[test]
fn a_file_is_loaded_with_hierarchies_from_its_folder() {
    let folder = folder();
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, COMPLETE.replace("${DATA}", "")).unwrap();
    let policy = Policy::load(&file, &Overrides::default()).unwrap();
    assert_eq!(policy.input.locations, ["/census/", "more.csv"]);
}

#[test]
fn a_file_that_cannot_be_read_is_distinguished_from_a_bad_one() {
    let folder = folder();
    let file = folder.path().join("policy.toml");
    let error = Policy::load(&file, &Overrides::default()).unwrap_err();
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(error.to_string(), format!("{}: there is no such policy file", file.display()));
    assert_eq!(error.file(), file.display().to_string());

    std::fs::write(&file, b"version = 1\n# \xff").unwrap();
    let error = Policy::load(&file, &Overrides::default()).unwrap_err();
    assert!(std::error::Error::source(&error).is_none());
    assert_eq!(error.to_string(), format!("{}: the policy file is not UTF-8 text", file.display()));
}
