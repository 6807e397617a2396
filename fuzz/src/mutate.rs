//! Valid files of every format, and seeded damage to them: to footers, page headers, offsets, dictionaries and messages,
//! and to anything in between.
//!
//! The same seed produces the same file, so a finding is reproducible from its seed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Int32Type, Int64Type};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use throng_policy::{Overrides, Policy};

use super::file::POLICY;
use super::job::{Texts, released_or_kind};
use super::read::{check_init, check_risk, check_sql, check_verify};

/// Columns that are released unchanged.
const KEPT: [&str; 7] = ["weight", "born", "cents", "flag", "photo", "visits", "address"];

const ROWS: i64 = 120;

/// A valid file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the file, with the extension of its format.
    pub name: &'static str,
    /// Content.
    pub bytes: Vec<u8>,
    /// Ranges of structural metadata: footers, headers, messages.
    structure: Vec<Range<usize>>,
}

fn people() -> RecordBatch {
    let rows = || 0..ROWS;
    let text = |values: Vec<String>| Arc::new(StringArray::from(values)) as ArrayRef;
    let cities = StringArray::from_iter_values((0..7).map(|city| format!("city {city}")));
    let city = Int32Array::from_iter_values(rows().map(|row| (row * 3 % 7) as i32));
    let visits = rows().map(|row| (row % 9 != 4).then(|| (0..row % 4).map(Some).collect::<Vec<_>>()));
    let street = text(rows().map(|row| format!("street {}", row % 11)).collect());
    let house: ArrayRef = Arc::new(Int64Array::from_iter(rows().map(|row| (row % 5 != 0).then_some(row))));
    let address = StructArray::try_from(vec![("street", street), ("house", house)]).expect("two columns");
    let cents = Decimal128Array::from_iter_values(rows().map(|row| i128::from(row) * 12_345));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("age", Arc::new(Int64Array::from_iter(rows().map(|row| (row % 31 != 7).then_some(20 + row * 7 % 60))))),
        ("city", Arc::new(DictionaryArray::<Int32Type>::new(city, Arc::new(cities)))),
        ("illness", text(rows().map(|row| format!("illness {}", row % 6)).collect())),
        ("weight", Arc::new(Float64Array::from_iter_values(rows().map(|row| 50.0 + row as f64 / 3.0)))),
        ("born", Arc::new(TimestampMicrosecondArray::from_iter_values(rows().map(|row| row * 86_400_000_000)))),
        ("cents", Arc::new(cents.with_precision_and_scale(20, 2).expect("a precision"))),
        ("flag", Arc::new(BooleanArray::from_iter(rows().map(|row| (row % 13 != 0).then_some(row % 2 == 0))))),
        ("photo", Arc::new(BinaryArray::from_iter_values(rows().map(|row| vec![row as u8; (row % 40) as usize])))),
        ("visits", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(visits))),
        ("address", Arc::new(address)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .expect("columns of one length")
}

