//! Files written by other programs that Throng can't release, and files on which a decoder panics: refused by name in
//! every command that reads them, before anything is released.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, FixedSizeBinaryArray, FixedSizeListArray, Int32Array, Int64Array,
    RecordBatch, RunArray, StringArray, Time32SecondArray, TimestampSecondArray,
};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::{DataType, Field, Int32Type, TimestampMillisecondType};
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow::ipc::{CompressionType, Endianness, Footer, MetadataVersion, root_as_footer, root_as_message};
use parquet::basic::{Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;

use crate::release_files::read;
use crate::sandbox::{Ended, Sandbox, assert_contains};
use crate::tables::{table, texts, write_ipc};

const BUILDER: &str = "mask = \"right\"";
const AGE: &str = "[columns.age]\nrole = \"quasi\"\n";

fn ages(rows: i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(0..rows))
}

/// A sandbox with `age` and another column in an Arrow file, and a policy that keeps the other column.
fn beside_age(name: &str, column: ArrayRef) -> Sandbox {
    let sandbox = Sandbox::new();
    write_ipc(&sandbox.path("input/people.arrow"), &table(vec![("age", ages(column.len() as i64)), (name, column)]));
    sandbox.policy(2, 1, &format!("{AGE}[columns.{name}]\nrole = \"insensitive\"\n"));
    sandbox
}

/// Every command that reads a table ends with 65 and this message.
fn assert_refused_everywhere(sandbox: &Sandbox, file: &str, column: &str, parts: &[&str]) {
    assert_contains(&sandbox.run_refused(65, &[]), parts);
    let select = format!("SELECT {column}, count(*) FROM '{file}' GROUP BY {column} ORDER BY {column}");
    let of_format = if file.ends_with("arrow") { "ARROW" } else { "PARQUET" };
    let external =
        format!("CREATE EXTERNAL TABLE t STORED AS {of_format} LOCATION '{file}'; SELECT max({column}) FROM t");
    for arguments in [
        &["check", "policy.toml"][..],
        &["init", file, "-o", "drafted.toml"],
        &["risk", file, "--quasi", column],
        &["verify", file, "--quasi", column, "--k", "2"],
        &["hierarchy", "make", file, "--column", column, "--builder", BUILDER, "-o", "ages.csv"],
        &["sql", "-c", &select],
        &["sql", "-c", &external],
    ] {
        let ended: Ended = sandbox.throng(arguments);
        assert_eq!(ended.code, Some(65), "{arguments:?}: {ended:?}");
        assert_contains(&ended.stderr, parts);
        assert!(!ended.said().contains("internal error") && !ended.said().contains("panicked"), "{ended:?}");
    }
}

/// Declares in a stream that its numbers are big-endian. The field is omitted if it has its default, so its slot in the
/// schema table is pointed at another number that is one: the length of the name `x`.
fn declare_big_endian(stream: &mut [u8]) {
    let metadata = 8 + i32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize;
    let message = &mut stream[8..metadata];
    let at = |message: &[u8], place: usize| i32::from_le_bytes(message[place..place + 4].try_into().unwrap());
    let slot = |message: &[u8], place: usize| usize::from(u16::from_le_bytes([message[place], message[place + 1]]));
    let root = at(message, 0) as usize;
    let fields = (root as i32 - at(message, root)) as usize;
    let header = root + slot(message, fields + 8);
    let schema = header + at(message, header) as usize;
    let fields = (schema as i32 - at(message, schema)) as usize;
    assert_eq!(slot(message, fields + 4), 0, "the order of bytes is declared");
    let mut places =
        (schema..message.len() - 5).step_by(4).filter(|place| message[*place..*place + 5] == *b"\x01\0\0\0x");
    let one = (places.next().unwrap() - schema) as u16;
    message[fields + 4..fields + 6].copy_from_slice(&one.to_le_bytes());
    let declared = root_as_message(message).unwrap().header_as_schema().unwrap().endianness();
    assert_eq!(declared, Endianness::Big);
}

