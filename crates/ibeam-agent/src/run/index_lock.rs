//! The lock that a killed git leaves in a repository, which blocks every later one until somebody removes it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Whether no process holds the lock of an index at `path`: none has it open, and no git runs in its work tree, which
/// closes the lock while it waits for an editor or a hook. What cannot be read counts as held.
pub(super) fn is_left_behind(path: &Path) -> bool {
    let Some(work_tree) = path.parent().and_then(Path::parent) else { return false };
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    is_file && !processes.flatten().any(|process| may_hold(&process.path(), path, work_tree))
}

/// Whether the process with this directory of `/proc` may hold the lock.
fn may_hold(process: &Path, lock: &Path, work_tree: &Path) -> bool {
    // Other entries have no such file.
    let Ok(name) = fs::read_to_string(process.join("comm")) else { return false };
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let has_open = open.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file == lock);
    let is_near = || match fs::read_link(process.join("cwd")) {
        Ok(directory) => directory.starts_with(work_tree),
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    has_open || (name.starts_with("git") && is_near())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_left_behind_once_no_process_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let lock = root.join(".git/index.lock");
        assert!(!is_left_behind(&lock), "there is none");
        fs::create_dir(root.join(".git")).unwrap();
        let held = fs::File::create(&lock).unwrap();
        assert!(!is_left_behind(&lock));
        drop(held);
        assert!(is_left_behind(&lock));
        // A git that waits, with the lock closed.
        let program = root.join("git");
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut git = std::process::Command::new(&program).arg("600").current_dir(&root).spawn().unwrap();
        let is_held = !is_left_behind(&lock);
        git.kill().and_then(|()| git.wait()).unwrap();
        assert!(is_held);
        fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &lock).unwrap();
        assert!(!is_left_behind(&lock), "a link");
    }
}
