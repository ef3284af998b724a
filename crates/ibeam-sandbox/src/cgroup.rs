//! A bound on the number of processes: a pids cgroup where one can be made.
//!
//! `RLIMIT_NPROC` binds everybody but root, and counts all processes of the user; a cgroup binds root too. None
//! is made where this process may not, or where a cgroup has no pids controller to hand down.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

/// Its name begins so, followed by the process id of its maker.
const PREFIX: &str = "ibeam-";

/// A cgroup of our own, removed when dropped. Its processes must be gone by then, or it stays, empty or not.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    members: File,
}

impl Cgroup {
    /// A cgroup of at most this many processes; `None` where none can be made.
    pub(crate) fn new(processes: u32) -> Option<Self> {
        let ours = fs::read_to_string("/proc/self/cgroup").ok()?;
        let parent = candidate_parents(&ours).into_iter().find(|parent| parent.is_dir())?;
        remove_stale(&parent);
        let ours = std::process::id();
        let path = (0..64).map(|number| parent.join(format!("{PREFIX}{ours}-{number}"))).find(|path| {
            // A name that is taken is that of another server of this process.
            fs::create_dir(path).is_ok()
        })?;
        let limited = fs::write(path.join("pids.max"), processes.to_string());
        let members = OpenOptions::new().write(true).open(path.join("cgroup.procs"));
        match (limited, members) {
            (Ok(()), Ok(members)) => Some(Self { path, members }),
            (_, _) => {
                drop(fs::remove_dir(&path));
                None
            }
        }
    }

    /// Whether some process is a member, which the system may have refused.
    pub(crate) fn has_members(&self) -> bool {
        fs::read(self.path.join("cgroup.procs")).is_ok_and(|members| !members.is_empty())
    }

    /// Where a process writes `0` to become a member, with all it forks from then on.
    pub(crate) fn members(&self) -> &File {
        &self.members
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Commands may have been of our kind, and killed.
        remove_stale(&self.path);
        drop(fs::remove_dir(&self.path));
    }
}

/// Where cgroups of ours may lie, from the text of /proc/self/cgroup; the second hierarchy is the modern one.
fn candidate_parents(ours: &str) -> Vec<PathBuf> {
    let path_of = |line: &str| {
        let mut writable_parts = line.splitn(3, ':');
        let (number, controllers, path) =
            (writable_parts.next()?, writable_parts.next()?, writable_parts.next()?);
        let path = path.trim_start_matches('/');
        if controllers.split(',').any(|name| name == "pids") {
            return Some(Path::new("/sys/fs/cgroup/pids").join(path));
        }
        (number == "0" && controllers.is_empty()).then(|| Path::new("/sys/fs/cgroup").join(path))
    };
    ours.lines().filter_map(path_of).collect()
}

/// Removes what killed processes left; the system refuses it where processes still live.
fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if maker.is_some_and(|maker| !maker.is_empty() && !Path::new("/proc").join(maker).exists()) {
            drop(fs::remove_dir(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::candidate_parents;
    use std::path::Path;

    #[test]
    fn both_hierarchies_are_known() {
        let both = "9:name=systemd:/\n8:cpu,pids:/a/b\n0::/c\n";
        assert_eq!(
            candidate_parents(both),
            [Path::new("/sys/fs/cgroup/pids/a/b"), Path::new("/sys/fs/cgroup/c")]
        );
    }
}
