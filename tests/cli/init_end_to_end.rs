//! From an unknown table to a verified release: `init`, `check`, `run`, with no edit but one answer per question. The
//! release is counted with plain maps.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    ListArray, ListBuilder, RecordBatch, StringArray, StringBuilder, TimestampMicrosecondArray,
};
use arrow::datatypes::{Int32Type, Int64Type};

use crate::release_files::{Rows, multiset, read, read_file};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{Draws, strings, table, write_parquet};

/// Roles in a policy, parsed line by line without any code of Throng.
struct Roles(Vec<(String, String)>);

impl Roles {
    fn of(policy: &str) -> Self {
        let mut roles = Vec::new();
        let mut column = None;
        for line in policy.lines() {
            if let Some(name) = line.strip_prefix("[columns.\"").and_then(|rest| rest.strip_suffix("\"]")) {
                column = Some(name.to_owned());
            } else if let Some(role) = line.strip_prefix("role = \"").and_then(|rest| rest.strip_suffix('"')) {
                roles.push((column.take().unwrap(), role.to_owned()));
            }
        }
        Self(roles)
    }

    fn named(&self, wanted: &str) -> Vec<&str> {
        self.0.iter().filter(|(_, role)| role == wanted).map(|(name, _)| name.as_str()).collect()
    }
}

/// Answers every question with the suggestion above it. Returns the policy and the lines of the questions.
fn answered(draft: &str) -> (String, Vec<usize>) {
    let (mut lines, mut questions, mut suggested) = (Vec::new(), Vec::new(), None);
    for (place, line) in draft.lines().enumerate() {
        if let Some(suggestion) = line.strip_prefix("# Suggested: ") {
            suggested = Some(suggestion.trim_end_matches('.').to_owned());
        }
        match line.strip_suffix("\"?\"") {
            Some(field) => {
                questions.push(place + 1);
                let answer: String = suggested.take().unwrap();
                let (answer, more) = answer.split_once(", ").unwrap_or((&answer, ""));
                let quoted = if answer.parse::<u64>().is_ok() { answer.to_owned() } else { format!("\"{answer}\"") };
                lines.push(format!("{field}{quoted}"));
                lines.extend(more.strip_prefix("with ").map(str::to_owned));
            }
            None => lines.push(line.to_owned()),
        }
    }
    (lines.join("\n") + "\n", questions)
}

/// Runs the three commands on a table.
fn released(sandbox: &Sandbox, data: &str, more: &[&str]) -> Roles {
    let drafted = sandbox.throng(&["init", data, "-o", "policy.toml"]).done();
    let draft = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let (policy, questions) = answered(&draft);
    assert_eq!(drafted["questions"], questions.len(), "{draft}");

    // No command runs before every question is answered, and each is listed with its line.
    for command in ["check", "run"] {
        let message = sandbox.throng(&[command, "policy.toml"]).refused(78);
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines.len(), questions.len(), "{message}");
        for (line, reported) in questions.iter().zip(lines) {
            assert!(
                reported.starts_with(&format!("policy.toml:{line}:")) && reported.contains("open question"),
                "{reported}"
            );
        }
    }
    assert!(!sandbox.path("released").exists());

    sandbox.write("policy.toml", &policy);
    assert_eq!(sandbox.throng(&["check", "policy.toml"]).done()["outcome"], "feasible");
    let outcome = sandbox.throng(&[&["run", "policy.toml"], more].concat()).done();
    assert_eq!(outcome["satisfied"], true);

    // Every column of the draft has its reason and its profile.
    for block in draft.split("\n[columns.").skip(1) {
        assert!(block.contains("\n# Why: ") || block.contains("\n# Unclear: "), "{block}");
        assert!(block.contains("\n# Seen: "), "{block}");
    }
    Roles::of(&policy)
}

