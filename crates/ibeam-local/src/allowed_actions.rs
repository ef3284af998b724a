//! The actions that the model may take next.
//!
//! It may read only files that exist, write only files that the task allows, and end only if the requested files exist. It
//! never overwrites a file that the task does not name.

use crate::WorkspaceFiles;
use crate::conversation::Action;
use crate::conversation::Conversation;
use crate::task::Task;

/// After this many steps the model may only answer.
const STEPS_LIMIT: usize = 10;
/// After this many failures an action is not allowed any more.
const FAILURES_LIMIT: usize = 2;
/// The maximum number of files to read for a task that names none.
const BROWSING_LIMIT: usize = 4;
/// The maximum number of commands for one task.
const COMMANDS_LIMIT: usize = 4;
/// A workspace with at most this many files is read completely for a question about it.
const SMALL_WORKSPACE_FILES: usize = 4;
/// The maximum number of files from which the model may choose one to read.
const CHOICE_LIMIT: usize = 40;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AvailableTools {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) shell: bool,
}

/// The allowed actions of one step. If no other action is allowed, `answer` is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AllowedActions {
    /// Files that may be read.
    pub(crate) read: Vec<String>,
    /// Files that may be written.
    pub(crate) write: Vec<String>,
    /// A new file may be written, under a name that the model chooses.
    pub(crate) write_new: bool,
    /// A command may be run.
    pub(crate) shell: bool,
    /// The model may end the task with an answer.
    pub(crate) answer: bool,
    /// Requested files that do not exist although the task ends now.
    pub(crate) unwritten: Vec<String>,
}

impl AllowedActions {
    /// Returns the allowed actions after the steps so far.
    pub(crate) fn after_steps(
        task: &Task,
        conversation: &Conversation,
        workspace: &dyn WorkspaceFiles,
        tools: AvailableTools,
    ) -> Self {
        let mut allowed = Self::without_fallback(task, conversation, workspace, tools);
        if allowed.is_empty() {
            allowed.answer = true;
            allowed.unwritten =
                missing_outputs(task, conversation, workspace, &StepCounts::from_steps(conversation));
        }
        allowed
    }

    /// Returns the allowed actions; none if the task ends now.
    fn without_fallback(
        task: &Task,
        conversation: &Conversation,
        workspace: &dyn WorkspaceFiles,
        tools: AvailableTools,
    ) -> Self {
        if conversation.steps.len() >= STEPS_LIMIT {
            return Self::default();
        }
        let counts = StepCounts::from_steps(conversation);
        let shell =
            tools.shell && counts.failed_commands < FAILURES_LIMIT && counts.commands < COMMANDS_LIMIT;
        // After a failed command the model first gets the chance to correct it.
        if shell && (task.run_first && counts.commands == 0 || task.run && counts.last_command_failed) {
            return Self { shell, ..Self::default() };
        }
        let unread = readable_files(task, conversation, workspace);
        if tools.read && !unread.is_empty() && !task.existing.is_empty() && !task.run_first {
            return Self { read: unread, ..Self::default() };
        }
        let write = tools.write && counts.failed_writes < FAILURES_LIMIT;
        let due = missing_outputs(task, conversation, workspace, &counts);
        let done = due.is_empty() && !(requires_write(task) && counts.writes == 0);
        let targets = if write && !done { writable_files(task, conversation, due) } else { Vec::new() };
        let write_new = write && !done && targets.is_empty() && task.create && counts.writes == 0;
        let browsing = task.existing.is_empty()
            && counts.reads < BROWSING_LIMIT
            && task.about_files
            && counts.writes == 0;
        let needs_command = task.run && (counts.succeeded_commands == 0 || !done);
        let is_question =
            !task.create && !task.change && !task.run && task.existing.is_empty() && task.about_files;
        // In a small workspace the model reads every file before it answers.
        let unseen = is_question
            && browsing
            && tools.read
            && !unread.is_empty()
            && workspace.files().len() <= SMALL_WORKSPACE_FILES;
        Self {
            read: if tools.read && (browsing || !done && task.run_first) { unread } else { Vec::new() },
            write: targets,
            write_new,
            shell: shell && (needs_command || is_question && counts.commands == 0),
            answer: done && (counts.has_steps || !task.about_files) && !unseen,
            unwritten: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty() && !self.write_new && !self.shell && !self.answer
    }
}

/// Counts of the steps so far.
#[derive(Default)]
struct StepCounts {
    has_steps: bool,
    reads: usize,
    writes: usize,
    failed_writes: usize,
    commands: usize,
    succeeded_commands: usize,
    failed_commands: usize,
    last_command_failed: bool,
}

impl StepCounts {
    fn from_steps(conversation: &Conversation) -> Self {
        let mut counts = Self { has_steps: !conversation.steps.is_empty(), ..Self::default() };
        for step in &conversation.steps {
            let failed = usize::from(step.failed);
            match step.action {
                Action::Read { .. } => counts.reads += 1,
                Action::Write { .. } => {
                    counts.writes += 1 - failed;
                    counts.failed_writes += failed;
                }
                Action::Shell { .. } => {
                    counts.commands += 1;
                    counts.succeeded_commands += 1 - failed;
                    counts.failed_commands += failed;
                    counts.last_command_failed = step.failed;
                }
            }
        }
        counts
    }
}

/// Returns the files that may be read: those that the task names, or all files if it names none. No file is read twice.
fn readable_files(task: &Task, conversation: &Conversation, workspace: &dyn WorkspaceFiles) -> Vec<String> {
    let candidates = if task.existing.is_empty() { workspace.files() } else { task.existing.clone() };
    candidates
        .into_iter()
        .filter(|file| {
            !conversation.has_tried_to_read(file) && !conversation.has_written(file) && workspace.exists(file)
        })
        .take(CHOICE_LIMIT)
        .collect()
}

/// Returns the files that the task requests and that do not exist yet.
fn missing_outputs(
    task: &Task,
    conversation: &Conversation,
    workspace: &dyn WorkspaceFiles,
    counts: &StepCounts,
) -> Vec<String> {
    if !(task.create || task.change || task.run) {
        return Vec::new();
    }
    let missing = task.missing.iter().filter(|file| is_within_workspace(file) && !workspace.exists(file));
    // A command may have written the destination.
    let has_run_command = counts.succeeded_commands > 0;
    let destinations =
        task.destinations.iter().filter(|file| !has_run_command && !conversation.has_written(file));
    missing.chain(destinations).cloned().collect()
}

/// Whether the task needs at least one write, under any name.
fn requires_write(task: &Task) -> bool {
    let names_no_file = task.missing.is_empty() && task.destinations.is_empty();
    !task.run && ((task.create && names_no_file) || (task.change && !task.existing.is_empty()))
}

/// Returns the files that may be written now: missing outputs and, for a change, files that were read and not yet written.
fn writable_files(task: &Task, conversation: &Conversation, due: Vec<String>) -> Vec<String> {
    // A file that the model has seen only in part must not be overwritten.
    let is_readable =
        |file: &String| conversation.has_read_completely(file) && !conversation.has_written(file);
    let mut targets: Vec<String> =
        due.into_iter().filter(|file| !task.destinations.contains(file) || is_readable(file)).collect();
    if task.change {
        targets.extend(task.existing.iter().filter(|&file| is_readable(file)).cloned());
    }
    targets.dedup();
    targets
}

/// Whether `path`, by its spelling, is within the workspace.
pub(crate) fn is_within_workspace(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with(['/', '~'])
        && path.split('/').all(|part| part != ".." && !part.is_empty())
}
