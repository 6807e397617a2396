//! A tree as indented text, rearranged line by line: dragging on the page moves lines of the text.

/// One line of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeLine {
    /// Depth in the tree: the number of its ancestors.
    pub(crate) depth: usize,
    pub(crate) name: String,
    /// Whether it has children.
    pub(crate) is_group: bool,
}

/// Reads the lines of a tree. Returns `None` if their indentation is not that of a tree.
pub(crate) fn lines(text: &str) -> Option<Vec<TreeLine>> {
    let mut open: Vec<usize> = Vec::new();
    let mut lines: Vec<TreeLine> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let indent = indent(line);
        while open.last().is_some_and(|outer| *outer > indent) {
            open.pop();
        }
        match open.last() {
            Some(outer) if *outer == indent => {}
            // The first line of a level sets its indentation; a later one between two levels belongs to neither.
            Some(_) if lines.last().is_some_and(|last| last.depth + 1 == open.len()) => open.push(indent),
            None if lines.is_empty() => open.push(indent),
            _ => return None,
        }
        lines.push(TreeLine { depth: open.len() - 1, name: line.trim().to_owned(), is_group: false });
    }
    for at in 1..lines.len() {
        lines[at - 1].is_group = lines[at].depth > lines[at - 1].depth;
    }
    Some(lines)
}

/// Returns the width of the indentation of a line; a tab counts as two spaces.
pub(crate) fn indent(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ' || *c == '\t').map(|c| if c == '\t' { 2 } else { 1 }).sum()
}

/// Writes lines as a text.
pub(crate) fn text(lines: &[TreeLine]) -> String {
    lines.iter().map(|line| format!("{}{}\n", "  ".repeat(line.depth), line.name)).collect()
}

/// Moves a line with all below it: to the end of a group, into the group of a value, or to the top without a target. A group that
/// loses its last value is removed.
pub(crate) fn moved(text_before: &str, from: usize, onto: Option<usize>) -> Result<String, String> {
    let mut all = lines(text_before).ok_or("the lines are not indented evenly")?;
    let end = block_end(&all, from).ok_or("there is no such line")?;
    let target = match onto {
        Some(onto) => Some(group_of(&all, onto).ok_or("there is no such line")?),
        None => None,
    };
    if target.flatten().is_some_and(|target| (from..end).contains(&target)) {
        return Err("a group can't go into itself".to_owned());
    }
    // The target line is located by its index after the block has been removed.
    let block: Vec<TreeLine> = all.drain(from..end).collect();
    let target = target.flatten().map(|target| if target >= end { target - block.len() } else { target });
    let depth = target.map_or(0, |target| all[target].depth + 1);
    let at = target.map_or(all.len(), |target| block_end(&all, target).unwrap_or(all.len()));
    let base = block.first().map_or(0, |first| first.depth);
    let block = block.into_iter().map(|line| TreeLine { depth: line.depth - base + depth, ..line });
    all.splice(at..at, block);
    Ok(text(&without_empty_groups(all)))
}

/// Moves a line with all below it into a new group at the same position.
pub(crate) fn grouped(text_before: &str, from: usize, name: &str) -> Result<String, String> {
    let name = name.trim();
    if name.is_empty() {
        return Err("give the new group a name".to_owned());
    }
    let mut all = lines(text_before).ok_or("the lines are not indented evenly")?;
    let end = block_end(&all, from).ok_or("there is no such line")?;
    let depth = all[from].depth;
    // A value of a group becomes a value of a sibling group.
    let depth_of_group = if all[from].is_group { depth } else { depth.saturating_sub(1) };
    let mut block: Vec<TreeLine> = all.drain(from..end).collect();
    block.iter_mut().for_each(|line| line.depth = line.depth - depth + depth_of_group + 1);
    block.insert(0, TreeLine { depth: depth_of_group, name: name.to_owned(), is_group: true });
    let mut at = from.min(all.len());
    while all.get(at).is_some_and(|line| line.depth > depth_of_group) {
        at += 1;
    }
    all.splice(at..at, block);
    Ok(text(&without_empty_groups(all)))
}

/// Returns the index after a line and all below it.
fn block_end(lines: &[TreeLine], from: usize) -> Option<usize> {
    let depth = lines.get(from)?.depth;
    let rest = lines[from + 1..].iter().take_while(|line| line.depth > depth).count();
    Some(from + 1 + rest)
}

/// Returns the group that a line stands for: itself, or the one around a value. The inner option is empty at the top.
fn group_of(lines: &[TreeLine], at: usize) -> Option<Option<usize>> {
    let line = lines.get(at)?;
    if line.is_group {
        return Some(Some(at));
    }
    Some(lines[..at].iter().rposition(|outer| outer.depth < line.depth))
}

/// Removes groups that have lost all of their values.
fn without_empty_groups(mut lines: Vec<TreeLine>) -> Vec<TreeLine> {
    while let Some(at) = (0..lines.len())
        .find(|at| lines[*at].is_group && lines.get(at + 1).is_none_or(|next| next.depth <= lines[*at].depth))
    {
        lines.remove(at);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "Europe\n  France\n  Spain\nAsia\n  Japan\n";

    #[test]
    fn a_value_moves_to_a_group_and_an_empty_group_goes() {
        assert_eq!(moved(TREE, 1, Some(3)).unwrap(), "Europe\n  Spain\nAsia\n  Japan\n  France\n");
        // Onto a value: into its group.
        assert_eq!(moved(TREE, 2, Some(4)).unwrap(), "Europe\n  France\nAsia\n  Japan\n  Spain\n");
        assert_eq!(moved(TREE, 4, Some(0)).unwrap(), "Europe\n  France\n  Spain\n  Japan\n");
    }

    #[test]
    fn a_group_moves_with_its_values() {
        assert_eq!(
            moved("World\n  Europe\n    France\n  Asia\n    Japan\nMoon\n  Base\n", 5, Some(0)).unwrap(),
            "World\n  Europe\n    France\n  Asia\n    Japan\n  Moon\n    Base\n"
        );
        assert_eq!(moved("A\n  B\n    b\n  C\n    c\n", 1, None).unwrap(), "A\n  C\n    c\nB\n  b\n");
        assert!(moved(TREE, 0, Some(1)).is_err(), "into itself");
        assert!(moved(TREE, 9, Some(1)).is_err() && moved(TREE, 1, Some(9)).is_err());
    }

    #[test]
    fn a_value_or_a_group_gets_a_group_of_its_own() {
        assert_eq!(grouped(TREE, 1, "South").unwrap(), "Europe\n  Spain\nSouth\n  France\nAsia\n  Japan\n");
        assert_eq!(grouped(TREE, 3, "Old").unwrap(), "Europe\n  France\n  Spain\nOld\n  Asia\n    Japan\n");
        assert!(grouped(TREE, 1, " ").is_err());
    }

    #[test]
    fn lines_are_read_as_they_are_indented() {
        let depths = |text: &str| lines(text).map(|lines| lines.iter().map(|line| line.depth).collect::<Vec<_>>());
        assert_eq!(depths("a\n\tb\n    c\nd"), Some(vec![0, 1, 2, 0]));
        assert_eq!(depths("  a\n    b\n  c"), Some(vec![0, 1, 0]));
        assert_eq!(depths("a\n    b\n  c"), None);
        assert_eq!(text(&lines(TREE).unwrap()), TREE);
    }
}