/// Counts the release of `data` independently, and verifies it.
fn counted(sandbox: &Sandbox, data: &Path, name: &str, roles: &Roles) {
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let setting = |field: &str| {
        let line = policy.lines().find(|line| line.starts_with(field)).unwrap();
        line[field.len()..].trim_matches('"').to_owned()
    };
    let k = match setting("preset = ").as_str() {
        "common" => 5,
        "research" => 10,
        other => panic!("{other}"),
    };
    let p: u64 = setting("p = ").parse().unwrap();
    let (quasi, sensitive) = (roles.named("quasi"), roles.named("sensitive"));
    let folder = sandbox.path("released").join(name);
    let (released, original) = (Rows::of(&read(&folder)), rows_of(data));
    // Numbers and dates are drafted as bounds, two columns each.
    let bounds = |name: &&str| match released.names().contains(name) {
        true => vec![(*name).to_owned()],
        false => vec![format!("{name}_min"), format!("{name}_max")],
    };
    let shown: Vec<String> = quasi.iter().flat_map(bounds).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let count = released.count(&shown, &sensitive);
    assert_eq!(count.rows as usize, original.len(), "no limit is set, so that no row is suppressed");
    assert!(count.smallest >= k, "{count:?}");
    assert!(count.fewest.iter().all(|fewest| *fewest >= p), "{count:?}");
    assert!(count.classes > 1, "one class of all rows is no good release: {count:?}");
    for dropped in roles.named("identifier") {
        assert!(!released.names().contains(&dropped), "{dropped}");
    }
    for kept in &sensitive {
        assert_eq!(multiset(released.column(kept)), multiset(original.column(kept)), "{kept}");
    }
    assert_eq!(roles.0.len(), original.names().len());
    let verify = ["verify", folder.to_str().unwrap(), "--policy", "policy.toml"];
    assert_eq!(sandbox.throng(&verify).done()["outcome"], "verified");
}

fn rows_of(file: &Path) -> Rows {
    let batches = read_file(file);
    Rows::of(&arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap())
}

fn whole(batch: &RecordBatch, name: &str) -> (Sandbox, Roles) {
    let sandbox = Sandbox::new();
    let data = format!("input/{name}.parquet");
    write_parquet(&sandbox.path(&data), batch);
    let roles = released(&sandbox, &data, &[]);
    counted(&sandbox, &sandbox.path(&data), name, &roles);
    (sandbox, roles)
}

fn assert_not_said(sandbox: &Sandbox, values: &[&str]) {
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    for value in values {
        assert!(!policy.contains(value), "{value} is in the draft:\n{policy}");
    }
}

fn hospital() -> RecordBatch {
    let mut draws = Draws::new(3);
    let rows = 2000;
    let mut draw = |limit: u64| (0..rows).map(|_| draws.below(limit)).collect::<Vec<u64>>();
    let (ages, days, stays, zips, sexes, races) = (draw(80), draw(365), draw(12), draw(60), draw(2), draw(5));
    let (ills, charges, wards, labs) = (draw(11), draw(90), draw(8), draw(500));
    let admitted: Vec<i32> = days.iter().map(|day| 19_000 + *day as i32).collect();
    let left: Vec<i32> = admitted.iter().zip(&stays).map(|(day, stay)| day + *stay as i32).collect();
    let race = |draw: &u64| ["Martian", "Venusian", "Lunar", "Jovian"].get(*draw as usize).copied();
    let charges = charges.iter().map(|charge| i128::from(*charge) * 50_000);
    table(vec![
        ("mrn", Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|row| 88_000_000 + row)))),
        ("patientName", strings((0..rows).map(|row| format!("Quirinus Zabriskie {row}")))),
        ("admission_date", Arc::new(Date32Array::from(admitted))),
        ("discharge_date", Arc::new(Date32Array::from(left))),
        ("zip", strings(zips.iter().map(|zip| format!("{:05}", 3500 + 7 * zip)))),
        ("age", Arc::new(Int32Array::from_iter_values(ages.iter().map(|age| *age as i32 + 1)))),
        ("sex", strings(sexes.iter().map(|sex| ["F", "M"][*sex as usize]))),
        ("race", Arc::new(StringArray::from_iter(races.iter().map(race)))),
        ("diagnosis", strings(ills.iter().map(|ill| format!("malady of kind {ill}")))),
        (
            "total_charges",
            Arc::new(Decimal128Array::from_iter_values(charges).with_precision_and_scale(12, 2).unwrap()),
        ),
        ("ward_no", Arc::new(Int32Array::from_iter_values(wards.iter().map(|ward| *ward as i32)))),
        (
            "analyte",
            Arc::new(Float64Array::from_iter_values(
                labs.iter().map(|lab| if *lab == 0 { f64::NAN } else { *lab as f64 / 7.0 }),
            )),
        ),
        ("remarks", strings((0..rows).map(|row| format!("said {row} in the morning")))),
    ])
}

