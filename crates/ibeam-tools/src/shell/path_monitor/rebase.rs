//! The list of steps of a stopped rebase: an `exec` step runs a command when a person continues the rebase.
//!
//! Commands may rebase, and stop at a conflict. They must not leave a step that runs a command and that was not in the
//! list before.

use std::path::Path;

use super::snapshot::SnapshotEntry;

/// The directory of a stopped rebase, in a git directory.
pub(super) const DIRECTORY: &str = "rebase-merge";
/// The list of steps in that directory.
pub(super) const STEPS_FILE: &str = "git-rebase-todo";

/// Whether `rel_path`, within a git directory, is the directory of a rebase or its list of steps.
pub(super) fn is_rebase_entry(rel_path: &Path) -> bool {
    rel_path
        .strip_prefix(DIRECTORY)
        .is_ok_and(|rest| rest.as_os_str().is_empty() || rest == Path::new(STEPS_FILE))
}

/// Whether a command is permitted to create this entry of a rebase, or to change it to `new_entry`.
pub(super) fn is_permitted(
    rel_path: &Path,
    old_entry: Option<&SnapshotEntry>,
    new_entry: &SnapshotEntry,
) -> bool {
    if rel_path == Path::new(DIRECTORY) {
        return new_entry.is_directory();
    }
    let old = old_entry.and_then(SnapshotEntry::content).unwrap_or_default();
    new_entry.content().is_some_and(|new| !adds_exec_steps(old, new))
}

/// Whether `new` has a step that runs a command and that `old` does not have.
fn adds_exec_steps(old: &[u8], new: &[u8]) -> bool {
    exec_steps(new).any(|step| !exec_steps(old).any(|known| known == step))
}

/// Returns the steps that run a command, in git's syntax: `exec COMMAND` or `x COMMAND`.
fn exec_steps(steps: &[u8]) -> impl Iterator<Item = &[u8]> {
    let steps = steps.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    steps.filter(|step| {
        let rest = step.strip_prefix(b"exec").or_else(|| step.strip_prefix(b"x"));
        rest.and_then(|rest| rest.first()).is_some_and(u8::is_ascii_whitespace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expect: bool) {
        assert_eq!(adds_exec_steps(old.as_bytes(), new.as_bytes()), expect, "{old:?} {new:?}");
    }

    #[test]
    fn only_a_new_step_that_runs_a_command_counts() {
        check("", "pick 1234567 exec x\nfixup 89abcde\n\n# exec a\nlabel exec\n", false);
        check("", "pick 1234567\nexec make\n", true);
        check("", "x make", true);
        check("", " \texec\tmake\r\n", true);
        check("", "execute make\nxmake\nx\nexec\n", false);
        check("pick 1\nexec make\npick 2\nexec make\n", "pick 2\nexec make\n", false);
        check("exec make\n", "exec make evil\n", true);
        check("# exec make\n", "exec make\n", true);
    }
}