fn write_stream(path: &Path, batch: &RecordBatch) {
    let mut writer = StreamWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

#[test]
fn big_endian_streams_are_refused_and_not_read_as_little_endian() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("input/people.arrow");
    write_stream(&path, &table(vec![("age", ages(12)), ("x", ages(12))]));
    sandbox.policy(2, 1, &format!("{AGE}[columns.x]\nrole = \"insensitive\"\n"));
    assert_eq!(sandbox.run(&["--output", "out/little"])["rows"], 12);
    let mut stream = fs::read(&path).unwrap();
    declare_big_endian(&mut stream);
    // Bytes that look like the end of a file do not turn a stream into a file.
    for end in [&b""[..], b"\x10\0\0\0ARROW1"] {
        fs::write(&path, [&stream, end].concat()).unwrap();
        assert_refused_everywhere(&sandbox, "input/people.arrow", "age", &["input/people.arrow", "big-endian"]);
    }
}

#[test]
fn arrow_data_that_declares_more_than_the_file_has_is_refused_before_memory_is_asked_for() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("input/people.arrow");
    let rows = table(vec![("age", ages(40)), ("x", ages(40))]);
    sandbox.policy(2, 1, &format!("{AGE}[columns.x]\nrole = \"insensitive\"\n"));
    for write in [write_ipc, write_stream] {
        write(&path, &rows);
        sandbox.run(&["--output", "out/whole"]);
        fs::remove_dir_all(sandbox.path("out/whole")).unwrap();
        let whole = fs::read(&path).unwrap();
        // The length of the values of both columns is in the footer of a file, and in the last message of a stream.
        let length = body_length(&whole).to_le_bytes();
        let at = whole.windows(8).rposition(|bytes| bytes == length).unwrap();
        for declared in [1_i64 << 54, i64::MAX, whole.len() as i64, -1] {
            let mut damaged = whole.clone();
            damaged[at..at + 8].copy_from_slice(&declared.to_le_bytes());
            fs::write(&path, damaged).unwrap();
            let parts = ["input/people.arrow is damaged", "more data than the file has"];
            assert_refused_everywhere(&sandbox, "input/people.arrow", "age", &parts);
        }
        if whole.starts_with(b"ARROW1") {
            // The length of the metadata precedes that of the values.
            let mut damaged = whole.clone();
            damaged[at - 8..at].fill(0);
            fs::write(&path, damaged).unwrap();
            let parts = ["input/people.arrow is damaged", "has no description"];
            assert_refused_everywhere(&sandbox, "input/people.arrow", "age", &parts);
        }
    }
}

#[test]
fn compressed_arrow_data_that_declares_more_than_it_holds_is_refused_before_memory_is_asked_for() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("input/people.arrow");
    let rows = table(vec![("age", ages(4000)), ("x", ages(4000))]);
    sandbox.policy(2, 1, &format!("{AGE}[columns.x]\nrole = \"insensitive\"\n"));
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        for is_file in [true, false] {
            let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
            let (file, schema) = (File::create(&path).unwrap(), rows.schema());
            if is_file {
                let mut writer = FileWriter::try_new_with_options(file, &schema, options).unwrap();
                writer.write(&rows).unwrap();
                writer.finish().unwrap();
            } else {
                let mut writer = StreamWriter::try_new_with_options(file, &schema, options).unwrap();
                writer.write(&rows).unwrap();
                writer.finish().unwrap();
            }
            assert_eq!(sandbox.run(&["--output", "out/whole"])["rows"], 4000);
            fs::remove_dir_all(sandbox.path("out/whole")).unwrap();
            // The decoded length of the values of a column precedes them.
            let whole = fs::read(&path).unwrap();
            let at = whole.windows(8).position(|bytes| bytes == 32_000_i64.to_le_bytes()).unwrap();
            for declared in [1_i64 << 54, i64::MAX, 1 << 40] {
                let mut damaged = whole.clone();
                damaged[at..at + 8].copy_from_slice(&declared.to_le_bytes());
                fs::write(&path, damaged).unwrap();
                let parts = ["input/people.arrow is damaged", "more data than the file has"];
                assert_refused_everywhere(&sandbox, "input/people.arrow", "age", &parts);
            }
        }
    }
}

