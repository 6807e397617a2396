//! Links the settings of the command's allocator into the measurements.

const SETTINGS: &str = "../crates/throng-cli/src/malloc_conf.c";

fn main() {
    println!("cargo::rerun-if-changed={SETTINGS}");
    for object in cc::Build::new().file(SETTINGS).compile_intermediates() {
        println!("cargo::rustc-link-arg-benches={}", object.display());
    }
}
