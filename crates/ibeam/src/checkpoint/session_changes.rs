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
    /// The commit after the change; `None` if the process was killed, or still runs.
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
pub(crate) enum UndoTarget {
    /// The state before the last turn that changed files and is not undone.
    LastTurn,
    /// The state before this turn.
    Turn(u32),
    /// The state before the last undo.
    LastUndo,
}

/// The changes of a session, oldest first.
#[derive(Debug, Default)]
pub(crate) struct SessionChanges {
    /// The workspace of the last run.
    pub(crate) cwd: PathBuf,
    /// The number of turns.
    pub(crate) turns: u32,
    /// The number of the next event.
    pub(crate) next_seq: u64,
    /// Whether a run reported that its calls changed files.
    pub(crate) has_changed_files: bool,
    pub(super) changes: Vec<Change>,
}

impl SessionChanges {
    /// Adds the next event of the session.
    pub(crate) fn fold(&mut self, event: Event) {
        self.next_seq = event.seq + 1;
        match event.kind {
            EventKind::SessionStarted(head) => {
                self.turns += 1;
                self.cwd = head.cwd;
            }
            EventKind::CheckpointTaken(Checkpoint { moment, commit, left_out }) => {
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
            EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::RulesAdded { .. }
            | EventKind::HookMessage { .. }
            | EventKind::HookRequestFinished(_)
            | EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::Retrying { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::Compacted(_)
            | EventKind::Notice(_) => {}
            EventKind::RunFinished(run) => self.has_changed_files |= !run.totals.files_changed.is_empty(),
        }
    }

    /// Returns the changes that an undo to `target` takes back: all from the returned position on, and the turn that is
    /// recorded for the undo. `None` if there is nothing to take back.
    pub(crate) fn resolve(&self, target: UndoTarget) -> Option<(usize, Option<u32>)> {
        let Effects { turns, undos, .. } = self.in_effect();
        match target {
            UndoTarget::LastTurn => {
                let index = *turns.last()?;
                Some((index, self.turn_at(index)))
            }
            UndoTarget::Turn(turn) => {
                let index = self.changes.iter().position(|change| match change.cause {
                    Cause::Turn(found) => found >= turn,
                    Cause::Undo(_) | Cause::Redo => false,
                })?;
                Some((index, Some(turn)))
            }
            UndoTarget::LastUndo => Some((*undos.last()?, None)),
        }
    }

    /// Returns the change of a turn; `None` if it changed nothing.
    pub(crate) fn of_turn(&self, turn: u32) -> Option<usize> {
        self.changes.iter().position(|change| change.cause == Cause::Turn(turn))
    }

    /// Whether no turn had a checkpoint.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn turn_at(&self, index: usize) -> Option<u32> {
        match self.changes.get(index)?.cause {
            Cause::Turn(turn) => Some(turn),
            Cause::Undo(_) | Cause::Redo => None,
        }
    }

    /// Returns for each change the position of that whose beginning it restored; `None` for a turn.
    pub(super) fn restored(&self) -> Vec<Option<usize>> {
        self.in_effect().restored
    }

    fn in_effect(&self) -> Effects {
        let (mut turns, mut undos, mut restored) = (Vec::new(), Vec::new(), Vec::new());
        // The turns in effect before each change.
        let mut before: Vec<Vec<usize>> = Vec::new();
        for (index, change) in self.changes.iter().enumerate() {
            before.push(turns.clone());
            let found = match change.cause {
                Cause::Turn(_) => {
                    if change.end.as_ref() != Some(&change.start) {
                        turns.push(index);
                    }
                    None
                }
                Cause::Undo(turn) => {
                    undos.push(index);
                    self.changes.iter().position(|change| match change.cause {
                        Cause::Turn(found) => found >= turn,
                        Cause::Undo(_) | Cause::Redo => false,
                    })
                }
                Cause::Redo => undos.pop(),
            };
            if let Some(found) = found.and_then(|index| before.get(index)) {
                turns.clone_from(found);
            }
            restored.push(found);
        }
        Effects { turns, undos, restored }
    }
}

/// The effects of the changes of a session, as positions of changes.
struct Effects {
    /// The turns that changed files and are not undone.
    turns: Vec<usize>,
    /// The undos that are not taken back.
    undos: Vec<usize>,
    /// For each change, that whose beginning it restored; `None` for a turn.
    restored: Vec<Option<usize>>,
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
}
