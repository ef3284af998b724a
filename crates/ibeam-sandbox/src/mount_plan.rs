//! The commands' view of the files, planned by the parent as lists of paths, because the child cannot allocate.
//!
//! The child changes its copy of the system's mounts in place, so that links and unusual layouts stay as they are.
//! Steps in order:
//!
//! 1. Mounts that the next steps would overmount are cloned: writable directories, devices, paths that stay visible.
//! 2. Everything else becomes read-only and ignores devices and set-uid programs.
//! 3. `/proc` is mounted for the new pid namespace, where the system allows that, and made read-only, because root owns
//!    `/proc/sys` even without capabilities. Elsewhere the directories of existing processes are masked; those of later
//!    processes are visible.
//! 4. Directories of one tmpfs are mounted over directories of the system: `/tmp`, `/var/tmp` and `/dev/shm` are
//!    private and empty, `/dev` has only harmless devices, `/run` has no sockets. Directories around the workspace that
//!    commands must not see are covered in the same way.
//! 5. The clones of step 1 are mounted at their own paths.
//! 6. Each read-only path becomes a read-only mount, and each directory between it and the writable root becomes a
//!    mount too. A mount point cannot be renamed, so a protected path cannot be moved away. The same holds for hidden
//!    paths, which the next run must find.
//! 7. Hidden paths are masked with empty files and directories.
//!
//! A workspace at `/` cannot be cloned. Step 2 then leaves everything writable except [`SYSTEM_DIRS`]; the other steps
//! do not change. A workspace that is a home directory is writable except for its protected and hidden paths.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::confinement::Confinement;

/// Directories that stay read-only when the workspace is `/`.
pub(crate) const SYSTEM_DIRS: [&str; 16] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/sbin",
    "/sys", "/usr", "/var", "/efi",
];
/// Directories that are replaced by private, empty directories for the commands.
const PRIVATE_DIRS: [&str; 2] = ["/tmp", "/var/tmp"];
/// Directories with the sockets of system services.
const RUN_DIRS: [&str; 2] = ["/run", "/var/run"];
/// Paths in `/run` that programs need and that are not sockets.
const PRESERVED_RUN_PATHS: [&str; 7] = [
    "/run/.containerenv",
    "/run/booted-system",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
];
/// Devices without state, as names in `/dev`.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Links in the private `/dev`: the path of the link in the tmpfs, and its target.
const DEV_LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
];
/// Directories that reveal more about the machine than commands need.
const SENSITIVE_PATHS: [&str; 3] = ["/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware"];

/// Memory that a file in a tmpfs uses besides its bytes: its entry and first page.
const BYTES_PER_FILE: u64 = 8192;
/// Minimum number of files in the tmpfs; the mounts of the sandbox need some.
const MIN_FILES: u64 = 16_384;
/// Maximum number of processes whose directories are masked; each one is a mount.
const MAX_OTHER_PROCESSES: usize = 4096;

/// Name of the empty directory in the tmpfs, which masks hidden directories.
pub(crate) const EMPTY_DIR: &std::ffi::CStr = c"empty";
/// Name of the empty file in the tmpfs, which masks hidden files.
pub(crate) const EMPTY_FILE: &std::ffi::CStr = c"nothing";

#[derive(Debug, Default)]
pub(crate) struct MountPlan {
    /// Makes everything read-only that is not a writable bind mount.
    pub(crate) read_only_root: bool,
    pub(crate) visibility: ProcessVisibility,
    pub(crate) tmpfs_options: CString,
    /// Directories in `/proc` of processes outside the pid namespace.
    pub(crate) other_processes: Vec<CString>,
    /// Paths that become read-only before the tmpfs is mounted.
    pub(crate) read_only_system: Vec<CString>,
    pub(crate) bind_mounts: Vec<BindMount>,
    pub(crate) tmpfs_entries: Vec<TmpfsEntry>,
    pub(crate) overmounts: Vec<Overmount>,
    pub(crate) pinned: Vec<PinnedMount>,
    pub(crate) masked: Vec<MaskedPath>,
}

/// Which processes commands can see and signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProcessVisibility {
    /// Only processes of their own pid namespace, with a `/proc` for it.
    #[default]
    OwnNamespace,
    /// Only processes of their own pid namespace, but with the `/proc` of the system, because containers that mask
    /// parts of `/proc` do not allow a new one. Processes outside cannot be signalled. The pids in `/proc` differ from
    /// those that commands use.
    OwnNamespaceSharedProc,
    /// All processes of the system.
    All,
}

impl ProcessVisibility {
    /// Whether commands have their own pid namespace.
    pub(crate) fn has_pid_namespace(self) -> bool {
        match self {
            Self::OwnNamespace | Self::OwnNamespaceSharedProc => true,
            Self::All => false,
        }
    }
}

