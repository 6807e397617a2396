//! Parsers of option values.

use std::path::PathBuf;

use throng_job::MIN_MEMORY_LIMIT;

/// A number of bytes: `512MiB`, `4 GB`, `1073741824`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 9] = [
        ("", 1),
        ("b", 1),
        ("kb", 1000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
    ];
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor as f64);
    let bytes = number.parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor);
    match bytes {
        Some(bytes) if bytes >= MIN_MEMORY_LIMIT as f64 => Ok(bytes as u64),
        Some(_) => Err(format!("at least {}MiB are needed", MIN_MEMORY_LIMIT >> 20)),
        None => Err("give a number with a unit, like 512MiB or 4GB".to_owned()),
    }
}

/// A number from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "give a number from 0 to 1, like 0.05".to_owned())
}

/// A page is replaced when it is made again, so that nothing else may be meant.
pub(super) fn page(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|end| end.to_str()) {
        Some("html" | "htm") => Ok(path),
        _ => Err("give a name that ends in .html".to_owned()),
    }
}
