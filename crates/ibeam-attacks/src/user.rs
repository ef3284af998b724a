//! The users that run a case, and the command prefixes that start a program as such a user.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::{Gid, Uid, geteuid};
use serde::{Deserialize, Serialize};

/// The unprivileged user that runs a case in addition to root.
const NOBODY: u32 = 65_534;
/// The directories of system programs.
pub(crate) const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A user that runs a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum User {
    Root,
    /// The user `nobody`, or the current user if the runner is not root.
    Nobody,
}

impl User {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Nobody => "nobody",
        }
    }

    /// Returns the reason why the runner cannot start programs as this user.
    pub(crate) fn unavailable_reason(self) -> Option<&'static str> {
        (self == Self::Root && !geteuid().is_root()).then_some("the runner is not root")
    }

    /// Returns the reason why a case with this requirement does not run as this user.
    pub(crate) fn unmet_requirement(self, requires: &str) -> Option<String> {
        match (requires, self) {
            ("uid0" | "root", Self::Root) | ("non-root" | "nobody", Self::Nobody) => None,
            ("uid0" | "root" | "non-root" | "nobody", _) => Some(format!("requires {requires}")),
            _ => Some(format!("the runner cannot provide `{requires}`")),
        }
    }

    /// Returns the owner of the fixture's files.
    pub(crate) fn owner(self) -> (Uid, Gid) {
        match self {
            Self::Nobody if geteuid().is_root() => (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY)),
            Self::Nobody | Self::Root => (geteuid(), rustix::process::getegid()),
        }
    }

    /// Returns the command prefix that starts a program as this user, without the capabilities that root of a user
    /// namespace would have given it.
    pub(crate) fn launcher(self) -> Vec<OsString> {
        let words: &[&str] = match self {
            Self::Root => &[],
            Self::Nobody if geteuid().is_root() => {
                &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            }
            Self::Nobody => &["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"],
        };
        with_absolute_program(words)
    }

    /// Returns the command prefix that also prevents further user namespaces.
    pub(crate) fn launcher_without_user_namespaces(self) -> Option<Vec<OsString>> {
        const FORBID_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
        let mut words = match self {
            Self::Nobody if geteuid().is_root() => self.launcher(),
            Self::Nobody | Self::Root => Vec::new(),
        };
        words.extend(with_absolute_program(&["unshare", "--user", "--map-current-user", "--keep-caps"]));
        words.extend(["/bin/sh", "-c", FORBID_NAMESPACES].map(OsString::from));
        if self == Self::Nobody {
            words.extend(with_absolute_program(&[
                "setpriv",
                "--inh-caps=-all",
                "--ambient-caps=-all",
                "--bounding-set=-all",
            ]));
        }
        let works = std::process::Command::new(words.first()?).args(words.get(1..)?).arg("true").output();
        works.is_ok_and(|ended| ended.status.success()).then_some(words)
    }
}

/// Finds a program of the system, independent of the case's `PATH`.
pub(crate) fn find_system_program(name: &str) -> Option<PathBuf> {
    find_program(name, SYSTEM_PATH)
}

/// Finds a program in one of the directories of `path`.
pub(crate) fn find_program(name: &str, path: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |file: &PathBuf| {
        let metadata = std::fs::metadata(file);
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    path.split(':').map(|directory| Path::new(directory).join(name)).find(runs)
}

/// Returns the words of a command with the absolute path of its program.
fn with_absolute_program(words: &[&str]) -> Vec<OsString> {
    let first =
        words.first().map(|name| find_system_program(name).unwrap_or_else(|| name.into()).into_os_string());
    first.into_iter().chain(words.iter().skip(1).map(OsString::from)).collect()
}