/// A path that is mounted again at the same place, above the tmpfs mounts.
#[derive(Debug)]
pub(crate) struct BindMount {
    pub(crate) path: CString,
    pub(crate) kind: BindKind,
}

/// The access that commands have to a bind mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BindKind {
    /// Read and write.
    Writable,
    /// Read, but not write.
    ReadOnly,
    /// Use a device.
    Device,
}

/// An entry of the tmpfs; its path is relative.
#[derive(Debug)]
pub(crate) enum TmpfsEntry {
    Directory(CString),
    /// A directory with mode 1777.
    WorldWritableDirectory(CString),
    File(CString),
    /// A symbolic link: its path and its target.
    Link(CString, CString),
}

/// A directory of the tmpfs that is mounted over a directory of the system.
#[derive(Debug)]
pub(crate) struct Overmount {
    /// The directory of the system.
    pub(crate) path: CString,
    /// The path of the directory in the tmpfs.
    pub(crate) name: CString,
    pub(crate) read_only: bool,
}

/// A path that becomes a mount point, so that it cannot be renamed; optionally read-only.
#[derive(Debug)]
pub(crate) struct PinnedMount {
    pub(crate) path: CString,
    pub(crate) read_only: bool,
}

/// A hidden path, over which an empty file or directory is mounted.
#[derive(Debug)]
pub(crate) struct MaskedPath {
    pub(crate) path: CString,
    pub(crate) is_directory: bool,
}

impl MountPlan {
    /// Creates the plan. `confinement` must have resolved paths.
    pub(crate) fn new(confinement: &Confinement, visibility: ProcessVisibility) -> Self {
        let is_root_writable = confinement.writable.iter().any(|path| path == Path::new("/"));
        let other_processes = match visibility {
            ProcessVisibility::OwnNamespace => Vec::new(),
            ProcessVisibility::OwnNamespaceSharedProc | ProcessVisibility::All => other_process_dirs(),
        };
        let tmpfs_options = tmpfs_options(confinement.max_scratch_size);
        let mut plan = Self {
            read_only_root: !is_root_writable,
            visibility,
            other_processes,
            tmpfs_options,
            ..Self::default()
        };
        if is_root_writable {
            let system = SYSTEM_DIRS.iter().map(Path::new).filter(|path| is_directory(path));
            plan.read_only_system.extend(system.map(c_string));
        }
        plan.overmount_system_dirs();
        for (number, path) in confinement.covered.iter().enumerate() {
            plan.overmount(path, &format!("covered-{number}"), true);
        }
        plan.add_bind_mounts(confinement);
        plan.pin_protected_paths(confinement);
        plan.mask_hidden_paths(confinement);
        plan
    }

    fn overmount_system_dirs(&mut self) {
        self.tmpfs_entries
            .extend([TmpfsEntry::Directory(EMPTY_DIR.to_owned()), TmpfsEntry::File(EMPTY_FILE.to_owned())]);
        self.overmount(Path::new("/dev"), "dev", true);
        self.overmount(Path::new("/dev/shm"), "shm", false);
        for path in RUN_DIRS.iter().filter_map(|path| fs::canonicalize(path).ok()) {
            self.overmount(&path, "run", true);
        }
        for (path, name) in PRIVATE_DIRS.into_iter().zip(["tmp", "var-tmp"]) {
            if let Ok(path) = fs::canonicalize(path) {
                self.overmount(&path, name, false);
            }
        }
        for (link, target) in DEV_LINKS {
            self.tmpfs_entries.push(TmpfsEntry::Link(c_string(Path::new(link)), c_string(Path::new(target))));
        }
        self.tmpfs_entries.push(TmpfsEntry::Directory(c"dev/pts".to_owned()));
        for device in DEVICES {
            let path = Path::new("/dev").join(device);
            if fs::metadata(&path).is_ok_and(|found| found.file_type().is_char_device()) {
                self.tmpfs_entries.push(TmpfsEntry::File(c_string(&Path::new("dev").join(device))));
                self.bind_mounts.push(BindMount { path: c_string(&path), kind: BindKind::Device });
            }
        }
        for preserved in PRESERVED_RUN_PATHS.map(Path::new) {
            let Ok(found) = fs::symlink_metadata(preserved) else { continue };
            if let (true, Ok(target)) = (found.is_symlink(), fs::read_link(preserved)) {
                if let Some(name) = self.create_parents(preserved) {
                    self.tmpfs_entries.push(TmpfsEntry::Link(name, c_string(&target)));
                }
            } else if found.is_file() {
                self.keep_visible(preserved, BindKind::ReadOnly);
            }
        }
    }