/// Returns the length of the data of the first record batch of an Arrow file or stream.
fn body_length(bytes: &[u8]) -> i64 {
    // The magic bytes before the first message of a file are followed by padding.
    let mut at = bytes.windows(4).position(|marker| marker == [0xff; 4]).unwrap();
    loop {
        let length = i32::from_le_bytes(*bytes[at + 4..].first_chunk().unwrap()) as usize;
        let message = root_as_message(&bytes[at + 8..at + 8 + length]).unwrap();
        if message.header_as_record_batch().is_some() {
            return message.bodyLength();
        }
        at += 8 + length + message.bodyLength() as usize;
    }
}

#[test]
fn times_beyond_milliseconds_are_refused_and_never_become_null() {
    let largest = i64::MAX / 1000;
    let sandbox =
        beside_age("seen", Arc::new(TimestampSecondArray::from(vec![Some(largest), None, Some(1), Some(-1)])));
    sandbox.run(&[]);
    let released = read(&sandbox.release());
    let seen = released.column_by_name("seen").unwrap().as_primitive::<TimestampMillisecondType>();
    let mut values: Vec<Option<i64>> = seen.iter().collect();
    values.sort_unstable();
    assert_eq!(values, [None, Some(-1000), Some(1000), Some(largest * 1000)]);
    for column in [
        Arc::new(TimestampSecondArray::from(vec![largest + 1, 1, 2, 3])) as ArrayRef,
        Arc::new(TimestampSecondArray::from(vec![1, 2, i64::MIN, 3])),
        Arc::new(Time32SecondArray::from(vec![1, 2, 3, i32::MAX])),
    ] {
        let message = beside_age("seen", column).run_refused(65, &[]);
        assert_contains(&message, &["column `seen`", "values that a release can't hold"]);
    }
}

#[test]
fn decimals_with_more_digits_than_their_type_are_refused() {
    let money =
        Decimal128Array::from(vec![1, 99_999, 100_000, 10_i128.pow(30)]).with_precision_and_scale(5, 2).unwrap();
    let message = beside_age("money", Arc::new(money.clone())).run_refused(65, &[]);
    assert_contains(&message, &["column `money` is Decimal128(5, 2)", "values that a release can't hold"]);
    assert_eq!(beside_age("money", Arc::new(money.slice(0, 2))).run(&[])["rows"], 2);
}

#[test]
fn run_end_encoded_columns_are_carried() {
    let ends = Int32Array::from(vec![3, 8, 12]);
    let runs =
        |values: &dyn Array| -> ArrayRef { RunArray::<Int32Type>::try_new(&ends, values).map(Arc::new).unwrap() };
    let values: [ArrayRef; 3] = [
        Arc::new(Int64Array::from(vec![Some(7), None, Some(9)])),
        Arc::new(StringArray::from(vec![Some("a"), None, Some("c")])),
        Arc::new(Decimal128Array::from(vec![1, 2, 3]).with_precision_and_scale(5, 2).unwrap()),
    ];
    for values in values {
        let sandbox = beside_age("other", runs(&values));
        sandbox.run(&[]);
        let released = read(&sandbox.release());
        let mut found = texts(released.column_by_name("other").unwrap());
        let at = |run: usize, rows: usize| vec![texts(&values)[run].clone(); rows];
        let mut expected = [at(0, 3), at(1, 5), at(2, 4)].concat();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn run_end_encoded_columns_of_other_roles_are_released_or_refused_by_name() {
    let values = Int64Array::from(vec![7, 8, 9]);
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![3, 8, 12]), &values).unwrap();
    for role in ["quasi", "sensitive"] {
        let sandbox = beside_age("other", Arc::new(runs.clone()));
        sandbox.policy(2, 1, &format!("{AGE}[columns.other]\nrole = \"{role}\"\n"));
        let ended = sandbox.throng(&["run", "policy.toml"]);
        if ended.code != Some(0) {
            assert!(matches!(ended.code, Some(65 | 78)), "{ended:?}");
            assert_contains(&ended.stderr, &["other"]);
        }
    }
}

