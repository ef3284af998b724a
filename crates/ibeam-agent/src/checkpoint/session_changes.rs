//! The changes of a session: its turns and undos with their checkpoints, as its journal records them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ibeam_protocol::{Checkpoint, CheckpointMoment, Event, EventKind};

/// The cause of a change of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// A turn, counted from 1 in its session.
    Turn(u32),
    /// `ibeam undo`, to the state before this turn.
    Undo(u32),
    /// `ibeam undo --redo`.
    Redo,
}

/// A change of the workspace between two checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    cause: Cause,
    /// The commit before the change.
    pub(super) start: String,
    /// The commit after the change; `None` if it was interrupted, or still runs.
    pub(super) end: Option<String>,
    /// The files that the first commit does not contain.
    pub(super) left_out: BTreeSet<String>,
}

impl Change {
    /// Whether a turn made the change, and not an undo.
    pub(super) fn is_turn(&self) -> bool {
        match self.cause {
            Cause::Turn(_) => true,
            Cause::Undo(_) | Cause::Redo => false,
        }
    }
}

/// The state that an undo restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoTarget {
    /// The state before the last turn that changed files and is not undone.
    LastTurn,
    /// The state before this turn.
    Turn(u32),
    /// The state before the last undo.
    LastUndo,
}

/// The changes of a session, oldest first.
#[derive(Debug, Default)]
pub struct SessionChanges {
    /// The workspace of the last run.
    pub cwd: PathBuf,
    pub turns: u32,
    /// The number of the next event.
    pub next_seq: u64,
    /// Whether a run reported that its calls changed files.
    pub has_changed_files: bool,
    pub(super) changes: Vec<Change>,
}

impl SessionChanges {
    /// Adds the next event of the session.
    pub fn fold(&mut self, event: Event) {
        self.next_seq = event.seq + 1;
        if let EventKind::RunStarted(head) = event.kind {
            self.turns += 1;
            self.cwd = head.cwd;
        } else if let EventKind::RunFinished(run) = event.kind {
            self.has_changed_files |= !run.totals.files_changed.is_empty();
        } else if let EventKind::CheckpointTaken(Checkpoint { moment, commit, left_out }) = event.kind {
            let cause = match moment {
                CheckpointMoment::TurnStart => Cause::Turn(self.turns),
                CheckpointMoment::UndoStart { turn: Some(turn) } => Cause::Undo(turn),
                CheckpointMoment::UndoStart { turn: None } => Cause::Redo,
                CheckpointMoment::TurnEnd | CheckpointMoment::UndoEnd => {
                    if let Some(change) = self.changes.last_mut() {
                        change.end = Some(commit);
                    }
                    return;
                }
            };
            let left_out = left_out.into_iter().collect();
            self.changes.push(Change { cause, start: commit, end: None, left_out });
        }
    }

    /// Returns the changes that an undo to `target` takes back: all from the returned position on, and the turn that is
    /// recorded for the undo. `None` if there is nothing to take back.
    ///
    /// An undo or redo that was interrupted can be repeated, and taken back.
    pub fn resolve(&self, target: UndoTarget) -> Option<(usize, Option<u32>)> {
        let Effects { turns, undos, interrupted, .. } = self.in_effect();
        match (target, interrupted) {
            (UndoTarget::LastTurn, Some(Interrupted::Redo)) => {
                let turn = self.turn_at(*undos.last()?)?;
                Some((self.first_from(turn)?, Some(turn)))
            }
            (UndoTarget::LastTurn, Some(Interrupted::Undo(_)) | None) => {
                let index = *turns.last()?;
                Some((index, self.turn_at(index)))
            }
            (UndoTarget::Turn(turn), _) => Some((self.first_from(turn)?, Some(turn))),
            (UndoTarget::LastUndo, Some(Interrupted::Undo(first))) => Some((first, None)),
            (UndoTarget::LastUndo, Some(Interrupted::Redo) | None) => Some((*undos.last()?, None)),
        }
    }

    /// Whether the last undo or redo was interrupted, and no turn followed.
    pub fn is_interrupted(&self) -> bool {
        self.in_effect().interrupted.is_some()
    }

