//! Files with false metadata, and unreadable files: exit code 65, the fault and the file, and no files left behind.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnChunkMetaDataBuilder, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
    RowGroupMetaData, RowGroupMetaDataBuilder,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Ended, Sandbox, assert_contains};
use crate::tables::{Draws, write_csv, write_ipc};

/// Rows per row group.
const GROUP: usize = 100;

fn write(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Creates a file with two row groups, and a policy for it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(GROUP)).build();
    write(&sandbox.path("input/people.parquet"), &people(2 * GROUP), properties);
    sandbox.policy(3, 1, COLUMNS);
    sandbox
}

/// Returns the offset of the footer.
fn footer_start(bytes: &[u8]) -> usize {
    let tail = bytes.len() - 8;
    tail - u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap()) as usize
}

/// Replaces the footer and keeps the pages.
fn write_footer(path: &Path, change: impl Fn(ParquetMetaData) -> ParquetMetaData) {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&File::open(path).unwrap()).unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes.truncate(footer_start(&bytes));
    ParquetMetaDataWriter::new(&mut bytes, &change(metadata)).finish().unwrap();
    fs::write(path, bytes).unwrap();
}

fn with_groups(
    metadata: ParquetMetaData,
    change: impl Fn(RowGroupMetaDataBuilder, &RowGroupMetaData) -> RowGroupMetaDataBuilder,
) -> ParquetMetaData {
    let groups = metadata.row_groups().to_vec();
    let changed = groups.iter().map(|group| change(group.clone().into_builder(), group).build().unwrap());
    ParquetMetaData::new(metadata.file_metadata().clone(), changed.collect())
}

fn with_chunks(
    metadata: ParquetMetaData,
    change: impl Fn(ColumnChunkMetaDataBuilder, &ColumnChunkMetaData) -> ColumnChunkMetaDataBuilder,
) -> ParquetMetaData {
    with_groups(metadata, |builder, group| {
        let changed = group.columns().iter().map(|chunk| change(chunk.clone().into_builder(), chunk).build().unwrap());
        builder.set_column_metadata(changed.collect())
    })
}

#[test]
fn a_false_footer_is_refused_by_what_is_false() {
    type Lie = fn(ParquetMetaData) -> ParquetMetaData;
    let lies: [(Lie, &str); 8] = [
        (
            |footer| with_groups(footer, |group, _| group.set_num_rows(99)),
            "another number of rows than its columns have",
        ),
        (
            |footer| with_groups(footer, |group, _| group.set_num_rows(101)),
            "another number of rows than its columns have",
        ),
        (|footer| with_groups(footer, |group, _| group.set_num_rows(-100)), "negative number of rows"),
        (|footer| with_chunks(footer, |chunk, _| chunk.set_data_page_offset(i64::MAX)), "points beyond the end"),
        (|footer| with_chunks(footer, |chunk, _| chunk.set_dictionary_page_offset(Some(-4))), "points beyond the end"),
        (|footer| with_chunks(footer, |chunk, _| chunk.set_total_compressed_size(1 << 40)), "points beyond the end"),
        (|footer| with_chunks(footer, |chunk, _| chunk.set_total_compressed_size(-1)), "points beyond the end"),
        (
            |footer| with_chunks(footer, |chunk, _| chunk.set_offset_index_offset(Some(1 << 50))),
            "points beyond the end",
        ),
    ];
    for (lie, reason) in lies {
        let sandbox = sandbox();
        write_footer(&sandbox.path("input/people.parquet"), lie);
        let message = sandbox.run_refused(65, &[]);
        assert_contains(&message, &["input/people.parquet is not readable as Parquet", reason, "write the file again"]);
        assert_eq!(sandbox.throng(&["check", "policy.toml"]).refused(65), message);
    }
}

/// Replaces the number of rows of the file, which the library computes itself: a field of type i64 with 2 x 200 in two bytes,
/// before the list of row groups.
fn declare_rows(sandbox: &Sandbox, number: [u8; 2]) {
    let mut bytes = fs::read(sandbox.path("input/people.parquet")).unwrap();
    let footer = footer_start(&bytes);
    let places: Vec<usize> =
        (footer..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(b"\x16\x90\x03\x19")).collect();
    assert_eq!(places.len(), 1, "the footer looks otherwise");
    bytes[places[0] + 1..places[0] + 3].copy_from_slice(&number);
    sandbox.write("input/people.parquet", bytes);
}