    /// Plans a tmpfs directory over `path`, which may itself be below such a directory.
    fn overmount(&mut self, path: &Path, name: &str, read_only: bool) {
        if self.overmounts.iter().any(|overmount| overmount.path.as_bytes() == path.as_os_str().as_bytes()) {
            return;
        }
        if let Some(entry) = self.create_parents(path) {
            self.tmpfs_entries.push(TmpfsEntry::Directory(entry));
        }
        let name = c_string(Path::new(name));
        self.tmpfs_entries.push(if read_only {
            TmpfsEntry::Directory(name.clone())
        } else {
            TmpfsEntry::WorldWritableDirectory(name.clone())
        });
        self.overmounts.push(Overmount { path: c_string(path), name, read_only });
    }

    /// Returns the path in the tmpfs if a tmpfs directory covers `path`, and plans its parent directories.
    ///
    /// In a world-writable directory, the first parent becomes a read-only mount, so that neither it nor anything below
    /// it can be renamed.
    fn create_parents(&mut self, path: &Path) -> Option<CString> {
        let overmounts = self
            .overmounts
            .iter()
            .filter_map(|overmount| Some((overmount, path.strip_prefix(to_path(&overmount.path)).ok()?)));
        let (overmount, rest) = overmounts.min_by_key(|(_, rest)| rest.as_os_str().len())?;
        let (is_world_writable, outside, root) =
            (!overmount.read_only, to_path(&overmount.path).to_owned(), to_path(&overmount.name).to_owned());
        let mut parents: Vec<&Path> =
            rest.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()).collect();
        parents.reverse();
        let entry = c_string(&root.join(rest));
        for (depth, parent) in parents.into_iter().enumerate() {
            let name = c_string(&root.join(parent));
            self.tmpfs_entries.push(TmpfsEntry::Directory(name.clone()));
            if is_world_writable && depth == 0 {
                self.overmounts.push(Overmount {
                    path: c_string(&outside.join(parent)),
                    name,
                    read_only: true,
                });
            }
        }
        Some(entry)
    }

    fn add_bind_mounts(&mut self, confinement: &Confinement) {
        let writable = confinement.writable.iter().map(|path| (path, BindKind::Writable));
        let visible =
            confinement.visible.iter().chain(&confinement.sockets).map(|path| (path, BindKind::ReadOnly));
        // Parents come first. If a path is both visible and writable, it is writable.
        for (path, kind) in visible.chain(writable).collect::<BTreeMap<_, _>>() {
            if path != Path::new("/") {
                self.keep_visible(path, kind);
            }
        }
    }

    /// Plans a bind mount for a path, unless the path stays the same without it or is part of another bind mount.
    fn keep_visible(&mut self, path: &Path, kind: BindKind) {
        let above = self.bind_mounts.iter().rfind(|mount| path.starts_with(to_path(&mount.path)));
        let is_covered = self.overmounts.iter().any(|overmount| path.starts_with(to_path(&overmount.path)));
        match (above.map(|above| above.kind), kind) {
            (Some(BindKind::Writable), _) | (Some(BindKind::ReadOnly), BindKind::ReadOnly) => return,
            (None, BindKind::ReadOnly) if !is_covered => return,
            (Some(BindKind::ReadOnly | BindKind::Device) | None, _) => {}
        }
        if above.is_none()
            && let Some(entry) = self.create_parents(path)
        {
            self.tmpfs_entries.push(if is_directory(path) {
                TmpfsEntry::Directory(entry)
            } else {
                TmpfsEntry::File(entry)
            });
        }
        self.bind_mounts.push(BindMount { path: c_string(path), kind });
    }

    fn pin_protected_paths(&mut self, confinement: &Confinement) {
        let mut pinned: BTreeMap<&Path, bool> = BTreeMap::new();
        let protected = confinement.read_only.iter().map(|path| (path, true));
        let hidden = confinement.hidden.iter().map(|path| (path, false));
        for (path, is_read_only) in protected.chain(hidden) {
            for root in &confinement.writable {
                if root.starts_with(path) && is_read_only {
                    pinned.insert(root, true);
                } else if path.starts_with(root) {
                    let between = path.ancestors().skip(1).take_while(|above| *above != root);
                    between.for_each(|above| *pinned.entry(above).or_default() |= false);
                    if is_read_only {
                        pinned.insert(path, true);
                    }
                }
            }
        }
        let mut read_only: Option<&Path> = None;
        for (path, is_read_only) in pinned {
            if read_only.is_some_and(|above| path.starts_with(above)) {
                continue;
            }
            read_only = is_read_only.then_some(path).or(read_only);
            self.pinned.push(PinnedMount { path: c_string(path), read_only: is_read_only });
        }
    }

    fn mask_hidden_paths(&mut self, confinement: &Confinement) {
        let sensitive = SENSITIVE_PATHS.map(PathBuf::from);
        let candidates = confinement.hidden.iter().chain(&sensitive);
        let candidates =
            candidates.filter_map(|path| Some((path.clone(), fs::metadata(path).ok()?.is_dir())));
        let all: BTreeMap<PathBuf, bool> = candidates.collect();
        let mut last: Option<PathBuf> = None;
        for (path, is_directory) in all {
            if last.as_ref().is_none_or(|above| !path.starts_with(above)) {
                self.masked.push(MaskedPath { path: c_string(&path), is_directory });
                last = Some(path);
            }
        }
    }
}

