//! `throng sql`: statements from the command line, files, standard input, or an interactive shell.

mod print;
mod shell;
mod table;

use std::io::Read;
use std::path::Path;

use throng_job::{JobError, Kind, SqlSession, Statement};

use crate::args::{Script, SqlArgs};
use crate::backend::Backend;
use crate::outcome::Outcome;
use print::{PrintError, Printer};

pub(super) async fn sql(args: SqlArgs, threads: usize, memory_limit: Option<u64>) -> Outcome {
    let ended = match Backend::from_args(&args.cluster).sql_session(threads, memory_limit).await {
        Ok(session) if args.is_shell() => shell::shell(&session, &Printer::new(&args, memory_limit)).await,
        Ok(session) => run_scripts(&session, &Printer::new(&args, memory_limit), &args.scripts()).await,
        Err(error) => Err(error.into()),
    };
    match ended {
        // The reader of the results has closed the pipe.
        Ok(()) | Err(PrintError::Closed) => Outcome::printed(),
        Err(PrintError::Job(error)) => Outcome::broken(error.kind().exit_code(), &error.to_string()),
    }
}

/// Runs scripts in order, up to the first error.
async fn run_scripts(session: &SqlSession, printer: &Printer, scripts: &[Script]) -> Result<(), PrintError> {
    let mut before = 0;
    for script in scripts {
        let numbered = |index: usize, error: JobError| {
            let name = if let Script::File(path) = script { format!("{}: ", path.display()) } else { String::new() };
            error.with_prefix(format_args!("{name}statement {}: ", before + index + 1))
        };
        let mut statements: Vec<Statement> = Vec::new();
        for (index, statement) in session.parse(&text(script)?).into_iter().enumerate() {
            statements.push(statement.map_err(|error| numbered(index, error))?);
        }
        let count = statements.len();
        for (index, statement) in statements.into_iter().enumerate() {
            let shown = show(session, printer, statement).await;
            shown.map_err(|unprinted| match unprinted {
                PrintError::Job(error) => PrintError::Job(numbered(index, error)),
                PrintError::Closed => PrintError::Closed,
            })?;
        }
        before += count;
    }
    Ok(())
}

/// Runs a statement and prints its result. Returns the number of rows; `None` for a definition.
async fn show(session: &SqlSession, printer: &Printer, statement: Statement) -> Result<Option<usize>, PrintError> {
    let mut rows = session.run(statement).await?;
    printer.print(&mut rows).await
}

fn text(script: &Script) -> Result<String, JobError> {
    let (name, read) = match script {
        Script::Text(text) => return Ok(text.clone()),
        Script::File(path) => (path.as_path(), std::fs::read(path)),
        Script::Stdin => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            (Path::new("standard input"), read.map(|_| bytes))
        }
    };
    let name = name.display();
    let bytes = read.map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let doing = format!("reading {name}");
        if missing {
            JobError::new(Kind::NoInput, format!("{doing}: {error}"))
        } else {
            JobError::creating(doing, &error)
        }
    })?;
    String::from_utf8(bytes).map_err(|_| JobError::new(Kind::BadData, format!("{name} is not UTF-8 text")))
}
