//! Compares the output of a block with the answer on the page.

use std::path::Path;

/// A line that matches any lines.
const LINES: &str = "...";

/// A mark that matches any part of a line.
const PART: &str = "…";

/// Returns the output without parts that differ between runs or compression versions: the folder, the run id, times and
/// sizes.
pub fn normalized(output: &str, folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap();
    let output = output.replace(folder.to_str().unwrap(), PART);
    let lines = output.lines().map(|line| {
        let line = hidden(line.trim_end(), "\"run_id\":\"", |mark| mark.is_ascii_hexdigit());
        let line = hidden(&line, "\"bytes\":", |mark| mark.is_ascii_digit());
        seconds(&hidden(&line, "\"total_ms\":", |mark| mark.is_ascii_digit()))
    });
    lines.map(|line| line + "\n").collect::<String>().trim_end().to_owned()
}

fn hidden(line: &str, before: &str, is_part: impl Fn(char) -> bool) -> String {
    match line.split_once(before) {
        Some((head, tail)) => format!("{head}{before}{PART}{}", tail.trim_start_matches(is_part)),
        None => line.to_owned(),
    }
}

/// Hides the seconds at the end of a line, as in the table of a sweep.
fn seconds(line: &str) -> String {
    match line.strip_suffix(" s").map(|rest| rest.trim_end_matches(|mark: char| mark.is_ascii_digit() || mark == '.')) {
        Some(rest) if rest.ends_with(' ') => format!("{}  {PART} s", rest.trim_end()),
        _ => line.to_owned(),
    }
}

/// Whether the output matches the answer.
pub fn matches(expected: &str, found: &str) -> bool {
    let expected: Vec<&str> = expected.trim_end().lines().map(str::trim_end).collect();
    let found: Vec<&str> = found.lines().collect();
    let mut pieces = expected.split(|line| *line == LINES);
    let first = pieces.next().unwrap_or_default();
    let pieces: Vec<&[&str]> = pieces.collect();
    if !begins_with(&found, first) {
        return false;
    }
    let Some((last, middle)) = pieces.split_last() else {
        return found.len() == first.len();
    };
    let mut rest = &found[first.len()..];
    for piece in middle {
        let Some(at) = (0..rest.len()).find(|at| begins_with(&rest[*at..], piece)) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.len() >= last.len() && begins_with(&rest[rest.len() - last.len()..], last)
}

fn begins_with(found: &[&str], expected: &[&str]) -> bool {
    found.len() >= expected.len() && expected.iter().zip(found).all(|(expected, found)| same(expected, found))
}

fn same(expected: &str, found: &str) -> bool {
    let mut parts = expected.split(PART);
    let Some(mut rest) = parts.next().and_then(|first| found.strip_prefix(first)) else {
        return false;
    };
    let Some((last, middle)) = parts.collect::<Vec<_>>().split_last().map(|(last, middle)| (*last, middle.to_vec()))
    else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Returns the answer that replaces an outdated one. An elision is kept if there is only one.
pub fn renewed(expected: &str, found: &str) -> Option<String> {
    let lines: Vec<&str> = found.lines().collect();
    let pieces: Vec<&str> = expected.split(&format!("{LINES}\n")).collect();
    let shown = match pieces.as_slice() {
        [_] => lines,
        [head, tail] => {
            let (head, tail) = (head.lines().count(), tail.lines().count());
            let last = lines.len().checked_sub(tail).filter(|last| *last > head)?;
            [&lines[..head], &[LINES], &lines[last..]].concat()
        }
        _ => return None,
    };
    Some(shown.iter().map(|line| format!("{line}\n")).collect())
}

#[test]
fn what_is_left_out_may_be_anything_and_the_rest_may_not() {
    assert!(matches("a\nb\n", "a\nb"));
    assert!(!matches("a\nb\n", "a\nc") && !matches("a\n", "a\nb") && !matches("a\nb\n", "a"));
    assert!(matches("a\n...\nd\n", "a\nb\nc\nd") && !matches("a\n...\nd\n", "a\nb\nc"));
    assert!(matches("...\nc\n...\n", "a\nb\nc\nd") && !matches("...\nx\n...\n", "a\nb\nc\nd"));
    assert!(matches("{\"id\":\"…\",\"k\":3}\n", "{\"id\":\"ab\",\"k\":3}"));
    assert!(!matches("{\"id\":\"…\",\"k\":3}\n", "{\"id\":\"ab\",\"k\":4}"));
    assert_eq!((seconds("k  3    0.15 s"), seconds("3 rows")), ("k  3  … s".to_owned(), "3 rows".to_owned()));
    assert_eq!(renewed("a\n...\nz\n", "b\nc\nd\ny").as_deref(), Some("b\n...\ny\n"));
}