fn tmpfs_options(bytes: Option<u64>) -> CString {
    let bound =
        bytes.map(|bytes| format!(",size={bytes},nr_inodes={}", MIN_FILES.max(bytes / BYTES_PER_FILE)));
    CString::new(format!("mode=0755{}", bound.unwrap_or_default())).unwrap_or_default()
}

/// Returns the directories in `/proc` of all processes. Must be called before the server is forked.
fn other_process_dirs() -> Vec<CString> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_process =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes().iter().all(u8::is_ascii_digit));
    entries.filter(is_process).take(MAX_OTHER_PROCESSES).map(|path| c_string(&path)).collect()
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Converts a path. A path with a NUL byte does not exist and becomes the empty path.
fn c_string(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn to_path(text: &std::ffi::CStr) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(text.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(confinement: &Confinement) -> MountPlan {
        MountPlan::new(confinement, ProcessVisibility::OwnNamespace)
    }

    fn writable(path: &str) -> Confinement {
        Confinement { writable: vec![path.into()], ..Confinement::default() }
    }

    fn paths<'a>(texts: impl Iterator<Item = &'a CString>) -> Vec<&'a str> {
        texts.map(|text| text.to_str().unwrap()).collect()
    }

    #[test]
    fn every_directory_above_a_read_only_path_is_pinned_and_nothing_below_it() {
        let mut confinement = writable("/w");
        confinement.read_only =
            ["/w/a/b/preserved", "/w/a/b/preserved/below", "/elsewhere/preserved", "/w/top"]
                .map(PathBuf::from)
                .into();
        confinement.hidden = ["/w/a/c/hidden", "/home/hidden"].map(PathBuf::from).into();
        let pinned = plan(&confinement).pinned;
        let pinned: Vec<_> =
            pinned.iter().map(|guard| (guard.path.to_str().unwrap(), guard.read_only)).collect();
        let expected = [
            ("/w/a", false),
            ("/w/a/b", false),
            ("/w/a/b/preserved", true),
            ("/w/a/c", false),
            ("/w/top", true),
        ];
        assert_eq!(pinned, expected);
    }

    #[test]
    fn a_read_only_directory_makes_a_writable_one_below_it_read_only() {
        let mut confinement = writable("/w/in");
        confinement.read_only = vec!["/w".into()];
        let pinned = plan(&confinement).pinned;
        assert_eq!(
            pinned.iter().map(|guard| (to_path(&guard.path), guard.read_only)).collect::<Vec<_>>(),
            [(Path::new("/w/in"), true)]
        );
    }

    #[test]
    fn bind_mounts_are_ordered_from_parent_to_child_without_duplicates() {
        let mut confinement = writable("/tmp/u/home/work");
        confinement.visible =
            ["/tmp/u/home", "/tmp/u/home/bin", "/usr/bin", "/tmp/u/home/work/bin"].map(PathBuf::from).into();
        let plan = plan(&confinement);
        let mount: Vec<_> = plan.bind_mounts.iter().filter(|mount| mount.kind != BindKind::Device).collect();
        let kinds: Vec<_> = mount.iter().map(|mount| mount.kind).collect();
        assert_eq!(paths(mount.iter().map(|mount| &mount.path)), ["/tmp/u/home", "/tmp/u/home/work"]);
        assert_eq!(kinds, [BindKind::ReadOnly, BindKind::Writable]);
        // Its parent is created and cannot be renamed.
        let read_only =
            plan.overmounts.iter().filter(|overmount| overmount.read_only).map(|overmount| &overmount.path);
        assert!(paths(read_only).contains(&"/tmp/u"), "{:?}", plan.overmounts);
    }

    #[test]
    fn a_workspace_at_the_root_leaves_system_directories_read_only() {
        let plan = plan(&writable("/"));
        assert!(!plan.read_only_root && paths(plan.read_only_system.iter()).contains(&"/etc"));
        assert!(plan.bind_mounts.iter().all(|mount| mount.kind != BindKind::Writable));
        assert!(MountPlan::new(&writable("/w"), ProcessVisibility::OwnNamespace).read_only_root);
    }
}
