//! Runs every file of queries in its own session.

use std::collections::BTreeSet;
use std::path::Path;

use sqllogictest::{Runner, default_column_validator, default_normalizer, default_validator};

use crate::engine::Engine;
use crate::people::session;

const FOLDER: &str = "sql/files";

async fn run(name: &str) {
    let file = Path::new(FOLDER).join(name).with_extension("slt");
    let ctx = session();
    let mut runner = Runner::new(|| {
        let ctx = ctx.clone();
        async move { Ok(Engine { ctx }) }
    });
    if std::env::var_os("THRONG_UPDATE_SQL").is_some() {
        let update =
            runner.update_test_file(&file, " ", default_validator, default_normalizer, default_column_validator);
        update.await.unwrap();
    } else if let Err(error) = runner.run_file_async(&file).await {
        panic!("{}", error.display(false));
    }
}

macro_rules! files {
    ($($name:ident),+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            run(stringify!($name)).await;
        })+

        #[test]
        fn no_file_is_left_out() {
            let file = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
            let is_ours = |name: &String| name.ends_with(".slt");
            let found: BTreeSet<String> = std::fs::read_dir(FOLDER).unwrap().map(file).filter(is_ours).collect();
            let known = [$(concat!(stringify!($name), ".slt")),+].map(str::to_owned);
            assert_eq!(found, BTreeSet::from(known));
        }
    };
}

files!(aggregates, anonymize, barrier, errors, external, frequencies, generalize, privacy_check);
