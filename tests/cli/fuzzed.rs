//! Runs the checks of the fuzz targets on their corpus, on every earlier finding, and on some random inputs.
//!
//! `fuzz/run` searches for new inputs; its findings go to `fuzz/regressions/` and become part of every test run.

#[path = "../../fuzz/src/lib.rs"]
pub mod targets;

use std::fs;
use std::path::Path;

use crate::sandbox::names;
use crate::tables::Draws;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz");

/// Returns the inputs of a target that are part of the repository.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let corpus = targets::corpus_of(target);
    let folders = ["corpus", "regressions"].map(|kind| Path::new(FOLDER).join(kind).join(corpus));
    let files = folders.iter().filter(|folder| folder.is_dir()).flat_map(|folder| {
        let visible = names(folder).into_iter().filter(|name| !name.starts_with('.'));
        visible.map(move |name| (format!("{target}/{name}"), fs::read(folder.join(name)).unwrap()))
    });
    files.filter(|(_, bytes)| !bytes.is_empty()).collect()
}

fn check(name: &str, bytes: &[u8]) {
    let (_, check) = targets::TARGETS.iter().find(|(target, _)| name.starts_with(target)).unwrap();
    if let Err(panic) = std::panic::catch_unwind(|| check(bytes)) {
        eprintln!("found with {name}");
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn every_target_has_a_corpus_that_it_passes() {
    for (target, _) in targets::TARGETS {
        let inputs = inputs(target);
        assert!(inputs.len() >= 5, "{target} has {} inputs", inputs.len());
        for (name, bytes) in inputs {
            check(&name, &bytes);
        }
    }
}

#[test]
fn damaged_inputs_of_the_corpus_are_withstood() {
    let mut draws = Draws::new(21);
    for (target, _) in targets::TARGETS {
        for (name, bytes) in inputs(target) {
            // Targets that read the same files get fewer rounds each.
            for round in 0..if targets::corpus_of(target) == target { 12 } else { 3 } {
                let mut bytes = bytes.clone();
                for _ in 0..1 + draws.below(5) {
                    let place = draws.below(bytes.len() as u64) as usize;
                    bytes[place] = draws.below(256) as u8;
                }
                check(&format!("{name}, damaged {round}"), &bytes);
            }
        }
    }
}

#[test]
fn tables_of_random_bytes_are_released_or_refused() {
    let mut draws = Draws::new(22);
    for number in 0..80 {
        let bytes: Vec<u8> = (0..20 + draws.below(400)).map(|_| draws.below(256) as u8).collect();
        check(&format!("table, random {number}"), &bytes);
    }
}
