//! Any small table and any policy for it, generated from bytes: the whole job keeps its promise, or reports why it
//! can't.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow::datatypes::{Field, Schema};
use parquet::arrow::ArrowWriter;
use throng_policy::{Overrides, Policy};

use super::job::{Texts, run};

/// Maximum number of rows of a table.
const ROWS: usize = 64;

const INTEGERS: [i64; 12] = [0, 1, 2, 3, 5, 8, 40, 41, -1, i64::MAX, i64::MIN, i64::MAX - 1];
const FLOATS: [f64; 14] = [
    0.0,
    1.5,
    2.0,
    -3.25,
    100.0,
    0.1,
    -0.0,
    1e300,
    -1e300,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    f64::NAN,
    f64::INFINITY,
];
const TEXTS: [&str; 14] =
    ["a", "b", "ab", "abc", "b1", "b2", "c", "", "é日", "*", "a;b", "{a, b}", "[1-2]", "a\n\u{0}\"'"];
const DAYS: [i32; 9] = [0, 1, 31, 365, 19_000, 19_001, -719_162, i32::MAX, i32::MIN];
const INSTANTS: [i64; 8] = [0, 1, 86_400_000_000, 1_700_000_000_000_000, -1, i64::MAX, i64::MIN, 59_999_999];

/// Choices drawn from bytes; zero when they are exhausted.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// The kind of values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Integers,
    Small,
    Natural,
    Floats,
    Texts,
    Flags,
    Days,
    Instants,
}

use Values::{Days, Flags, Floats, Instants, Integers, Natural, Small, Texts as Words};

const VALUES: [Values; 8] = [Integers, Words, Floats, Days, Flags, Small, Natural, Instants];

/// Generates a table and a policy from bytes, and releases it.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let folder = tempfile::tempdir().expect("a folder");
    let (k, p) = (2 + choices.below(5), 1 + choices.below(4));
    let quasi: Vec<(String, Values)> =
        (0..1 + choices.below(3)).map(|number| (format!("q{number}"), choices.of(&VALUES))).collect();
    let sensitive: Vec<(String, Values)> =
        (0..choices.below(3)).map(|number| (format!("s{number}"), choices.of(&VALUES))).collect();
    let p = if sensitive.is_empty() { 1 } else { p.min(k) };
    let text = policy_text(&mut choices, folder.path(), (k, p), &quasi, &sensitive);
    let files = 1 + choices.below(2);
    let rows = choices.below(ROWS + 1);
    let kinds: Vec<&(String, Values)> = quasi.iter().chain(&sensitive).collect();
    let input = table(&mut choices, &kinds, rows);

    // Not every combination is valid.
    let Ok(policy) = Policy::parse(&text, folder.path(), &Overrides::default()) else { return };
    write(folder.path(), &input, files);
    let Some(released) = run(&policy, folder.path()) else { return };

    let release = Texts::of_release(folder.path());
    let names: Vec<&str> = sensitive.iter().map(|(name, _)| name.as_str()).collect();
    let shown = release.names().iter().map(String::as_str).filter(|name| *name != "row" && !names.contains(name));
    release.check_promise(&shown.collect::<Vec<_>>(), &names, k, p);
    let (counted, output) = (release.rows() as u64, released.sidecar.output);
    assert_eq!((output.rows, output.rows + output.suppressed_rows), (counted, rows as u64), "rows were lost or made");
    check_rows(&Texts::of(std::slice::from_ref(&input)), &release, &names);
}

/// Checks that every released row is a row of the input, occurs once, and has its sensitive values.
fn check_rows(input: &Texts, release: &Texts, sensitive: &[&str]) {
    let places: HashMap<&Option<String>, usize> =
        input.column("row").iter().enumerate().map(|(place, row)| (row, place)).collect();
    let mut seen = vec![false; input.rows()];
    for (place, row) in release.column("row").iter().enumerate() {
        let origin = places[row];
        assert!(!std::mem::replace(&mut seen[origin], true), "a row comes twice");
        for name in sensitive {
            assert_eq!(release.column(name)[place], input.column(name)[origin], "a value of {name} was changed");
        }
    }
}