#[test]
fn discharges_of_a_hospital() {
    let (sandbox, roles) = whole(&hospital(), "discharges");
    assert_eq!(roles.named("sensitive"), ["diagnosis", "total_charges"]);
    for dropped in ["mrn", "patientName", "remarks", "analyte"] {
        assert!(roles.named("identifier").contains(&dropped), "{dropped}");
    }
    for quasi in ["age", "sex", "race", "zip", "admission_date", "discharge_date"] {
        assert!(roles.named("quasi").contains(&quasi), "{quasi}");
    }
    let draft = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    assert_contains(
        &draft,
        &["mask = \"right\"", "date = [\"month\", \"quarter\", \"year\"]", "release = \"set\"", "NaN"],
    );
    assert_not_said(&sandbox, &["Zabriskie", "Martian", "malady", "03500", "said 1", "88000", "2022-", "4450000"]);
}

/// Visits of patients: a day twice, postal codes with a space, codes that are numbers, and lists.
fn visits() -> RecordBatch {
    let mut draws = Draws::new(7);
    let rows = 2400;
    let mut draw = |limit: u64| (0..rows).map(|_| draws.below(limit)).collect::<Vec<u64>>();
    let (days, codes, towns, origins, born, kinds) = (draw(700), draw(9000), draw(90), draw(3), draw(9000), draw(5));
    let seconds = days.iter().map(|day| (19_700 + *day as i64) * 86_400_000_000 + 3_600_000_000);
    let mut lists = ListBuilder::new(StringBuilder::new());
    for kind in &kinds {
        lists.values().append_value(format!("code of kind {kind}"));
        lists.append(true);
    }
    table(vec![
        ("patient_id", Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|row| 7_000_000 + row / 3)))),
        ("postcode", strings(codes.iter().map(|code| format!("{} EH", 1000 + code)))),
        ("town", strings(towns.iter().map(|town| format!("Town of {town}")))),
        ("birth_date", Arc::new(Date32Array::from_iter_values(born.iter().map(|day| *day as i32)))),
        ("visit_date", Arc::new(Date32Array::from_iter_values(days.iter().map(|day| 19_700 + *day as i32)))),
        ("admitted_at", Arc::new(TimestampMicrosecondArray::from_iter_values(seconds))),
        ("discharge_date", Arc::new(Date32Array::from_iter_values(days.iter().map(|day| 19_701 + *day as i32 % 9)))),
        ("citizenship", Arc::new(Int64Array::from_iter_values(kinds.iter().map(|kind| *kind as i64)))),
        ("origin", strings(origins.iter().map(|origin| ["here", "there", "elsewhere"][*origin as usize]))),
        ("diagnoses", Arc::new(lists.finish()) as ArrayRef),
        ("illness", strings(kinds.iter().map(|kind| format!("illness {kind}")))),
    ])
}

#[test]
fn visits_of_patients() {
    let (sandbox, roles) = whole(&visits(), "visits");
    assert_eq!(roles.named("sensitive"), ["illness", "diagnoses"]);
    let draft = fs::read_to_string(sandbox.path("policy.toml")).unwrap().replace("\n#", "");
    let column = |name: &str| {
        let from = draft.find(&format!("[columns.\"{name}\"]")).unwrap();
        draft[from..].split("\n\n").next().unwrap().to_owned()
    };
    assert_contains(&column("postcode"), &["mask = \"right\""]);
    assert_contains(
        &column("town"),
        &["from the value to coarser and coarser groups (`value;group;*`)", "throng hierarchy check"],
    );
    assert_contains(&column("admitted_at"), &["It has the day of `visit_date` in every row"]);
    assert!(!column("discharge_date").contains("It has the day of"), "{draft}");
    assert_contains(&column("citizenship"), &["codes and no amounts, take release = \"set\""]);
    assert_contains(&column("origin"), &["Suggested: quasi, with release = \"set\""]);
    assert_contains(&column("diagnoses"), &["p counts the elements", "Suggested: sensitive."]);
    assert_contains(
        &draft,
        &[
            "Without any one of these columns that is nearly the same",
            "Those with most values come first",
            "unit = \"patient_id\"",
        ],
    );
    assert!(!draft.contains("falls by 0 %") && !draft.contains("Utf8"), "{draft}");
    assert_not_said(&sandbox, &["EH", "Town", "kind", "elsewhere", "70000", "2023-", "2024-"]);
}

