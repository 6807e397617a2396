//! Invalid hierarchy files: exit code 78, the line, and no files left behind.

use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{strings, table};

#[test]
fn a_hierarchy_that_is_none_is_refused_with_its_line() {
    let input = table(vec![("city", strings((0..12).map(|row| ["Rome", "Oslo", "Bern"][row % 3])))]);
    let long = format!("Rome;{}*\n", "x;y;".repeat(2500));
    let cases: [(&[u8], &[&str]); 13] = [
        (b"", &["empty"]),
        (b"\n\n\n", &["empty"]),
        (b"Rome\nOslo\nBern\n", &["one level only"]),
        (b"Rome,South,*\nOslo,North,*\n", &["one level only", "`;`"]),
        (b"Rome;South;*\nOslo;*\n", &["line 2", "2 levels"]),
        (b"Rome;South;*\nOslo;North;all\n", &["line 2", "another root"]),
        (b"Rome;South;*\n\nOslo;North;*\nRome;North;*\n", &["line 4", "repeats the value of line 1"]),
        (b"Rome;South;EU;*\nBern;South;CH;*\n", &["line 2", "another value than line 1"]),
        (b"Rome;South;Rome;*\n", &["line 1"]),
        (b"Rome;South;*\nOslo;\xff\xfe;*\n", &["line 2 is not UTF-8"]),
        (b"\xff\xfeR\0o\0m\0e\0", &["line 1 is not UTF-8"]),
        (b"*;South;*\n", &["line 1"]),
        (long.as_bytes(), &["line 1"]),
    ];
    for (bytes, parts) in cases {
        let sandbox = Sandbox::with(&input, 2, 1, "[columns.city]\nrole = \"quasi\"\nhierarchy = \"city.csv\"");
        sandbox.write("city.csv", bytes);
        let message = sandbox.run_refused(78, &[]);
        assert_contains(&message, parts);
        assert_contains(&message, &["policy.toml:", "columns.city.hierarchy", "city.csv"]);
        assert!(!message.contains("Rome") && !message.contains("South"), "a label is shown: {message}");
        assert_eq!(sandbox.throng(&["check", "policy.toml"]).refused(78), message);
    }
}

#[test]
fn a_hierarchy_that_is_no_file_is_reported() {
    let input = table(vec![("city", strings(["Rome", "Oslo"]))]);
    let sandbox = Sandbox::with(&input, 2, 1, "[columns.city]\nrole = \"quasi\"\nhierarchy = \"input\"");
    assert_contains(&sandbox.run_refused(78, &[]), &["columns.city.hierarchy", "can't be read"]);
}