    /// Returns the change of a turn; `None` if it changed nothing.
    pub fn find_turn(&self, turn: u32) -> Option<usize> {
        self.changes.iter().position(|change| change.cause == Cause::Turn(turn))
    }

    /// Whether no turn had a checkpoint.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the turn of a change, or the one to which it is an undo.
    fn turn_at(&self, index: usize) -> Option<u32> {
        match self.changes.get(index)?.cause {
            Cause::Turn(turn) | Cause::Undo(turn) => Some(turn),
            Cause::Redo => None,
        }
    }

    /// Returns the position of this turn, or of the first one after it.
    fn first_from(&self, turn: u32) -> Option<usize> {
        self.changes.iter().position(|change| match change.cause {
            Cause::Turn(found) => found >= turn,
            Cause::Undo(_) | Cause::Redo => false,
        })
    }

    /// Returns for each change the position of that whose beginning it restored; `None` for a turn.
    pub(super) fn restored(&self) -> Vec<Option<usize>> {
        self.in_effect().restored
    }

    fn in_effect(&self) -> Effects {
        let mut effects =
            Effects { turns: Vec::new(), undos: Vec::new(), interrupted: None, restored: Vec::new() };
        // The turns in effect before each change.
        let mut before: Vec<Vec<usize>> = Vec::new();
        for (index, change) in self.changes.iter().enumerate() {
            before.push(effects.turns.clone());
            let is_done = change.end.is_some();
            let found = match change.cause {
                Cause::Turn(_) => {
                    if change.end.as_ref() != Some(&change.start) {
                        effects.turns.push(index);
                    }
                    effects.add_turn();
                    None
                }
                Cause::Undo(turn) => {
                    effects.add_undo(index, is_done);
                    self.first_from(turn)
                }
                Cause::Redo => effects.add_redo(is_done),
            };
            if let Some(found) = found.filter(|_| is_done).and_then(|index| before.get(index)) {
                effects.turns.clone_from(found);
            }
            effects.restored.push(found);
        }
        effects
    }
}

/// An undo or redo that has restored only some of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interrupted {
    /// The first of the attempts; a redo restores what was before it.
    Undo(usize),
    Redo,
}

/// The effects of the changes of a session, as positions of changes.
struct Effects {
    /// The turns that changed files and are not undone.
    turns: Vec<usize>,
    /// The undos that are not taken back.
    undos: Vec<usize>,
    interrupted: Option<Interrupted>,
    /// For each change, that whose beginning it restored; `None` for a turn.
    restored: Vec<Option<usize>>,
}

impl Effects {
    /// Adds a turn, which changes what an interrupted undo left.
    fn add_turn(&mut self) {
        match self.interrupted.take() {
            Some(Interrupted::Undo(first)) => self.undos.push(first),
            Some(Interrupted::Redo) | None => {}
        }
    }

    fn add_undo(&mut self, index: usize, is_done: bool) {
        if !is_done {
            self.interrupted.get_or_insert(Interrupted::Undo(index));
            return;
        }
        match self.interrupted.take() {
            Some(Interrupted::Undo(first)) => self.undos.push(first),
            // The undo that the redo would have taken back is complete again.
            Some(Interrupted::Redo) => {}
            None => self.undos.push(index),
        }
    }