/// Returns valid files: Parquet with every encoding, compression and page version, Arrow files and streams, CSV.
pub fn sources() -> Vec<Source> {
    let people = people();
    let plain = || WriterProperties::builder().set_max_row_group_row_count(Some(50));
    let second = || plain().set_writer_version(WriterVersion::PARQUET_2_0);
    let encoded = |encoding| second().set_dictionary_enabled(false).set_encoding(encoding);
    let properties = [
        plain(),
        plain().set_dictionary_enabled(false).set_statistics_enabled(EnabledStatistics::None),
        plain().set_compression(Compression::SNAPPY).set_statistics_enabled(EnabledStatistics::Page),
        plain().set_compression(Compression::ZSTD(ZstdLevel::default())).set_data_page_row_count_limit(10),
        second().set_compression(Compression::LZ4_RAW),
        second().set_statistics_enabled(EnabledStatistics::Page).set_data_page_row_count_limit(7),
        encoded(Encoding::PLAIN)
            .set_column_encoding("age".into(), Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding("illness".into(), Encoding::DELTA_BYTE_ARRAY)
            .set_column_encoding("photo".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
            .set_column_encoding("weight".into(), Encoding::BYTE_STREAM_SPLIT),
    ];
    let parquet = |properties: WriterProperties| {
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, people.schema(), Some(properties)).expect("a writer");
        writer.write(&people).expect("rows");
        writer.close().expect("a footer");
        let structure = parquet_structure(&bytes);
        Source { name: "people.parquet", bytes, structure }
    };
    let mut sources: Vec<Source> = properties.into_iter().map(|properties| parquet(properties.build())).collect();
    let halves = [people.slice(0, 50), people.slice(50, 70)];
    let mut file = FileWriter::try_new(Vec::new(), &people.schema()).expect("a writer");
    let mut stream = StreamWriter::try_new(Vec::new(), &people.schema()).expect("a writer");
    for half in &halves {
        file.write(half).expect("rows");
        stream.write(half).expect("rows");
    }
    for bytes in [file.into_inner().expect("a footer"), stream.into_inner().expect("an end")] {
        let structure = arrow_structure(&bytes);
        sources.push(Source { name: "people.arrow", bytes, structure });
    }
    let mut lines = "age,city,illness,weight,flag\n".to_owned();
    for row in 0..ROWS {
        let note = if row % 9 == 0 { "\"a \"\"quoted\"\", value\"".to_owned() } else { format!("illness {}", row % 6) };
        lines += &format!("{},0{},{note},{}.5,{}\n", 20 + row * 7 % 60, row % 7, row, row % 2 == 0);
    }
    sources.push(Source { name: "people.csv", bytes: lines.into_bytes(), structure: Vec::new() });
    sources
}

/// Returns the footer, and the beginning of each column chunk and its data pages.
fn parquet_structure(bytes: &[u8]) -> Vec<Range<usize>> {
    const HEADER: usize = 40;
    let end = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().expect("four bytes")) as usize;
    let metadata = ParquetMetaDataReader::decode_metadata(&bytes[end - length..end]).expect("a valid footer");
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
    let places = chunks.flat_map(|chunk| [chunk.dictionary_page_offset(), Some(chunk.data_page_offset())]);
    let headers = places.flatten().map(|place| place as usize..(place as usize + HEADER).min(end));
    let mut structure: Vec<Range<usize>> = headers.collect();
    // Repeated, so that it is chosen as often as all headers together.
    structure.extend(vec![end - length..bytes.len(); structure.len().max(1)]);
    structure
}

/// Returns the metadata of each message, and the footer.
fn arrow_structure(bytes: &[u8]) -> Vec<Range<usize>> {
    let marker = |place: &usize| bytes[*place..].starts_with(&[0xff; 4]);
    let starts = (0..bytes.len().saturating_sub(8)).step_by(8).filter(marker);
    let mut structure: Vec<Range<usize>> = starts
        .map(|start| {
            let length = u32::from_le_bytes(bytes[start + 4..start + 8].try_into().expect("four bytes")) as usize;
            start..(start + 8 + length).min(bytes.len())
        })
        .collect();
    if bytes.ends_with(b"ARROW1") {
        let end = bytes.len() - 10;
        let length = u32::from_le_bytes(bytes[end..end + 4].try_into().expect("four bytes")) as usize;
        structure.push(end - length..bytes.len());
    }
    structure
}

/// Deterministic pseudo-random numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }

    /// Returns a number that is likely to break lengths and offsets.
    fn odd_number(&mut self, length: usize) -> u64 {
        let numbers = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, u64::from(u32::MAX), 1 << 40, u64::MAX];
        match self.below(4) {
            0 => (length + self.below(5)) as u64,
            1 => self.below(length) as u64,
            _ => numbers[self.below(numbers.len())],
        }
    }
}

/// Returns a damaged copy of one of the sources.
pub fn mutated(sources: &[Source], seed: u64) -> (&'static str, Vec<u8>) {
    let mut dice = Dice(seed.wrapping_mul(0xd134_2543_de82_ef95));
    let source = &sources[dice.below(sources.len())];
    let mut bytes = source.bytes.clone();
    for _ in 0..1 + dice.below(3) {
        let whole = 0..bytes.len();
        let region = match source.structure.is_empty() || dice.below(3) == 0 {
            true => whole.clone(),
            false => source.structure[dice.below(source.structure.len())].clone(),
        };
        let region = region.start.min(whole.end)..region.end.min(whole.end);
        if region.is_empty() {
            continue;
        }
        damage(&mut bytes, &region, &mut dice);
    }
    (source.name, bytes)
}

