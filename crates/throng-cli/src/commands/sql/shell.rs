//! The interactive shell. Errors do not end it.

use std::path::PathBuf;
use std::time::Instant;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};
use throng_job::{JobError, Kind, SqlSession, is_complete};

use super::print::{PrintError, Printer};
use super::show;
use crate::outcome::eprint_line;

const PROMPT: &str = "throng> ";

const GREETING: &str = "Throng SQL. Statements end with `;`. \\? helps, \\q leaves.";

const HELP: &str = "  statement;   runs it; it may go over several lines
  \\d           lists the tables
  \\d NAME      describes a table, or a file: \\d 'data/people.parquet'
  \\?           shows this
  \\q           leaves, as Ctrl-D does
Ctrl-C clears what is typed, or stops the statement that runs.
Files are tables: SELECT * FROM 'data/people.parquet';";

/// Query for user-defined tables.
const TABLES: &str = "SELECT table_schema AS schema, table_name AS name, table_type AS type \
    FROM information_schema.tables WHERE table_schema <> 'information_schema' ORDER BY 1, 2";

/// Reads and runs statements until the user quits.
pub(super) async fn shell(session: &SqlSession, printer: &Printer) -> Result<(), PrintError> {
    let mut typed = LineInput::new()?;
    eprint_line(GREETING);
    loop {
        let Some(line) = tokio::task::block_in_place(|| typed.next())? else { return Ok(()) };
        let text = match line.trim().trim_end_matches(';').trim_end() {
            "" => continue,
            "\\q" | "quit" | "exit" => return Ok(()),
            "\\?" => {
                eprint_line(HELP);
                continue;
            }
            "\\d" => TABLES.to_owned(),
            command if command.starts_with('\\') => match command.strip_prefix("\\d ") {
                Some(name) => format!("DESCRIBE {}", name.trim()),
                None => {
                    eprint_line("error: there is no such command; \\? lists them");
                    continue;
                }
            },
            _ => line,
        };
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => eprint_line("stopped"),
            ended = run(session, printer, &text) => ended?,
        }
    }
}

/// Runs the entered statements, up to the first error.
async fn run(session: &SqlSession, printer: &Printer, text: &str) -> Result<(), PrintError> {
    let statements: Result<Vec<_>, JobError> = session.parse(text).into_iter().collect();
    let statements = match statements {
        Ok(statements) => statements,
        Err(error) => {
            eprint_line(&format!("error: {error}"));
            return Ok(());
        }
    };
    for statement in statements {
        let start = Instant::now();
        match show(session, printer, statement).await {
            Ok(None) => eprint_line(&format!("done ({:.3} s)", start.elapsed().as_secs_f64())),
            Ok(Some(1)) => eprint_line(&format!("1 row ({:.3} s)", start.elapsed().as_secs_f64())),
            Ok(Some(rows)) => eprint_line(&format!("{rows} rows ({:.3} s)", start.elapsed().as_secs_f64())),
            Err(PrintError::Job(error)) => {
                eprint_line(&format!("error: {error}"));
                return Ok(());
            }
            Err(PrintError::Closed) => return Err(PrintError::Closed),
        }
    }
    Ok(())
}

/// Line editor with a history.
struct LineInput {
    editor: Editor<Statements, DefaultHistory>,
    history: Option<PathBuf>,
}

impl LineInput {
    fn new() -> Result<Self, JobError> {
        // A line that begins with a space is not added to the history.
        let config = Config::builder().history_ignore_space(true).build();
        let mut editor = Editor::with_config(config).map_err(|error| no_terminal(&error))?;
        editor.set_helper(Some(Statements));
        let history = history_file();
        // The shell works without a history.
        let _ = history.as_ref().map(|file| editor.load_history(file));
        Ok(Self { editor, history })
    }

    /// Returns the next statements or command; `None` at the end of the input.
    fn next(&mut self) -> Result<Option<String>, JobError> {
        loop {
            match self.editor.readline(PROMPT) {
                Ok(line) => {
                    let new = self.editor.add_history_entry(line.as_str()).unwrap_or(false);
                    let file = self.history.as_ref().filter(|_| new);
                    let _ = file.map(|file| self.editor.append_history(file));
                    return Ok(Some(line));
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(no_terminal(&error)),
            }
        }
    }
}

fn no_terminal(error: &ReadlineError) -> JobError {
    JobError::new(Kind::TemporaryIo, format!("the terminal can't be read: {error}; use -c or -f"))
}

/// Returns the history file in the user's state folder, which is created if it does not exist.
fn history_file() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))?;
    let folder = state.join("throng");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}

/// Lets a statement span several lines.
struct Statements;

impl Validator for Statements {
    fn validate(&self, typed: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = typed.input().trim();
        let is_command = text.starts_with('\\') || ["quit", "exit"].contains(&text);
        Ok(if is_command || is_complete(text) { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for Statements {
    type Candidate = String;
}

impl Hinter for Statements {
    type Hint = String;
}

impl Highlighter for Statements {}

impl Helper for Statements {}
