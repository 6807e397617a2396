#![no_main]

use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fuzz_target!(|bytes: &[u8]| throng_fuzz::read::sql(bytes));
