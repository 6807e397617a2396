//! Links the settings of the allocator into the binaries.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=src/malloc_conf.c");
    // On other systems the allocator reads them from elsewhere.
    if env::var_os("CARGO_CFG_UNIX").is_some() {
        for object in cc::Build::new().file("src/malloc_conf.c").compile_intermediates() {
            println!("cargo::rustc-link-arg-bins={}", object.display());
        }
    }
}
