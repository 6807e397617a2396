use std::fs::File;
use std::path::Path;

use datafusion::arrow::array::StringArray;
use parquet::arrow::ArrowWriter;
use throng_policy::Overrides;

use super::*;

const POLICY: &str = "version = 1\ntable = 'one'\nprivacy = { k = 2, p = 2, unit = 'id' }\n\
    columns = { id = { role = 'identifier', release = 'pseudonym' }, q.role = 'quasi', s.role = 'sensitive' }\n\
    [tables.two]\ninput.location = 'two'\n\
    columns = { id = { role = 'identifier', release = 'pseudonym' }, q.role = 'quasi', s.role = 'sensitive' }\n";

/// Rows of a table: the number of a person, a class and a sensitive value.
type TestRows = [(u32, &'static str, &'static str)];

fn write(path: &Path, rows: &TestRows) -> FileEntry {
    // Person 0 stands for rows without an owner, and person 99 has a value that is not a pseudonym.
    let ids: StringArray = rows
        .iter()
        .map(|(id, _, _)| match id {
            0 => None,
            99 => Some("a name".to_owned()),
            id => Some(format!("{:032x}", UnitId::from(*id) << 96)),
        })
        .collect();
    let text = |of: fn(&(u32, &'static str, &'static str)) -> &'static str| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(of(row))).collect::<StringArray>())
    };
    let columns = [("id", Arc::new(ids) as ArrayRef), ("q", text(|row| row.1)), ("s", text(|row| row.2))];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let bytes = std::fs::metadata(path).unwrap().len();
    let path = path.file_name().unwrap().to_str().unwrap().to_owned();
    FileEntry { path, rows: rows.len() as u64, bytes, sha256: String::new() }
}

/// Returns the number of people, of profiles, and of people in the smallest profile, or the reason for a refusal.
async fn found(one: &TestRows, two: &TestRows) -> Result<(u64, u64, u64), &'static str> {
    let folder = tempfile::tempdir().unwrap();
    let policy = Policy::parse(POLICY, Path::new("."), &Overrides::for_a_table()).unwrap();
    let tables = policy.linked_tables();
    let files =
        [vec![write(&folder.path().join("one.parquet"), one)], vec![write(&folder.path().join("two.parquet"), two)]];
    let place = StorePath::local(folder.path()).unwrap();
    let staged: Vec<StagedTable<'_>> = tables
        .iter()
        .zip(&files)
        .map(|((_, policy), files)| StagedTable { policy, place: place.clone(), files })
        .collect();
    let (found, fault) = find_profiles(&staged, &JobOptions::default()).await.unwrap();
    assert_eq!(check_profiles(&staged, &JobOptions::default()).await.is_err(), fault.is_some());
    fault.map_or(Ok((found.people, found.profiles, found.smallest)), Err)
}

const TOO_FEW: &str = "fewer than k people have the same classes in all of their linked rows";
const NOT_TOGETHER: &str =
    "people with the same classes in all of their linked rows do not satisfy the privacy model together";

#[tokio::test]
async fn people_who_share_all_classes_are_counted_over_all_tables() {
    let one = [(1, "a", "x"), (2, "a", "y"), (3, "b", "x"), (4, "b", "y"), (0, "a", "x"), (0, "a", "y")];
    let two = [(1, "c", "x"), (2, "c", "y"), (1, "d", "x"), (2, "d", "y")];
    assert_eq!(found(&one, &two).await, Ok((4, 2, 2)));
}

#[tokio::test]
async fn tables_that_are_safe_alone_are_refused_if_their_classes_cross() {
    let one = [(1, "a", "x"), (2, "a", "y"), (3, "b", "x"), (4, "b", "y")];
    let two = [(1, "c", "x"), (3, "c", "y"), (2, "d", "x"), (4, "d", "y")];
    assert_eq!(found(&one, &two).await, Err(TOO_FEW));
}

#[tokio::test]
async fn who_is_in_a_table_and_how_often_is_part_of_a_profile() {
    let one = [(1, "a", "x"), (2, "a", "y"), (3, "a", "x")];
    assert_eq!(found(&one, &[(1, "c", "x"), (2, "c", "y")]).await, Err(TOO_FEW));
    let often = [(1, "c", "x"), (2, "c", "y"), (3, "c", "x"), (3, "c", "y")];
    assert_eq!(found(&one, &often).await, Err(TOO_FEW));
    assert_eq!(found(&one, &often[..3]).await, Ok((3, 1, 3)));
}

#[tokio::test]
async fn values_are_counted_among_those_who_share_a_profile() {
    let one = [(1, "a", "x"), (2, "a", "y"), (3, "b", "x"), (4, "b", "y")];
    // Class c has two values, but one in each profile.
    let two = [(1, "c", "x"), (2, "c", "x"), (3, "c", "y"), (4, "c", "y")];
    assert_eq!(found(&one, &two).await, Err(NOT_TOGETHER));
}

#[tokio::test]
async fn rows_of_nobody_are_counted_among_each_other() {
    let two = [(1, "c", "x"), (2, "c", "y")];
    let one = [(1, "a", "x"), (2, "a", "y"), (0, "a", "z")];
    assert_eq!(found(&one, &two).await, Err(NOT_TOGETHER));
}

#[tokio::test]
async fn an_identifier_that_is_no_pseudonym_is_refused() {
    let two = [(1, "c", "x"), (2, "c", "y")];
    let fault = found(&[(1, "a", "x"), (2, "a", "y"), (99, "a", "x")], &two).await.unwrap_err();
    assert_eq!(fault, "a pseudonym has another form than pseudonyms have");
}