fn policy_text(
    choices: &mut Choices<'_>,
    folder: &Path,
    (k, p): (usize, usize),
    quasi: &[(String, Values)],
    sensitive: &[(String, Values)],
) -> String {
    let partition = choices.of(&["mondrian", "mondrian", "none", "basic-mondrian", "incognito", "mdr"]);
    let budget = choices.of(&["fast", "fast", "fast", "fast", "balanced"]);
    let cluster = choices.of(&["auto", "auto", "greedy", "enhanced-pk", "greedy-pk", "mdav", "switching", "none"]);
    let mut text = format!(
        "version = 1\ninput.location = '{0}/input'\noutput.location = '{0}/out/release'\n[privacy]\nk = {k}\n\
         p = {p}\n[algorithm]\npartition = '{partition}'\ncluster = '{cluster}'\nbudget = '{budget}'\nseed = {1}\n\
         [columns.row]\nrole = 'insensitive'\n",
        folder.display(),
        choices.byte()
    );
    for (name, values) in quasi {
        let nulls = choices.of(&["value", "suppress", "value", "error"]);
        let weight = choices.of(&["1.0", "0.25", "1e9"]);
        let how = choices.of(ways(*values));
        write!(text, "[columns.{name}]\nrole = 'quasi'\nnulls = '{nulls}'\nweight = {weight}\n{how}\n")
            .expect("text can be written");
    }
    for (name, _) in sensitive {
        write!(text, "[columns.{name}]\nrole = 'sensitive'\n").expect("text can be written");
    }
    text
}

/// Returns the possible recodings of a column.
fn ways(values: Values) -> &'static [&'static str] {
    match values {
        Words => &[
            "",
            "release = 'set'",
            "hierarchy = { mask = 'right' }",
            "hierarchy = { mask = 'left' }\nlimit = 1",
            "hierarchy = { tree = { A = ['a', 'ab', 'abc'], B = ['b', 'b1', 'b2', 'c'] } }",
            "release = 'mode'",
        ],
        Flags => &["", "release = 'set'", "release = 'mode'"],
        Days => &[
            "",
            "release = 'bounds'",
            "hierarchy = { date = ['month', 'year'] }",
            "release = 'median'",
            "release = 'mean'",
        ],
        Instants => &["", "release = 'bounds'", "hierarchy = { date = ['day', 'year'] }", "release = 'median'"],
        Integers | Small | Natural | Floats => &[
            "",
            "release = 'bounds'",
            "release = 'mean'",
            "release = 'median'",
            "hierarchy = { intervals = [5, 10, 100] }",
            "hierarchy = { width = 2, levels = 4 }",
            "limit = [0, 10]",
        ],
    }
}

fn table(choices: &mut Choices<'_>, columns: &[&(String, Values)], rows: usize) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let mut named = vec![("row".to_owned(), ids)];
    for (name, values) in columns {
        let numbers: Vec<Option<usize>> = {
            // Columns with few values and columns with nulls are as likely as others.
            let (spread, has_nulls) = (1 + choices.below(16), choices.below(3) == 0);
            let mut number = || {
                let byte = usize::from(choices.byte());
                (!has_nulls || byte % 7 > 0).then_some(byte % spread)
            };
            (0..rows).map(|_| number()).collect()
        };
        named.push((name.clone(), column(*values, &numbers)));
    }
    let field = |(name, column): &(String, ArrayRef)| Field::new(name, column.data_type().clone(), true);
    let schema = Schema::new(named.iter().map(field).collect::<Vec<_>>());
    let columns = named.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(schema), columns).expect("columns of one length")
}

fn column(values: Values, numbers: &[Option<usize>]) -> ArrayRef {
    fn of<'a, T: Copy>(list: &'a [T], numbers: &'a [Option<usize>]) -> impl Iterator<Item = Option<T>> + 'a {
        numbers.iter().map(|number| number.map(|number| list[number % list.len()]))
    }
    match values {
        Integers => Arc::new(of(&INTEGERS, numbers).collect::<Int64Array>()),
        Small => Arc::new(numbers.iter().map(|number| number.map(|number| number as i8 - 8)).collect::<Int8Array>()),
        Natural => {
            let natural = |number: &Option<usize>| number.map(|number| (number as u64).wrapping_sub(2));
            Arc::new(numbers.iter().map(natural).collect::<UInt64Array>())
        }
        Floats => Arc::new(of(&FLOATS, numbers).collect::<Float64Array>()),
        Words => Arc::new(of(&TEXTS, numbers).collect::<StringArray>()),
        Flags => Arc::new(numbers.iter().map(|number| number.map(|number| number % 2 == 1)).collect::<BooleanArray>()),
        Days => Arc::new(of(&DAYS, numbers).collect::<Date32Array>()),
        Instants => Arc::new(of(&INSTANTS, numbers).collect::<TimestampMicrosecondArray>()),
    }
}

fn write(folder: &Path, input: &RecordBatch, files: usize) {
    for name in ["input", "out"] {
        fs::create_dir(folder.join(name)).expect("a folder");
    }
    let border = |file: usize| input.num_rows() * file / files;
    for file in 0..files {
        let rows = input.slice(border(file), border(file + 1) - border(file));
        let path = folder.join(format!("input/{file}.parquet"));
        let mut writer =
            ArrowWriter::try_new(File::create(path).expect("a file"), input.schema(), None).expect("a writer");
        writer.write(&rows).expect("rows can be written");
        writer.close().expect("a file can be closed");
    }
}