#[test]
fn many_quasi_identifiers_are_said_to_be_many() {
    let column = |place: usize| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..100).map(move |row| row % (2 + place as i64))))
    };
    let names = ["age", "year", "month", "day", "region", "county", "district", "city", "grade", "office"];
    let drafted = |count: usize| {
        let sandbox = Sandbox::new();
        let columns = names.iter().take(count).enumerate().map(|(place, name)| (*name, column(place)));
        write_parquet(&sandbox.path("t.parquet"), &table(columns.collect()));
        sandbox.throng(&["init", "t.parquet", "-o", "policy.toml"]).done();
        fs::read_to_string(sandbox.path("policy.toml")).unwrap().replace("\n#", "")
    };
    assert_contains(&drafted(10), &["10 columns that are or may be quasi-identifiers are many"]);
    assert!(!drafted(9).contains("are many"));
}

fn staff() -> RecordBatch {
    let mut draws = Draws::new(5);
    let rows = 400;
    let mut draw = |limit: u64| (0..rows).map(|_| draws.below(limit)).collect::<Vec<u64>>();
    let (born, hired, sexes, teams, titles, cities) = (draw(14_000), draw(4000), draw(3), draw(7), draw(9), draw(6));
    let (pay, marks, bosses, remote) = (draw(40), draw(5), draw(30), draw(2));
    let day = |days: &[u64], from: i32| -> ArrayRef {
        Arc::new(Date32Array::from_iter_values(days.iter().map(|day| from + *day as i32)))
    };
    table(vec![
        ("EmployeeNo", strings((0..rows).map(|row| format!("E{:05}", 70_000 + row)))),
        ("Full Name", strings((0..rows).map(|row| format!("Wilhelmina Oakenshield {row}")))),
        ("work_email", strings((0..rows).map(|row| format!("w{row}@oaken.example")))),
        ("birthDate", day(&born, -3000)),
        ("gender", strings(sexes.iter().map(|sex| ["f", "m", "x"][*sex as usize]))),
        ("department", strings(teams.iter().map(|team| format!("Bureau {team}")))),
        ("job title", strings(titles.iter().map(|title| format!("Rank {title}")))),
        ("office_city", strings(cities.iter().map(|city| format!("Burg {city}")))),
        ("salary", Arc::new(Float64Array::from_iter_values(pay.iter().map(|pay| 31_000.0 + 1500.0 * *pay as f64)))),
        ("performance_rating", Arc::new(Int32Array::from_iter_values(marks.iter().map(|mark| *mark as i32 + 1)))),
        ("hire_date", day(&hired, 15_000)),
        ("manager_id", Arc::new(Int64Array::from_iter_values(bosses.iter().map(|boss| *boss as i64)))),
        ("flexible", Arc::new(BooleanArray::from_iter(remote.iter().map(|remote| Some(*remote == 1))))),
    ])
}

#[test]
fn the_staff_of_a_company() {
    let (sandbox, roles) = whole(&staff(), "staff");
    assert_eq!(roles.named("sensitive"), ["salary", "performance_rating"]);
    for dropped in ["EmployeeNo", "Full Name", "work_email"] {
        assert!(roles.named("identifier").contains(&dropped), "{dropped}");
    }
    let draft = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    // A small table gets the smaller preset, and birth dates over forty years get a calendar with decades.
    assert_contains(&draft, &["preset = \"common\"", "\"year\", \"decade\"]"]);
    assert_contains(&draft.replace("\n# ", " "), &["k counts rows and not people"]);
    // All rows stay unique without any one column, so the column with the most values comes first.
    assert_eq!(roles.named("quasi")[0], "birthDate");
    assert_not_said(&sandbox, &["Oakenshield", "oaken.example", "Bureau", "Rank 1", "Burg", "E700", "31000", "89500"]);
}