/// Early versions of the Rust library did not write the sum of rows over row groups.
#[test]
fn a_file_that_does_not_sum_up_its_rows_has_them_all_the_same() {
    let sandbox = sandbox();
    declare_rows(&sandbox, [0x80, 0]);
    assert_eq!(sandbox.run(&[])["rows"], 200);
    let external = "CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 'input/'; SELECT count(*), count(age) FROM t";
    for select in ["SELECT count(*), count(age) FROM 'input/'", external] {
        let ended = sandbox.throng(&["sql", "-c", select, "--format", "csv"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.stdout.lines().last(), Some("200,200"), "{select}");
    }
}

#[test]
fn a_file_that_tells_other_rows_than_its_row_groups_is_refused() {
    let sandbox = sandbox();
    declare_rows(&sandbox, [0x92, 0x03]);
    assert_contains(&sandbox.run_refused(65, &[]), &["another number of rows than its row groups have"]);
}

#[test]
fn an_equivalent_footer_is_accepted() {
    let sandbox = sandbox();
    write_footer(&sandbox.path("input/people.parquet"), |footer| footer);
    assert_eq!(sandbox.run(&[])["rows"], 200);
}

/// Some writers set the dictionary offset to 0, and the data page offset to that of the dictionary, which comes first.
#[test]
fn a_dictionary_at_place_0_is_one_that_comes_before_the_data() {
    let sandbox = sandbox();
    write_footer(&sandbox.path("input/people.parquet"), |footer| {
        with_chunks(footer, |builder, chunk| match chunk.dictionary_page_offset() {
            Some(first) => builder.set_data_page_offset(first).set_dictionary_page_offset(Some(0)),
            None => builder,
        })
    });
    assert_eq!(sandbox.run(&[])["rows"], 200);
}

/// A footer may be consistent and still not match its pages.
#[test]
fn pages_with_fewer_rows_than_declared_are_refused() {
    let sandbox = sandbox();
    write_footer(&sandbox.path("input/people.parquet"), |footer| {
        let footer = with_chunks(footer, |chunk, _| chunk.set_num_values(150));
        with_groups(footer, |group, _| group.set_num_rows(150))
    });
    let parts = ["input/people.parquet should have 300 rows, and 200 were read", "write the files again"];
    assert_contains(&sandbox.run_refused(65, &[]), &parts);
    assert_contains(&sandbox.throng(&["check", "policy.toml"]).refused(65), &parts);
}

#[test]
fn a_tail_that_lies_is_refused() {
    let sound = fs::read(sandbox().path("input/people.parquet")).unwrap();
    let with_tail = |length: u32, magic: &[u8]| [&sound[..sound.len() - 8], &length.to_le_bytes(), magic].concat();
    let length = (sound.len() - 8 - footer_start(&sound)) as u32;
    // A list that claims two billion row groups.
    let list = [&[0x15, 0x02, 0x39, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00][..], &10_u32.to_le_bytes()].concat();
    for (bytes, reason) in [
        (with_tail(u32::MAX, b"PAR1"), "longer than the file"),
        (with_tail(sound.len() as u32, b"PAR1"), "longer than the file"),
        (with_tail(sound.len() as u32 - 7, b"PAR1"), "longer than the file"),
        (with_tail(sound.len() as u32 - 8, b"PAR1"), "footer can't be decoded"),
        (with_tail(0, b"PAR1"), "footer is damaged"),
        (with_tail(length - 1, b"PAR1"), "footer can't be decoded"),
        (with_tail(length, b"PAR2"), "footer is damaged or missing"),
        (with_tail(length, b"PARE"), "footer is encrypted"),
        ([&b"PAR1"[..], &list, b"PAR1"].concat(), "footer is damaged"),
        (b"PAR1".to_vec(), "truncated"),
        (b"PAR1PAR1".to_vec(), "longer than the file"),
    ] {
        let sandbox = sandbox();
        sandbox.write("input/people.parquet", bytes);
        assert_contains(&sandbox.run_refused(65, &[]), &["input/people.parquet is not readable as Parquet", reason]);
    }
}

#[test]
fn encrypted_files_are_refused_as_such() {
    for (file, reason) in [
        (&include_bytes!("files/encrypted-footer.parquet")[..], "its footer is encrypted"),
        (include_bytes!("files/encrypted-column.parquet"), "some of its columns are encrypted"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("input/people.parquet", file);
        sandbox.policy(3, 1, "[columns.age]\nrole = \"quasi\"\n[columns.name]\nrole = \"identifier\"");
        assert_contains(&sandbox.run_refused(65, &[]), &["input/people.parquet", reason, "not supported"]);
    }
}

/// Asserts that a file with random changes gives a release or an error of the data, and never a panic.
fn assert_withstood(sandbox: &Sandbox, name: &str, bytes: &[u8], draws: &mut Draws) {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + draws.below(6) {
        let place = draws.below(bytes.len() as u64) as usize;
        bytes[place] = draws.below(256) as u8;
    }
    if draws.below(4) == 0 {
        bytes.drain(bytes.len() / 2..bytes.len() / 2 + draws.below(40) as usize);
    }
    sandbox.write(&format!("input/{name}"), bytes);
    let ended: Ended = sandbox.throng(&["run", "policy.toml", "--overwrite", "-vv"]);
    assert!(matches!(ended.code, Some(0 | 65 | 78)), "{name}: {ended:?}");
    assert!(!ended.said().contains("internal error") && !ended.said().contains("panicked"), "{ended:?}");
    assert!(sandbox.out().iter().all(|name| name == "release"), "{:?}", sandbox.out());
}

#[test]
fn damaged_files_of_every_kind_are_withstood() {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let mut draws = Draws::new(11);
    for (name, version, compression, dictionary) in [
        ("plain.parquet", WriterVersion::PARQUET_1_0, Compression::UNCOMPRESSED, false),
        ("snappy.parquet", WriterVersion::PARQUET_1_0, Compression::SNAPPY, true),
        ("second.parquet", WriterVersion::PARQUET_2_0, zstd, false),
        ("people.arrow", WriterVersion::PARQUET_1_0, zstd, true),
        ("people.csv", WriterVersion::PARQUET_1_0, zstd, true),
    ] {
        let sandbox = Sandbox::new();
        let path = sandbox.path("input").join(name);
        match path.extension().unwrap().to_str() {
            Some("arrow") => write_ipc(&path, &people(60)),
            Some("csv") => write_csv(&path, &people(60)),
            _ => {
                let properties = WriterProperties::builder()
                    .set_writer_version(version)
                    .set_compression(compression)
                    .set_dictionary_enabled(dictionary);
                write(&path, &people(60), properties.build());
            }
        }
        sandbox.policy(3, 1, COLUMNS);
        let sound = fs::read(&path).unwrap();
        for _ in 0..8 {
            assert_withstood(&sandbox, name, &sound, &mut draws);
        }
    }
}

/// Writes a text column whose bytes are not UTF-8.
fn write_broken_text(path: &Path) {
    let schema = parse_message_type("message people { required int64 age; required binary city (UTF8); }").unwrap();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[1, 2, 3, 4], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let cities = [&b"Rome"[..], b"\xff\xfe", b"Oslo", b"Rome"].map(|city| ByteArray::from(city.to_vec()));
    column.typed::<ByteArrayType>().write_batch(&cities, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn text_that_is_not_utf_8_is_refused_wherever_it_is_read() {
    let columns = |role: &str| format!("[columns.age]\nrole = \"quasi\"\n[columns.city]\nrole = \"{role}\"\n");
    let csv = b"age,city\n1,Rome\n2,\xff\xfe\n3,Oslo\n4,Rome\n";
    for role in ["quasi", "sensitive", "insensitive"] {
        let sandbox = Sandbox::new();
        write_broken_text(&sandbox.path("input/people.parquet"));
        sandbox.policy(2, 1, &columns(role));
        assert_contains(&sandbox.run_refused(65, &[]), &["input/people.parquet", "not readable as Parquet"]);
        fs::remove_file(sandbox.path("input/people.parquet")).unwrap();
        sandbox.write("input/people.csv", csv);
        assert_contains(&sandbox.run_refused(65, &[]), &["input/people.csv", "line 3", "UTF-8"]);
    }
    // Columns that are not read may hold anything.
    let sandbox = Sandbox::new();
    write_broken_text(&sandbox.path("input/people.parquet"));
    sandbox.policy(2, 1, &columns("identifier"));
    assert_eq!(sandbox.run(&[])["rows"], 4);
}