    /// Adds a redo. Returns the position of the undo that it takes back.
    fn add_redo(&mut self, is_done: bool) -> Option<usize> {
        let found = match self.interrupted {
            Some(Interrupted::Undo(first)) => Some(first),
            Some(Interrupted::Redo) | None => self.undos.last().copied(),
        };
        if !is_done {
            self.interrupted.get_or_insert(Interrupted::Redo);
            return found;
        }
        match self.interrupted.take() {
            Some(Interrupted::Undo(_)) => {}
            Some(Interrupted::Redo) | None => drop(self.undos.pop()),
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(cause: Cause, start: &str, end: &str) -> Change {
        let end = Some(end.to_owned());
        Change { cause, start: start.to_owned(), end, left_out: BTreeSet::new() }
    }

    #[track_caller]
    fn check(changes: &[Change], target: UndoTarget, expect: Option<(usize, Option<u32>)>) {
        let session = SessionChanges { changes: changes.to_vec(), ..SessionChanges::default() };
        assert_eq!(session.resolve(target), expect, "{target:?}");
    }

    #[test]
    fn each_undo_goes_one_turn_further_back_and_a_redo_takes_it_back() {
        let mut changes = vec![
            change(Cause::Turn(1), "a", "b"),
            change(Cause::Turn(2), "b", "b"),
            change(Cause::Turn(4), "b", "c"),
        ];
        check(&changes, UndoTarget::LastTurn, Some((2, Some(4))));
        check(&changes, UndoTarget::LastUndo, None);
        check(&changes, UndoTarget::Turn(1), Some((0, Some(1))));
        check(&changes, UndoTarget::Turn(3), Some((2, Some(3))));
        check(&changes, UndoTarget::Turn(5), None);
        changes.push(change(Cause::Undo(4), "c", "b"));
        check(&changes, UndoTarget::LastTurn, Some((0, Some(1))));
        check(&changes, UndoTarget::LastUndo, Some((3, None)));
        changes.push(change(Cause::Undo(1), "b", "a"));
        check(&changes, UndoTarget::LastTurn, None);
        changes.push(change(Cause::Redo, "a", "b"));
        check(&changes, UndoTarget::LastTurn, Some((0, Some(1))));
        check(&changes, UndoTarget::LastUndo, Some((3, None)));
        changes.push(change(Cause::Redo, "b", "c"));
        check(&changes, UndoTarget::LastTurn, Some((2, Some(4))));
        check(&changes, UndoTarget::LastUndo, None);
    }

    /// Returns an undo or redo that was killed.
    fn interrupted(cause: Cause, start: &str) -> Change {
        Change { cause, start: start.to_owned(), end: None, left_out: BTreeSet::new() }
    }

    #[test]
    fn an_interrupted_undo_can_be_repeated_and_taken_back() {
        let mut changes = vec![change(Cause::Turn(1), "a", "b"), change(Cause::Turn(2), "b", "c")];
        changes.push(interrupted(Cause::Undo(2), "c"));
        check(&changes, UndoTarget::LastTurn, Some((1, Some(2))));
        check(&changes, UndoTarget::LastUndo, Some((2, None)));
        changes.push(interrupted(Cause::Undo(2), "half"));
        check(&changes, UndoTarget::LastTurn, Some((1, Some(2))));
        check(&changes, UndoTarget::LastUndo, Some((2, None)));
        let mut taken_back = changes.clone();
        taken_back.push(change(Cause::Redo, "half", "c"));
        check(&taken_back, UndoTarget::LastTurn, Some((1, Some(2))));
        check(&taken_back, UndoTarget::LastUndo, None);
        let mut followed = changes.clone();
        followed.push(change(Cause::Turn(3), "half", "d"));
        check(&followed, UndoTarget::LastTurn, Some((4, Some(3))));
        followed.push(change(Cause::Undo(3), "d", "half"));
        check(&followed, UndoTarget::LastTurn, Some((1, Some(2))));
        changes.push(change(Cause::Undo(2), "half", "b"));
        check(&changes, UndoTarget::LastTurn, Some((0, Some(1))));
        check(&changes, UndoTarget::LastUndo, Some((2, None)));
    }

    #[test]
    fn an_interrupted_redo_can_be_repeated_and_taken_back() {
        let mut changes = vec![change(Cause::Turn(1), "a", "b"), change(Cause::Turn(2), "b", "c")];
        changes.push(change(Cause::Undo(2), "c", "b"));
        changes.push(interrupted(Cause::Redo, "b"));
        check(&changes, UndoTarget::LastUndo, Some((2, None)));
        check(&changes, UndoTarget::LastTurn, Some((1, Some(2))));
        let mut taken_back = changes.clone();
        taken_back.push(change(Cause::Undo(2), "half", "b"));
        check(&taken_back, UndoTarget::LastTurn, Some((0, Some(1))));
        check(&taken_back, UndoTarget::LastUndo, Some((2, None)));
        changes.push(change(Cause::Redo, "half", "c"));
        check(&changes, UndoTarget::LastTurn, Some((1, Some(2))));
        check(&changes, UndoTarget::LastUndo, None);
    }
}
