//! Runs each check of the suite on a leak, which it must detect.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch};
use arrow::datatypes::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};

use super::order::order_leaks;
use super::search::{Audience, NUMBERS, Seen, leaks, published};
use super::statistics::metadata_besides;
use crate::sandbox::Sandbox;
use crate::tables::{Draws, strings, table};

/// Writer properties of a release.
fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by("throng 0.0.0".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
}

fn write(sandbox: &Sandbox, name: &str, batch: &RecordBatch, properties: WriterProperties) -> PathBuf {
    let path = sandbox.path("out").join(name);
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    path
}

fn rows(text: &str) -> RecordBatch {
    let numbers = Int64Array::from_iter_values(0..50);
    table(vec![("text", strings((0..50).map(|row| format!("{text} {row}")))), ("number", Arc::new(numbers))])
}

#[test]
fn canaries_in_compressed_pages_are_caught() {
    let sandbox = Sandbox::new();
    let hidden = rows("a canary-identifier among a hundred words that compress well and well and well");
    let path = write(
        &sandbox,
        "part-0.parquet",
        &hidden,
        properties().set_statistics_enabled(EnabledStatistics::None).build(),
    );
    assert!(!fs::read(&path).unwrap().windows(17).any(|bytes| bytes == b"canary-identifier"), "nothing is hidden");
    assert_eq!(leaks(&published(&sandbox.path("out"))), ["identifier in pages of part-0.parquet"]);
}

#[test]
fn numbers_are_caught_as_bytes_and_as_text() {
    let sandbox = Sandbox::new();
    let number = NUMBERS[0].1.start + 7;
    let batch = table(vec![("number", Arc::new(Int64Array::from(vec![number; 20])))]);
    let plain = properties().set_dictionary_enabled(false).set_statistics_enabled(EnabledStatistics::None).build();
    write(&sandbox, "part-0.parquet", &batch, plain);
    sandbox.write("out/notes.json", format!("{{\"rows\":{number}}}"));
    let found = leaks(&published(&sandbox.path("out")));
    for place in ["number in notes.json", "number in pages of part-0.parquet"] {
        assert!(found.contains(&place.to_owned()), "{found:?}");
    }
    sandbox.write("out/notes.json", format!("{{\"rows\":1{number}}}"));
    let found = leaks(&published(&sandbox.path("out")));
    assert!(found.iter().all(|found| !found.contains("notes")), "another number is no canary: {found:?}");
}

#[test]
fn canaries_in_metadata_statistics_and_names_are_caught() {
    let sandbox = Sandbox::new();
    let pair = KeyValue::new("comment".to_owned(), "canary-field".to_owned());
    write(&sandbox, "part-0.parquet", &rows("x"), properties().set_key_value_metadata(Some(vec![pair])).build());
    write(&sandbox, "part-1.parquet", &rows("x"), properties().set_created_by("canary-creator".to_owned()).build());
    write(&sandbox, "canary-file.parquet", &rows("x"), properties().build());
    let found = leaks(&published(&sandbox.path("out")));
    for place in ["file in the name canary-file.parquet", "field in part-0.parquet", "creator in part-1.parquet"] {
        assert!(found.contains(&place.to_owned()), "{found:?}");
    }
}

#[test]
fn what_rows_may_show_is_caught_in_documents_and_logs() {
    let seen =
        |audience| [Seen { name: "it".to_owned(), audience, bytes: b"is canary-sensitive in a canary-folder".into() }];
    assert_eq!(leaks(&seen(Audience::Rows)), ["folder in it"]);
    assert_eq!(leaks(&seen(Audience::Documents)), ["folder in it", "sensitive in it"]);
    assert_eq!(leaks(&seen(Audience::Operator)), ["sensitive in it"]);
}