fn damage(bytes: &mut Vec<u8>, region: &Range<usize>, dice: &mut Dice) {
    let place = region.start + dice.below(region.len());
    let length = bytes.len();
    let piece = |dice: &mut Dice| place..(place + 1 + dice.below(24)).min(length);
    match dice.below(9) {
        0 => bytes[place] ^= 1 << dice.below(8),
        1 => bytes[place] = dice.below(256) as u8,
        2 | 3 => {
            let number = dice.odd_number(length).to_le_bytes();
            let width = [1, 2, 4, 8][dice.below(4)].min(length - place);
            bytes[place..place + width].copy_from_slice(&number[..width]);
        }
        4 => drop(bytes.drain(piece(dice))),
        5 => {
            let copied = bytes[piece(dice)].to_vec();
            let to = region.start + dice.below(region.len());
            bytes.splice(to..to, copied);
        }
        6 => bytes.truncate(place),
        7 => {
            // A varint of maximum length, as in a Parquet footer.
            let varint = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
            bytes.splice(place..place + 1, varint);
        }
        _ => {
            let copied = bytes[piece(dice)].to_vec();
            let to = region.start + dice.below(region.len());
            let end = (to + copied.len()).min(length);
            bytes[to..end].copy_from_slice(&copied[..end - to]);
        }
    }
}

/// Commands that are run on a damaged file, `run` last.
pub const COMMANDS: [&str; 5] = ["init", "risk", "sql", "verify", "run"];

/// Runs every command on a file, in a separate folder. Returns their exit codes and times.
pub fn check_every_command(name: &str, bytes: &[u8]) -> [(u8, Duration); COMMANDS.len()] {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["input", "out"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let file = folder.path().join("input").join(name);
    fs::write(&file, bytes).expect("a file");
    COMMANDS.map(|command| {
        let start = Instant::now();
        let code = match command {
            "init" => check_init(&file),
            "risk" => check_risk(&file, &["age", "city"], &["illness"]),
            "sql" => check_sql(&file, "age"),
            "verify" => check_verify(&file, &["age", "city"], &["illness"]),
            _ => check_run(name, folder.path()),
        };
        (code, start.elapsed())
    })
}

fn check_run(name: &str, folder: &Path) -> u8 {
    match released_or_kind(&policy(folder, name), folder) {
        Ok(_) => {
            Texts::of_release(folder).check_promise(&["age", "city"], &["illness"], 2, 2);
            0
        }
        Err(kind) => kind.exit_code(),
    }
}

fn policy(folder: &Path, name: &str) -> Policy {
    let place = |name: &str| folder.join(name).display().to_string();
    let kept: &[&str] = if name.ends_with("csv") { &["weight", "flag"] } else { &KEPT };
    let kept: String = kept.iter().map(|name| format!("[columns.{name}]\nrole = 'insensitive'\n")).collect();
    let overrides =
        Overrides { input: Some(vec![place("input")]), output: Some(place("out/release")), ..Overrides::default() };
    Policy::parse(&format!("{POLICY}{kept}"), folder, &overrides).expect("a policy")
}

/// Returns the peak memory of this process in bytes, where the system reports it.
pub fn peak_memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let fields: HashMap<&str, &str> = status.lines().filter_map(|line| line.split_once(':')).collect();
    let kibibytes: u64 = fields.get("VmHWM")?.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

/// Keeps a failing file for inspection.
pub fn keep(name: &str, bytes: &[u8]) -> std::path::PathBuf {
    use std::io::Write;
    let path = std::env::temp_dir().join(format!("throng-mutation-{}-{name}", std::process::id()));
    let _ = File::create(&path).and_then(|mut file| file.write_all(bytes));
    path
}