#[test]
fn columns_that_can_not_be_carried_are_refused_by_name() {
    let nothing = FixedSizeBinaryArray::try_new_with_len(0, Buffer::from_vec(Vec::<u8>::new()), None, 12).unwrap();
    let message = beside_age("other", Arc::new(nothing)).run_refused(78, &[]);
    assert_contains(&message, &["column `other` is FixedSizeBinary(0)", "identifier"]);
    let item = Arc::new(Field::new_list_field(DataType::Int32, true));
    let valid = NullBuffer::new_valid(12);
    let nothing = FixedSizeListArray::new(item, 0, Arc::new(Int32Array::from(Vec::<i32>::new())), Some(valid));
    let message = beside_age("other", Arc::new(nothing)).run_refused(78, &[]);
    assert_contains(&message, &["column `other` is FixedSizeList(0", "identifier"]);
}

/// Four texts, all except the first with a length of -1. The decoder adds it to an offset and slices out of bounds.
fn write_negative_lengths(path: &Path) {
    let schema = parse_message_type("message people { required int64 age; required binary city (UTF8); }").unwrap();
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let properties = properties.set_column_encoding("city".into(), Encoding::DELTA_BYTE_ARRAY).build();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[1, 2, 3, 4], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let cities = ["Rome", "Oslo", "Bern", "Nice"].map(ByteArray::from);
    column.typed::<ByteArrayType>().write_batch(&cities, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&File::open(path).unwrap()).unwrap();
    let page = metadata.row_group(0).column(1).data_page_offset() as usize;
    let mut bytes = fs::read(path).unwrap();
    // Four lengths, the first of them 4, and a difference of 0 to the next; it becomes one of -5.
    let at = bytes[page..].windows(3).position(|window| window == [4, 8, 0]).expect("the page looks otherwise");
    bytes[page + at + 2] = 9;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_panic_of_a_decoder_is_a_fault_of_the_file_in_every_command() {
    let sandbox = Sandbox::new();
    write_negative_lengths(&sandbox.path("input/people.parquet"));
    sandbox.policy(2, 1, "[columns]\nage.role = \"insensitive\"\ncity.role = \"quasi\"\n");
    let parts = ["input/people.parquet is not readable: it is damaged", "write the file again"];
    assert_refused_everywhere(&sandbox, "input/people.parquet", "city", &parts);
}

/// Writes `age` in three row groups, of which one has no rows, beside these columns of other types.
fn write_groups(path: &Path, others: Vec<Type>) {
    let age = Type::primitive_type_builder("age", PhysicalType::INT64).build().unwrap();
    let fields = [age].into_iter().chain(others).map(Arc::new).collect();
    let schema = Type::group_type_builder("schema").with_fields(fields).build().unwrap();
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), Arc::new(schema), Default::default()).unwrap();
    for ages in [&[31_i64, 31, 42, 42][..], &[], &[42, 31]] {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(ages, Some(&vec![1; ages.len()]), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn a_row_group_without_rows_is_read_as_such() {
    let sandbox = Sandbox::new();
    write_groups(&sandbox.path("input/people.parquet"), vec![]);
    sandbox.policy(2, 1, AGE);
    assert_eq!(sandbox.run(&[])["rows"], 6);
    for arguments in [
        &["init", "input/", "-o", "drafted.toml"][..],
        &["risk", "input/", "--quasi", "age"],
        &["verify", "input/", "--quasi", "age", "--k", "3"],
        &["sql", "-c", "SELECT age, count(*) FROM 'input/' GROUP BY age ORDER BY age"],
    ] {
        let ended = sandbox.throng(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    }
}

#[test]
fn a_group_without_fields_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let nothing = Type::group_type_builder("nothing").with_repetition(Repetition::OPTIONAL).build().unwrap();
    write_groups(&sandbox.path("input/people.parquet"), vec![nothing]);
    sandbox.policy(2, 1, &format!("[columns]\ndefault = \"drop\"\n{AGE}"));
    let parts = ["people.parquet has a column `nothing`", "without fields"];
    assert_contains(&sandbox.run_refused(65, &[]), &parts);
    let ended = sandbox.throng(&["sql", "-c", "SELECT * FROM 'input/'"]);
    assert_eq!(ended.code, Some(65), "{ended:?}");
    assert_contains(&ended.stderr, &parts);
}

/// Repeated fields without an annotation are lists, as the format specifies.
#[test]
fn repeated_fields_without_an_annotation_are_lists() {
    let schema =
        "message people { required int64 age; repeated int64 visits; required group home { required int64 house; } }";
    let sandbox = Sandbox::new();
    let file = File::create(sandbox.path("input/people.parquet")).unwrap();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    // Levels of the rows [5, 6], [], [7], [].
    let (definitions, repetitions) = ([1, 1, 0, 1, 0], [0, 1, 0, 0, 0]);
    let mut write = |values: &[i64], are_lists: bool| {
        let levels = are_lists.then_some((&definitions[..], &repetitions[..])).unzip();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(values, levels.0, levels.1).unwrap();
        column.close().unwrap();
    };
    write(&[1, 1, 2, 2], false);
    write(&[5, 6, 7], true);
    write(&[3, 4, 5, 6], false);
    group.close().unwrap();
    writer.close().unwrap();
    sandbox.policy(2, 1, &format!("{AGE}[columns]\nvisits.role = \"insensitive\"\nhome.role = \"insensitive\"\n"));
    sandbox.run(&[]);
    let released = read(&sandbox.release());
    let mut visits = texts(released.column_by_name("visits").unwrap());
    visits.sort();
    assert_eq!(visits, ["[5, 6]", "[7]", "[]", "[]"].map(|visits| Some(visits.to_owned())));
}

/// The version of the format before the present one, which differs in unions only.
#[test]
fn arrow_files_of_the_version_before_are_read() {
    let rows = table(vec![("age", ages(12)), ("other", ages(12))]);
    let version = IpcWriteOptions::try_new(8, false, MetadataVersion::V4).unwrap();
    let sandbox = Sandbox::new();
    sandbox.policy(2, 1, &format!("{AGE}[columns.other]\nrole = \"insensitive\"\n"));
    let path = sandbox.path("input/people.arrow");
    for is_stream in [false, true] {
        let file = File::create(&path).unwrap();
        if is_stream {
            let mut writer = StreamWriter::try_new_with_options(file, &rows.schema(), version.clone()).unwrap();
            writer.write(&rows).unwrap();
            writer.finish().unwrap();
        } else {
            let mut writer = FileWriter::try_new_with_options(file, &rows.schema(), version.clone()).unwrap();
            writer.write(&rows).unwrap();
            writer.finish().unwrap();
        }
        sandbox.run(&["--overwrite"]);
        let others = texts(read(&sandbox.release()).column_by_name("other").unwrap());
        let others: BTreeSet<Option<String>> = others.into_iter().collect();
        assert_eq!(others, (0..12).map(|other| Some(other.to_string())).collect());
    }
    // pyarrow writes its own current version into the footer, regardless of that of the batches.
    let mut writer = FileWriter::try_new_with_options(File::create(&path).unwrap(), &rows.schema(), version).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    let mut file = fs::read(&path).unwrap();
    let version = root_as_footer(footer_of(&file)).unwrap()._tab;
    let place = version.vtable().get(Footer::VT_VERSION) as usize + version.loc();
    let footer = file.len() - 10 - footer_of(&file).len();
    assert_eq!(file[footer + place..][..2], [3, 0]);
    file[footer + place] = 4;
    fs::write(&path, file).unwrap();
    fs::remove_dir_all(sandbox.release()).unwrap();
    assert_refused_everywhere(&sandbox, "input/people.arrow", "age", &["input/people.arrow", "different versions"]);
}

/// Returns the footer of an Arrow file.
fn footer_of(file: &[u8]) -> &[u8] {
    let end = file.len() - 10;
    let length = u32::from_le_bytes(*file[end..].first_chunk().unwrap());
    &file[end - length as usize..end]
}
