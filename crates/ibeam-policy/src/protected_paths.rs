//! Paths that are protected even inside the workspace: devices, state of processes, and the table of names.

use std::path::{Component, Path};

use crate::fold::fold;
use crate::glob::PathGlob;
use crate::names;
use crate::policy::Policy;

/// System files that expose the state of the machine, block, or never end.
const DEVICES: &[&str] = &["/dev", "/proc/kcore", "/proc/kmsg"];

impl Policy {
    /// Returns a name for the secret that `path` is or is below: a credential, a device or a directory of ibeam.
    pub(crate) fn secret_name(&self, path: &Path) -> Option<&'static str> {
        if self.private_dirs.iter().any(|private| path.starts_with(private)) {
            return Some("ibeam's own directory");
        }
        if self.surrounding_dirs.iter().any(|around| path.starts_with(around)) && !self.is_in_workspace(path)
        {
            return Some("the directory of the fleet");
        }
        if self.credential_files.iter().any(|named| path.starts_with(named)) {
            return Some("credentials that the environment or the configuration names");
        }
        let homes = std::iter::once(&self.home).chain(&self.other_home);
        homes.into_iter().find_map(|home| built_in_secret_name(path, home))
    }

    /// Returns the protected name in `path`, or the name of the secret that `path` is or is below.
    pub(crate) fn protected_name(&self, path: &Path) -> Option<&str> {
        let own = std::iter::once(&self.workspace).chain(&self.extra_dirs);
        let depth = own.filter(|directory| path.starts_with(directory)).map(|own| name_count(own)).max();
        let by_use = || {
            let protected = self.protected_paths.iter().find(|protected| is_in(path, protected))?;
            protected.file_name()?.to_str()
        };
        let by_name = names::first_protected_name(path, depth.unwrap_or(0)).map(|entry| entry.name);
        by_name.or_else(|| self.secret_name(path)).or_else(by_use)
    }
}

/// Returns the name of the secret that `path` is or is below.
fn built_in_secret_name(path: &Path, home: &Path) -> Option<&'static str> {
    if let Some(device) = DEVICES.iter().find(|device| path.starts_with(device)) {
        return (path != Path::new("/dev/null")).then_some(*device);
    }
    if let Ok(name) = path.strip_prefix("/etc/ssh") {
        let name = name.to_string_lossy();
        return (name.starts_with("ssh_host_") && !name.ends_with(".pub")).then_some("/etc/ssh");
    }
    if let Ok(rest) = path.strip_prefix("/proc") {
        // `/proc/cpuinfo` is harmless; `/proc/self/environ` contains keys.
        let first = rest.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
        return first
            .filter(|name| name.ends_with("self") || name.starts_with(|c: char| c.is_ascii_digit()))
            .map(|_| "/proc");
    }
    names::find_credential(path, home).map(|entry| entry.name)
}

/// Whether `path` is `top` or below `top`. Names are compared as the most lenient file system compares them.
fn is_in(path: &Path, top: &Path) -> bool {
    let mut names = path.components();
    top.components().all(|name| {
        names.next().is_some_and(|other| {
            name == other
                || fold(&name.as_os_str().to_string_lossy()) == fold(&other.as_os_str().to_string_lossy())
        })
    })
}

/// Whether a path can be checked by its text: absolute, without `..` and NUL.
pub(crate) fn is_resolved(path: &Path) -> bool {
    path.is_absolute()
        && !path.as_os_str().as_encoded_bytes().contains(&0)
        && !path.components().any(|component| component == Component::ParentDir)
}

/// Returns the number of names in `path`.
fn name_count(path: &Path) -> usize {
    path.components().filter(|component| matches!(component, Component::Normal(_))).count()
}

/// Whether a pattern names the protected name `name` explicitly: `Write(**)` does not lift the protection of
/// `.git/hooks`.
pub(crate) fn names_explicitly(glob: &PathGlob, name: &str) -> bool {
    let first = name.trim_start_matches('/').split('/').next().unwrap_or(name);
    glob.is_plain() || glob.names_component(first)
}
