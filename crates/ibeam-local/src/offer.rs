//! What the model may do next: the guards of the guided protocol.
//!
//! Reads only files that exist, writes only files that the task allows to be written, ends only when what was
//! asked for is there. No file that the task did not ask for is ever overwritten.

use crate::action::Action;
use crate::conversation::Conversation;
use crate::task::Task;
use crate::workspace::WorkspaceFiles;

/// After this many steps the model may only answer.
const STEPS_LIMIT: usize = 10;
/// After this many failures of a kind it is no longer offered.
const FAILURES_LIMIT: usize = 2;
/// Files read for a task that names none.
const BROWSING_LIMIT: usize = 4;
/// Commands for one task.
const COMMANDS_LIMIT: usize = 4;
/// So many files are all read for a question about the whole workspace.
const FEW_FILES: usize = 4;
/// Files among which the model may choose one to read.
const CHOICE_LIMIT: usize = 40;

/// Which tools the run has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tools {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) shell: bool,
}

/// The choices of one step. When nothing else is offered, `answer` is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Files that may be read.
    pub(crate) read: Vec<String>,
    /// Files that may be written.
    pub(crate) write: Vec<String>,
    /// A new file under a name of the model's choice may be written.
    pub(crate) write_new: bool,
    /// A command may be run.
    pub(crate) shell: bool,
    /// The task may be ended.
    pub(crate) answer: bool,
    /// Files that were asked for and are not there although the task ends now.
    pub(crate) undone: Vec<String>,
}

impl Offer {
    /// The choices after the steps so far.
    pub(crate) fn next(
        task: &Task,
        so_far: &Conversation,
        workspace: &dyn WorkspaceFiles,
        tools: Tools,
    ) -> Self {
        let mut offer = Self::steps(task, so_far, workspace, tools);
        if offer.is_empty() {
            offer.answer = true;
            offer.undone = due(task, so_far, workspace, &Past::of(so_far));
        }
        offer
    }

    fn steps(task: &Task, so_far: &Conversation, workspace: &dyn WorkspaceFiles, tools: Tools) -> Self {
        if so_far.steps.len() >= STEPS_LIMIT {
            return Self::default();
        }
        let past = Past::of(so_far);
        let shell = tools.shell && past.failed_commands < FAILURES_LIMIT && past.commands < COMMANDS_LIMIT;
        // A command that failed is mended before anything is made of its failure.
        if shell && (task.run_first && past.commands == 0 || task.run && past.last_command_failed) {
            return Self { shell, ..Self::default() };
        }
        let unread = unread(task, so_far, workspace);
        if tools.read && !unread.is_empty() && !task.existing.is_empty() && !task.run_first {
            return Self { read: unread, ..Self::default() };
        }
        let write = tools.write && past.failed_writes < FAILURES_LIMIT;
        let due = due(task, so_far, workspace, &past);
        let done = due.is_empty() && !(wants_any_write(task) && past.writes == 0);
        let targets = if write && !done { targets(task, so_far, due) } else { Vec::new() };
        let write_new = write && !done && targets.is_empty() && task.create && past.writes == 0;
        let browsing =
            task.existing.is_empty() && past.reads < BROWSING_LIMIT && task.about_files && past.writes == 0;
        let asked_to_run = task.run && (past.succeeded_commands == 0 || !done);
        let looking =
            !task.create && !task.change && !task.run && task.existing.is_empty() && task.about_files;
        // Of a handful of files each is looked at before anything is said of all.
        let unseen =
            looking && browsing && tools.read && !unread.is_empty() && workspace.files().len() <= FEW_FILES;
        Self {
            read: if tools.read && (browsing || !done && task.run_first) { unread } else { Vec::new() },
            write: targets,
            write_new,
            shell: shell && (asked_to_run || looking && past.commands == 0),
            answer: done && (past.any || !task.about_files) && !unseen,
            undone: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty() && !self.write_new && !self.shell && !self.answer
    }
}

/// Counts over the steps so far.
#[derive(Default)]
struct Past {
    any: bool,
    reads: usize,
    writes: usize,
    failed_writes: usize,
    commands: usize,
    succeeded_commands: usize,
    failed_commands: usize,
    last_command_failed: bool,
}

impl Past {
    fn of(so_far: &Conversation) -> Self {
        let mut past = Self { any: !so_far.steps.is_empty(), ..Self::default() };
        for step in &so_far.steps {
            let failed = usize::from(step.failed);
            match step.action {
                Action::Read { .. } => past.reads += 1,
                Action::Write { .. } => {
                    past.writes += 1 - failed;
                    past.failed_writes += failed;
                }
                Action::Shell { .. } => {
                    past.commands += 1;
                    past.succeeded_commands += 1 - failed;
                    past.failed_commands += failed;
                    past.last_command_failed = step.failed;
                }
            }
        }
        past
    }
}

/// Files that may be read: those the task names, all where it names none; none of them twice.
fn unread(task: &Task, so_far: &Conversation, workspace: &dyn WorkspaceFiles) -> Vec<String> {
    let candidates = if task.existing.is_empty() { workspace.files() } else { task.existing.clone() };
    candidates
        .into_iter()
        .filter(|file| !so_far.tried_to_read(file) && !so_far.has_written(file) && workspace.exists(file))
        .take(CHOICE_LIMIT)
        .collect()
}

/// Files that the task asks for and that are not there yet.
fn due(task: &Task, so_far: &Conversation, workspace: &dyn WorkspaceFiles, past: &Past) -> Vec<String> {
    if !(task.create || task.change || task.run) {
        return Vec::new();
    }
    let missing = task.missing.iter().filter(|file| is_inside(file) && !workspace.exists(file));
    // A command may have written a destination by itself.
    let by_command = past.succeeded_commands > 0;
    let destinations = task.destinations.iter().filter(|file| !by_command && !so_far.has_written(file));
    missing.chain(destinations).cloned().collect()
}

/// Whether the task is not done before some file was written, whatever its name.
fn wants_any_write(task: &Task) -> bool {
    let only_words = task.missing.is_empty() && task.destinations.is_empty();
    !task.run && ((task.create && only_words) || (task.change && !task.existing.is_empty()))
}

/// Files that may be written now: what is due, and where a change is wanted what was read and not yet written.
fn targets(task: &Task, so_far: &Conversation, due: Vec<String>) -> Vec<String> {
    // What was seen in part must not be written as a whole.
    let seen = |file: &String| so_far.has_read_whole(file) && !so_far.has_written(file);
    let mut targets: Vec<String> =
        due.into_iter().filter(|file| !task.destinations.contains(file) || seen(file)).collect();
    if task.change {
        targets.extend(task.existing.iter().filter(|&file| seen(file)).cloned());
    }
    targets.dedup();
    targets
}

/// Whether `path` stays within the workspace by its letters alone.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with(['/', '~'])
        && path.split('/').all(|part| part != ".." && !part.is_empty())
}
