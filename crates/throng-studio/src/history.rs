//! The texts of a policy, with undo and redo.

use std::time::{Duration, Instant};

/// Changes of one kind within this time are one step, so that moving a slider or typing a word is undone as a whole.
const ONE_STEP: Duration = Duration::from_millis(1500);

/// Number of texts that are kept.
const MAX_TEXTS: usize = 200;

/// One text with the change that led to it.
#[derive(Clone, Debug)]
pub(crate) struct Revision {
    /// The change in words.
    pub(crate) change: String,
    /// The whole text.
    pub(crate) text: String,
    made: Instant,
}

/// All texts of a policy, and the current one.
#[derive(Clone, Debug)]
pub(crate) struct PolicyHistory {
    revisions: Vec<Revision>,
    at: usize,
}

impl PolicyHistory {
    /// Starts with a text.
    pub(crate) fn new(change: &str, text: String) -> Self {
        Self { revisions: vec![Revision { change: change.to_owned(), text, made: Instant::now() }], at: 0 }
    }

    /// Returns the current text.
    pub(crate) fn text(&self) -> &str {
        &self.revisions[self.at].text
    }

    /// Returns all texts, oldest first, and the index of the current one.
    pub(crate) fn revisions(&self) -> (&[Revision], usize) {
        (&self.revisions, self.at)
    }

    /// Makes a text the current one. Texts that were undone before are forgotten. Returns whether anything changed.
    pub(crate) fn push(&mut self, change: &str, text: String) -> bool {
        if text == self.text() {
            return false;
        }
        let now = Instant::now();
        let is_one_step = self.at > 0
            && self.at + 1 == self.revisions.len()
            && self.revisions[self.at].change == change
            && now.duration_since(self.revisions[self.at].made) < ONE_STEP;
        self.revisions.truncate(self.at + 1);
        if is_one_step {
            self.revisions[self.at] = Revision { change: change.to_owned(), text, made: now };
            return true;
        }
        self.revisions.push(Revision { change: change.to_owned(), text, made: now });
        // Keep the first text, so that the opened state can be restored.
        if self.revisions.len() > MAX_TEXTS {
            self.revisions.remove(1);
        }
        self.at = self.revisions.len() - 1;
        true
    }

    /// Goes back by one change. Returns whether there was one.
    pub(crate) fn undo(&mut self) -> bool {
        self.go_to(self.at.wrapping_sub(1))
    }

    /// Repeats the change that was undone last. Returns whether there was one.
    pub(crate) fn redo(&mut self) -> bool {
        self.go_to(self.at + 1)
    }

    /// Makes the text at an index the current one. Returns whether it exists and differs from the current one.
    pub(crate) fn go_to(&mut self, at: usize) -> bool {
        let is_other = at < self.revisions.len() && at != self.at;
        if is_other {
            self.at = at;
        }
        is_other
    }

    /// Whether there is a change to undo, and one to redo.
    pub(crate) fn can(&self) -> (bool, bool) {
        (self.at > 0, self.at + 1 < self.revisions.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_and_redo_return_the_same_texts() {
        let mut history = PolicyHistory::new("opened", "a".to_owned());
        assert!(!history.push("same", "a".to_owned()));
        assert!(history.push("first", "b".to_owned()) && history.push("second", "c".to_owned()));
        assert!(history.undo() && history.undo() && !history.undo());
        assert_eq!((history.text(), history.can()), ("a", (false, true)));
        assert!(history.redo());
        assert_eq!(history.text(), "b");
        history.push("third", "d".to_owned());
        assert!(!history.redo());
        assert_eq!(history.text(), "d");
    }

    #[test]
    fn a_slider_is_one_step() {
        let mut history = PolicyHistory::new("opened", "k = 2".to_owned());
        for k in 3..40 {
            history.push("k", format!("k = {k}"));
        }
        assert_eq!(history.text(), "k = 39");
        history.undo();
        assert_eq!(history.text(), "k = 2");
    }

    #[test]
    fn the_first_text_is_kept() {
        let mut history = PolicyHistory::new("opened", "0".to_owned());
        for step in 1..500 {
            history.push(&format!("step {step}"), step.to_string());
        }
        assert_eq!(history.revisions().0.len(), MAX_TEXTS);
        assert!(history.go_to(0));
        assert_eq!(history.text(), "0");
    }
}
