//! PathList that need more than being in the workspace: devices, state of processes, and what the table of names has.

use std::path::{Component, Path};

use crate::fold::fold;
use crate::names;

/// System files that tell the state of the machine, wait, or never end.
const DEVICES: &[&str] = &["/dev", "/proc/kcore", "/proc/kmsg"];

/// The name of the secret that `path` is or lies in.
pub(crate) fn credential(path: &Path, home: &Path) -> Option<&'static str> {
    if let Some(device) = DEVICES.iter().find(|device| path.starts_with(device)) {
        return (path != Path::new("/dev/null")).then_some(*device);
    }
    if let Ok(name) = path.strip_prefix("/etc/ssh") {
        let name = name.to_string_lossy();
        return (name.starts_with("ssh_host_") && !name.ends_with(".pub")).then_some("/etc/ssh");
    }
    if let Ok(rest) = path.strip_prefix("/proc") {
        // `/proc/cpuinfo` is fine, `/proc/self/environ` has our keys.
        let first = rest.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
        return first
            .filter(|name| name.ends_with("self") || name.starts_with(|c: char| c.is_ascii_digit()))
            .map(|_| "/proc");
    }
    names::credential(path, home).map(|entry| entry.name)
}

/// Whether `path` is `place` or lies below it, for some file system.
pub(crate) fn lies_in(path: &Path, place: &Path) -> bool {
    let mut names = path.components();
    place.components().all(|name| {
        names.next().is_some_and(|other| {
            name == other
                || fold(&name.as_os_str().to_string_lossy()) == fold(&other.as_os_str().to_string_lossy())
        })
    })
}

/// True for a path that can be judged by its spelling: absolute, without `..` and NUL.
pub(crate) fn is_resolved(path: &Path) -> bool {
    path.is_absolute()
        && !path.as_os_str().as_encoded_bytes().contains(&0)
        && !path.components().any(|component| component == Component::ParentDir)
}