fn web_log() -> RecordBatch {
    let mut draws = Draws::new(8);
    let rows = 3000;
    let mut draw = |limit: u64| (0..rows).map(|_| draws.below(limit)).collect::<Vec<u64>>();
    let (times, users, pages, codes, sizes, agents, lands) =
        (draw(30 * 86_400), draw(300), draw(40), draw(4), draw(4000), draw(15), draw(9));
    let instants = times.iter().map(|second| 1_700_000_000_000_000 + 1_000_000 * *second as i64);
    let names: Vec<String> = (0..15).map(|agent| format!("Netscape/{agent}")).collect();
    let agents: DictionaryArray<Int32Type> = agents.iter().map(|agent| Some(names[*agent as usize].as_str())).collect();
    let tags = users.iter().map(|user| Some(vec![Some(*user as i64)]));
    table(vec![
        ("ts", Arc::new(TimestampMicrosecondArray::from_iter_values(instants).with_timezone("UTC"))),
        ("client", strings(users.iter().map(|user| format!("10.77.{}.{}", user / 20, user % 20)))),
        ("user_id", Arc::new(Int64Array::from_iter_values(users.iter().map(|user| 5_550_000 + *user as i64)))),
        ("url", strings(pages.iter().map(|page| format!("/clinic/page{page}")))),
        (
            "status",
            Arc::new(Int32Array::from_iter_values(codes.iter().map(|code| [200, 301, 404, 500][*code as usize]))),
        ),
        ("bytes", Arc::new(Int64Array::from_iter_values(sizes.iter().map(|size| *size as i64)))),
        ("user_agent", Arc::new(agents)),
        ("country", strings(lands.iter().map(|land| format!("Ruritania-{land}")))),
        ("tags", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(tags))),
    ])
}

#[test]
fn the_log_of_a_web_site() {
    let (sandbox, roles) = whole(&web_log(), "log");
    assert_eq!(roles.named("sensitive"), ["url"]);
    for dropped in ["client", "user_id", "tags"] {
        assert!(roles.named("identifier").contains(&dropped), "{dropped}");
    }
    let draft = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    assert_contains(&draft, &["date = [\"day\", \"month\", \"quarter\", \"year\"]", "a list can't be generalized"]);
    assert_not_said(&sandbox, &["10.77", "5550", "/clinic", "Netscape", "Ruritania", "2023-1"]);
}

#[test]
fn adult_which_init_has_not_seen_either() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/adult.csv");
    if !Path::new(source).exists() {
        throng_testkit::skip("the Adult data is not there");
        return;
    }
    let sandbox = Sandbox::new();
    let copy = format!("COPY (SELECT * FROM '{source}') TO 'input/adult.parquet'");
    assert_eq!(sandbox.throng(&["sql", "-c", &copy]).code, Some(0));
    let roles = released(&sandbox, "input/adult.parquet", &["--budget", "fast"]);
    counted(&sandbox, &sandbox.path("input/adult.parquet"), "adult", &roles);
    assert_eq!(roles.named("sensitive"), ["income"]);
    for quasi in ["age", "sex", "race", "native-country", "marital-status", "occupation"] {
        assert!(roles.named("quasi").contains(&quasi), "{quasi}");
    }
    assert_not_said(&sandbox, &["Bachelors", "Holand", "Exec-managerial", "<=50K"]);
}

#[test]
fn the_same_table_gives_the_same_draft_however_it_is_read() {
    let sandbox = Sandbox::new();
    let batch = staff();
    write_parquet(&sandbox.path("input/staff.parquet"), &batch);
    sandbox.throng(&["init", "input/staff.parquet", "-o", "one.toml", "--threads", "1"]).done();
    write_parquet(&sandbox.path("input/staff.parquet"), &crate::tables::shuffled(&batch, 4));
    sandbox.throng(&["init", "input/staff.parquet", "-o", "two.toml", "--threads", "2"]).done();
    let text = |name: &str| fs::read_to_string(sandbox.path(name)).unwrap();
    assert_eq!(text("one.toml"), text("two.toml"));
}

#[test]
fn a_policy_that_is_there_is_not_replaced() {
    let sandbox = Sandbox::new();
    write_parquet(&sandbox.path("input/staff.parquet"), &staff());
    sandbox.write("policy.toml", "mine");
    let message = sandbox.throng(&["init", "input/"]).refused(78);
    assert_contains(&message, &["policy.toml is already there"]);
    assert_eq!(fs::read_to_string(sandbox.path("policy.toml")).unwrap(), "mine");
    sandbox.throng(&["init", "nowhere/", "-o", "other.toml"]).refused(66);
    assert!(!sandbox.path("other.toml").exists());
}

#[test]
fn a_table_without_rows_is_refused() {
    let sandbox = Sandbox::new();
    write_parquet(&sandbox.path("input/staff.parquet"), &staff().slice(0, 0));
    let message = sandbox.throng(&["init", "input/staff.parquet"]).refused(65);
    assert_contains(&message, &["no rows"]);
    assert!(!sandbox.path("policy.toml").exists());
}