#[test]
fn orders_that_tell_are_caught() {
    let mut draws = Draws::new(5);
    let shuffled = |draws: &mut Draws, mut list: Vec<usize>| {
        for last in (1..list.len()).rev() {
            list.swap(last, draws.below(last as u64 + 1) as usize);
        }
        list
    };
    const ROWS: usize = 20_000;
    let random = shuffled(&mut draws, (0..ROWS).collect());
    let classes: Vec<usize> = (0..ROWS).map(|place| place / 8).collect();
    assert_eq!(order_leaks(&random, &classes), Vec::<String>::new());

    let says = |found: Vec<String>, what: &str| assert!(found.iter().any(|found| found.contains(what)), "{found:?}");
    says(order_leaks(&(0..ROWS).collect::<Vec<_>>(), &classes), "the release is in the order");
    says(order_leaks(&(0..ROWS).rev().collect::<Vec<_>>(), &classes), "the release is in the order");
    // A tendency is enough: every row stays within its fifth of the table.
    let fifths: Vec<usize> =
        (0..5).flat_map(|fifth| shuffled(&mut draws, (fifth * ROWS / 5..(fifth + 1) * ROWS / 5).collect())).collect();
    says(order_leaks(&fifths, &classes), "the release is in the order");
    // Classes in any order, and the rows of each in input order.
    let mut sorted = random.clone();
    sorted.chunks_mut(8).for_each(<[usize]>::sort_unstable);
    says(order_leaks(&sorted, &classes), "classes are in the order");
    // In every second class the rows are in input order.
    let mut some = random;
    some.chunks_mut(8).step_by(2).for_each(<[usize]>::sort_unstable);
    says(order_leaks(&some, &classes), "classes are in the order");
    // Slices of the input in any order.
    let pieces = shuffled(&mut draws, (0..ROWS / 10).collect());
    let pieced: Vec<usize> = pieces.into_iter().flat_map(|piece| piece * 10..piece * 10 + 10).collect();
    says(order_leaks(&pieced, &classes), "follow the row");
}

#[test]
fn files_that_tell_more_than_their_rows_are_caught() {
    let sandbox = Sandbox::new();
    let sound = write(&sandbox, "sound.parquet", &rows("x"), properties().build());
    assert_eq!(metadata_besides(&sound), Vec::<String>::new());
    let pair = KeyValue::new("origin".to_owned(), "elsewhere".to_owned());
    let noted = write(&sandbox, "a.parquet", &rows("x"), properties().set_key_value_metadata(Some(vec![pair])).build());
    assert_eq!(metadata_besides(&noted), ["the metadata key origin", "metadata of the schema"]);
    let schema = Schema::new_with_metadata(
        rows("x").schema().fields().clone(),
        HashMap::from([("origin".to_owned(), "canary-schema".to_owned())]),
    );
    let packed = RecordBatch::try_new(Arc::new(schema), rows("x").columns().to_vec()).unwrap();
    let packed = write(&sandbox, "packed.parquet", &packed, properties().build());
    assert!(metadata_besides(&packed).contains(&"metadata of the schema".to_owned()));
    assert!(leaks(&published(&sandbox.path("out"))).contains(&"schema in the schema of packed.parquet".to_owned()));
    let foreign = write(&sandbox, "b.parquet", &rows("x"), properties().set_created_by("spark".to_owned()).build());
    assert_eq!(metadata_besides(&foreign), ["another creator"]);
    let bloom = write(&sandbox, "c.parquet", &rows("x"), properties().set_bloom_filter_enabled(true).build());
    assert_eq!(metadata_besides(&bloom), ["a bloom filter of text", "a bloom filter of number"]);
    let paged = properties().set_statistics_enabled(EnabledStatistics::Page).set_offset_index_disabled(false).build();
    assert_eq!(metadata_besides(&write(&sandbox, "d.parquet", &rows("x"), paged)), ["statistics of pages"]);
}

/// The rows of one file under the footer of another, as written by a writer that keeps statistics of the input.
#[test]
fn statistics_of_other_rows_are_caught() {
    let sandbox = Sandbox::new();
    let batch = |first: i64| table(vec![("number", Arc::new(Int64Array::from_iter_values(first..first + 50)))]);
    let plain = || properties().set_dictionary_enabled(false).set_compression(Compression::UNCOMPRESSED).build();
    let shown = fs::read(write(&sandbox, "shown.parquet", &batch(1000), plain())).unwrap();
    let known = fs::read(write(&sandbox, "known.parquet", &batch(5000), plain())).unwrap();
    assert_eq!(shown.len(), known.len());
    let footer = u32::from_le_bytes(known[known.len() - 8..known.len() - 4].try_into().unwrap()) as usize;
    let border = known.len() - 8 - footer;
    sandbox.write("out/mixed.parquet", [&shown[..border], &known[border..]].concat());
    let traces = metadata_besides(&sandbox.path("out/mixed.parquet"));
    assert_eq!(traces, ["an extreme of number that is no value of it"; 2]);
}
