//! The system prompt: who the model is, what the project says of itself, where it works.
//!
//! Ordered from what never changes to what changes daily, so that provider caches hit. Starts no process: the
//! state of git is read from its files.

use std::io::Read;
use std::path::{Path, PathBuf};

use ibeam_protocol::PermissionMode;

use crate::regular_file;

const SYSTEM: &str = include_str!("../prompts/system.md");
const PLAN: &str = include_str!("../prompts/plan.md");
const ASK: &str = include_str!("../prompts/ask.md");

/// The names under which projects keep instructions for agents; the first found in a directory counts.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The most of one such file that is given to the model, in bytes.
const INSTRUCTIONS_LIMIT: usize = 32 * 1024;
/// `.git/HEAD` and the link to a work tree are a line each; what is larger is neither.
const GIT_FILE_LIMIT: u64 = 64 * 1024;

/// What the prompt is made of.
pub(crate) struct Surroundings<'a> {
    /// The workspace, absolute.
    pub(crate) workspace: &'a Path,
    /// Plan and ask modes say so to the model.
    pub(crate) mode: PermissionMode,
    /// Milliseconds since the Unix epoch.
    pub(crate) now_ms: u64,
}

/// Puts the system prompt together.
pub(crate) fn system_prompt(around: &Surroundings<'_>) -> String {
    let mut prompt = SYSTEM.to_owned();
    match around.mode {
        PermissionMode::Plan => prompt.push_str(PLAN),
        PermissionMode::Ask => prompt.push_str(ASK),
        PermissionMode::Default | PermissionMode::Force => {}
    }
    let top = repository_of(around.workspace);
    for file in instruction_files(around.workspace, top.as_deref()) {
        if let Some(text) = head_of(&file) {
            prompt.push_str(&format!(
                "\n# Instructions of the project, from {}\n\n{}\n",
                file.display(),
                text.trim()
            ));
        }
    }
    prompt.push_str("\n# Environment\n\n");
    prompt.push_str(&format!("Working directory: {}\n", around.workspace.display()));
    match &top {
        Some(top) => prompt.push_str(&format!("Git repository: {}{}\n", top.display(), branch_of(top))),
        None => prompt.push_str("Git repository: none\n"),
    }
    prompt.push_str(&format!("Platform: {}\n", std::env::consts::OS));
    if let Some(date) = date_of(around.now_ms) {
        prompt.push_str(&format!("Date: {date}\n"));
    }
    prompt
}

/// The instruction files from the repository's top down to the workspace.
fn instruction_files(workspace: &Path, top: Option<&Path>) -> Vec<PathBuf> {
    let mut directories: Vec<&Path> = workspace
        .ancestors()
        .take_while(|directory| top.is_some_and(|top| directory.starts_with(top)))
        .collect();
    if directories.is_empty() {
        directories.push(workspace);
    }
    directories.reverse();
    let in_directory =
        |directory: &Path| INSTRUCTIONS.iter().map(|name| directory.join(name)).find(|path| path.is_file());
    directories.into_iter().filter_map(in_directory).collect()
}

fn head_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(INSTRUCTIONS_LIMIT).unwrap_or(u64::MAX);
    regular_file::open(path, true).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if bytes.len() == INSTRUCTIONS_LIMIT {
        text.push_str("\n… the rest of this file is left out; read it when you need it.");
    }
    (!text.trim().is_empty()).then_some(text)
}

fn repository_of(workspace: &Path) -> Option<PathBuf> {
    workspace.ancestors().find(|directory| directory.join(".git").exists()).map(Path::to_owned)
}

/// The branch, read from `.git/HEAD`; nothing where it cannot be told.
fn branch_of(top: &Path) -> String {
    let dot_git = top.join(".git");
    let text = |path: &Path| String::from_utf8(regular_file::read(path, GIT_FILE_LIMIT).ok()?).ok();
    let directory = match text(&dot_git) {
        Some(link) => match link.trim().strip_prefix("gitdir: ") {
            Some(target) => top.join(target),
            None => return String::new(),
        },
        None => dot_git,
    };
    let Some(head) = text(&directory.join("HEAD")) else { return String::new() };
    match head.trim().strip_prefix("ref: refs/heads/") {
        Some(branch) => format!(" (branch {branch})"),
        None => format!(" (detached at {})", head.trim().get(..12).unwrap_or_else(|| head.trim())),
    }
}

fn date_of(now_ms: u64) -> Option<String> {
    let now = jiff::Timestamp::from_millisecond(i64::try_from(now_ms).ok()?).ok()?;
    Some(now.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn prompt_in(workspace: &Path) -> String {
        system_prompt(&Surroundings { workspace, mode: PermissionMode::Default, now_ms: 1_790_000_000_000 })
    }

    #[test]
    fn instructions_come_from_the_repository_down_to_the_workspace() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("inner");
        fs::create_dir_all(root.path().join(".git")).unwrap();
        fs::create_dir(&inner).unwrap();
        fs::write(root.path().join(".git/HEAD"), "ref: refs/heads/trunk\n").unwrap();
        fs::write(root.path().join("CLAUDE.md"), "outer rule").unwrap();
        fs::write(inner.join("AGENTS.md"), "inner rule").unwrap();
        fs::write(inner.join("CLAUDE.md"), "not this one").unwrap();
        let prompt = prompt_in(&inner);
        assert!(prompt.find("outer rule").unwrap() < prompt.find("inner rule").unwrap());
        assert!(!prompt.contains("not this one"));
        assert!(prompt.contains("(branch trunk)"), "{prompt}");
        assert!(prompt.contains("Date: 2026-09-21"), "{prompt}");
    }

    #[test]
    fn instructions_above_the_repository_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("inner");
        fs::create_dir_all(inner.join(".git")).unwrap();
        fs::write(root.path().join("AGENTS.md"), "somebody else's").unwrap();
        assert!(!prompt_in(&inner).contains("somebody else's"));
    }
}
