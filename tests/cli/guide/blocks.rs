//! Fenced blocks of a Markdown page, and how each is checked.

use std::ops::Range;

/// A fenced block.
#[derive(Debug)]
pub struct Block {
    /// Line of its opening fence.
    pub line: usize,
    pub action: Action,
    pub text: String,
    /// Range of the text in the page, if it is not indented.
    pub place: Range<usize>,
}

/// How a block is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `sh`: runs in the folder of the page.
    Shell,
    /// `sh norun: WHY`: is parsed by the shell, and its commands of Throng by Throng.
    ShellAside,
    /// `sql`: runs in `throng sql`.
    Sql,
    /// `text`: output of the block before.
    Answer,
    /// `text picture`: is not checked.
    Picture,
    /// `text message`: is checked by a separate test.
    Message,
    /// `toml`: a policy, or some tables of one.
    Policy,
    /// `toml NAME`, `csv NAME`: is written to this file.
    File(String),
    /// `LANGUAGE of=PATH`: an excerpt of this file of the repository.
    Part(String),
}

/// Returns the blocks of a page, in order. A block of unknown kind is an error.
pub fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let (mut blocks, mut open): (Vec<Block>, Option<(usize, &str, Block)>) = (Vec::new(), None);
    let mut offset = 0;
    for (number, line) in page.split_inclusive('\n').enumerate().map(|(index, line)| (index + 1, line)) {
        let start = offset;
        offset += line.len();
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        match open.take() {
            None if content.starts_with("```") => {
                let fence = &content[..content.len() - content.trim_start_matches('`').len()];
                let action = action(content[fence.len()..].trim()).map_err(|why| format!("line {number}: {why}"))?;
                let block = Block { line: number, action, text: String::new(), place: offset..offset };
                open = Some((indent, fence, block));
            }
            None if content.starts_with("~~~")
                || line.starts_with('\t')
                || (indent >= 4 && !content.trim().is_empty()) =>
            {
                return Err(format!("line {number}: a block without a fence of ```"));
            }
            None => {}
            Some((indent, fence, mut block)) => {
                if content.trim_end() == fence {
                    block.place.end = start;
                    blocks.push(block);
                } else {
                    block.text += line.get(indent..).unwrap_or("\n");
                    open = Some((indent, fence, block));
                }
            }
        }
    }
    match open {
        Some((_, _, block)) => Err(format!("line {}: the block has no end", block.line)),
        None => Ok(blocks),
    }
}

fn action(info: &str) -> Result<Action, String> {
    let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
    let rest = rest.trim();
    match (language, rest) {
        (_, rest) if rest.starts_with("of=") => Ok(Action::Part(rest[3..].to_owned())),
        ("sh", "") => Ok(Action::Shell),
        ("sh", rest) if rest.strip_prefix("norun: ").is_some_and(|why| !why.is_empty()) => Ok(Action::ShellAside),
        ("sql", "") => Ok(Action::Sql),
        ("text", "") => Ok(Action::Answer),
        ("text", "picture") => Ok(Action::Picture),
        ("text", "message") => Ok(Action::Message),
        ("toml", "") => Ok(Action::Policy),
        ("toml" | "csv", name) if !name.is_empty() && !name.contains([' ', '\'']) => Ok(Action::File(name.to_owned())),
        _ => Err(format!("nobody knows what to do with a block of `{info}`")),
    }
}

/// Returns the prose of a page: its lines outside of blocks, without the text in backticks.
pub fn prose(page: &str) -> String {
    let (mut prose, mut inside) = (String::new(), false);
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            let shown = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
            prose += &shown;
            prose.push('\n');
        }
    }
    prose
}

#[test]
fn a_block_that_nobody_knows_is_an_error() {
    for page in [
        "```\nx\n```\n",
        "```bash\nx\n```\n",
        "```sh norun:\nx\n```\n",
        "```sh\nx\n",
        "text\n\n    x\n",
        "~~~\nx\n~~~\n",
    ] {
        assert!(blocks(page).is_err(), "{page}");
    }
    let found = blocks("- a\n\n  ```sh\n  ls\n\n  ls\n  ```\n```text\na\n```\n").unwrap();
    assert_eq!(found.iter().map(|block| block.text.as_str()).collect::<Vec<_>>(), ["ls\n\nls\n", "a\n"]);
    assert_eq!((&found[0].action, &found[1].action), (&Action::Shell, &Action::Answer));
}
