//! What commands are to see of the files, decided by the parent: paths in order, for a child that cannot allocate.
//!
//! The child changes its copy of the system's mounts in place, so links and odd layouts stay as they are. In order:
//!
//! 1. What must outlive the following is *taken*: writable directories, devices, what must stay visible.
//! 2. Everything else becomes read-only, and no device or set-uid program works in it.
//! 3. `/proc` becomes that of the new process ids, where the system allows that, and read-only: root without
//!    capabilities owns `/proc/sys` all the same. Elsewhere the directories of the processes that exist are covered;
//!    those of later ones can be seen.
//! 4. *Covers*: `/tmp`, `/var/tmp` and `/dev/shm` become private and empty, `/dev` has harmless devices only, `/run`
//!    is without sockets. All are directories of one file system in memory.
//! 5. What was taken comes back at its own path.
//! 6. *Guards*: a path that is kept as it is becomes a read-only mount, and every directory between it and the
//!    writable root a mount too: what is a mount cannot be renamed, and so a guarded path cannot be moved away. Nor
//!    can a hidden one, which the next run would look for in vain.
//! 7. MaskedPath paths become empty.
//!
//! A workspace that is `/` cannot be taken. Then 2 leaves everything writable but [`SYSTEM_DIRS`]; all else holds. A
//! workspace that is a home directory is writable but for what its owner guards and hides.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::confinement::Confinement;

/// What stays read-only though the workspace is `/`.
pub(crate) const SYSTEM_DIRS: [&str; 16] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/sbin",
    "/sys", "/usr", "/var", "/efi",
];
/// Directories of which commands get an empty one of their own.
const PRIVATE_DIRS: [&str; 2] = ["/tmp", "/var/tmp"];
/// Where the sockets of the system's services are.
const RUN_DIRS: [&str; 2] = ["/run", "/var/run"];
/// What of it is none, and is looked for by programs.
const PRESERVED_RUN_PATHS: [&str; 7] = [
    "/run/.containerenv",
    "/run/booted-system",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
];
/// Devices that are nobody's.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const DEV_LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
];
/// What tells more of the machine than commands need.
const SENSITIVE_PATHS: [&str; 3] = ["/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware"];

/// Of a file in memory, its entry and its first page are held besides its bytes: so many bytes for each file.
const BYTES_PER_FILE: u64 = 8192;
/// Files that the file system in memory may have in any case; the mounts of the sandbox need some.
const MIN_FILES: u64 = 16_384;
/// Processes whose directories are covered; each is a mount.
const MAX_OTHER_PROCESSES: usize = 4096;

/// The directory of the file system in memory that is empty, and the file that is.
pub(crate) const EMPTY_DIR: &std::ffi::CStr = c"empty";
pub(crate) const EMPTY_FILE: &std::ffi::CStr = c"nothing";

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct MountPlan {
    /// Everything is read-only that is not taken as writable.
    pub(crate) read_only_root: bool,
    pub(crate) processes: Processes,
    /// The options of the file system in memory.
    pub(crate) tmpfs_options: CString,
    /// Directories in `/proc` of processes that do not belong to the commands.
    pub(crate) other_processes: Vec<CString>,
    /// Guards that are made before there are covers.
    pub(crate) read_only_system: Vec<CString>,
    pub(crate) bind_mounts: Vec<BindMount>,
    pub(crate) tmpfs_entries: Vec<TmpfsEntry>,
    pub(crate) overmounts: Vec<Overmount>,
    pub(crate) pinned: Vec<PinnedMount>,
    pub(crate) masked: Vec<MaskedPath>,
}

/// Which processes commands can reach and see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Processes {
    /// A pid namespace of their own, and a `/proc` for it.
    #[default]
    Own,
    /// A pid namespace of their own, with the `/proc` of the system: containers that hide writable_parts of it refuse another.
    /// Nobody outside can be signalled, but the numbers in `/proc` are not those that commands use.
    OwnNumbers,
    /// All processes of the system.
    SharedRequest,
}

impl Processes {
    /// Whether there is a pid namespace.
    pub(crate) fn has_pid_namespace(self) -> bool {
        match self {
            Self::Own | Self::OwnNumbers => true,
            Self::SharedRequest => false,
        }
    }
}

/// What comes back at its own path.
#[derive(Debug)]
pub(crate) struct BindMount {
    pub(crate) path: CString,
    pub(crate) bind_kind: BindKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BindKind {
    Writable,
    Visible,
    Device,
}

/// An entry of the file system in memory; its path is relative.
#[derive(Debug)]
pub(crate) enum TmpfsEntry {
    Directory(CString),
    /// Everybody may write here.
    WorldWritableDirectory(CString),
    File(CString),
    Link(CString, CString),
}

/// A directory of the file system in memory that comes over one of the system.
#[derive(Debug)]
pub(crate) struct Overmount {
    pub(crate) path: CString,
    pub(crate) name: CString,
    pub(crate) read_only: bool,
}

/// A path that cannot be moved away, nor written to when it is sealed.
#[derive(Debug)]
pub(crate) struct PinnedMount {
    pub(crate) path: CString,
    pub(crate) read_only: bool,
}

#[derive(Debug)]
pub(crate) struct MaskedPath {
    pub(crate) path: CString,
    pub(crate) is_directory: bool,
}

impl MountPlan {
    /// `confinement` has resolved paths.
    pub(crate) fn new(confinement: &Confinement, processes: Processes) -> Self {
        let whole = confinement.writable.iter().any(|path| path == Path::new("/"));
        let others = match processes {
            Processes::Own => Vec::new(),
            Processes::OwnNumbers | Processes::SharedRequest => others(),
        };
        let memory = memory_options(confinement.max_scratch_size);
        let mut plan = Self {
            read_only_root: !whole,
            processes,
            other_processes: others,
            tmpfs_options: memory,
            ..Self::default()
        };
        if whole {
            let system = SYSTEM_DIRS.iter().map(Path::new).filter(|path| is_directory(path));
            plan.read_only_system.extend(system.map(c_string));
        }
        plan.overmount_system_dirs();
        plan.add_bind_mounts(confinement);
        plan.pin_protected(confinement);
        plan.mask_hidden(confinement);
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
                self.bind_mounts.push(BindMount { path: c_string(&path), bind_kind: BindKind::Device });
            }
        }
        for kept in PRESERVED_RUN_PATHS.map(Path::new) {
            let Ok(found) = fs::symlink_metadata(kept) else { continue };
            if let (true, Ok(target)) = (found.is_symlink(), fs::read_link(kept)) {
                if let Some(name) = self.create_parents(kept) {
                    self.tmpfs_entries.push(TmpfsEntry::Link(name, c_string(&target)));
                }
            } else if found.is_file() {
                self.keep_visible(kept, BindKind::Visible);
            }
        }
    }

    /// Covers a directory, which may lie below one that is covered already.
    fn overmount(&mut self, path: &Path, name: &str, sealed: bool) {
        if self.overmounts.iter().any(|cover| cover.path.as_bytes() == path.as_os_str().as_bytes()) {
            return;
        }
        if let Some(place) = self.create_parents(path) {
            self.tmpfs_entries.push(TmpfsEntry::Directory(place));
        }
        let name = c_string(Path::new(name));
        self.tmpfs_entries.push(if sealed {
            TmpfsEntry::Directory(name.clone())
        } else {
            TmpfsEntry::WorldWritableDirectory(name.clone())
        });
        self.overmounts.push(Overmount { path: c_string(path), name, read_only: sealed });
    }

    /// Where a path is in the file system in memory, when it is covered; the directories above it are made.
    ///
    /// In a directory where everybody may write, the first of them becomes a mount that is read-only: it cannot be
    /// renamed, nor anything below it.
    fn create_parents(&mut self, path: &Path) -> Option<CString> {
        let covers = self
            .overmounts
            .iter()
            .filter_map(|cover| Some((cover, path.strip_prefix(to_path(&cover.path)).ok()?)));
        let (cover, rest) = covers.min_by_key(|(_, rest)| rest.as_os_str().len())?;
        let (open, outside, root) =
            (!cover.read_only, to_path(&cover.path).to_owned(), to_path(&cover.name).to_owned());
        let mut parents: Vec<&Path> =
            rest.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()).collect();
        parents.reverse();
        let place = c_string(&root.join(rest));
        for (depth, parent) in parents.into_iter().enumerate() {
            let name = c_string(&root.join(parent));
            self.tmpfs_entries.push(TmpfsEntry::Directory(name.clone()));
            if open && depth == 0 {
                self.overmounts.push(Overmount {
                    path: c_string(&outside.join(parent)),
                    name,
                    read_only: true,
                });
            }
        }
        Some(place)
    }

    fn add_bind_mounts(&mut self, confinement: &Confinement) {
        let writable = confinement.writable.iter().map(|path| (path, BindKind::Writable));
        let visible =
            confinement.visible.iter().chain(&confinement.sockets).map(|path| (path, BindKind::Visible));
        // What is above comes first; of both kinds, a path is writable.
        for (path, kind) in visible.chain(writable).collect::<BTreeMap<_, _>>() {
            if path != Path::new("/") {
                self.keep_visible(path, kind);
            }
        }
    }

    /// Takes a path, unless it stays as it is without that, or as a part of another.
    fn keep_visible(&mut self, path: &Path, kind: BindKind) {
        let above = self.bind_mounts.iter().rfind(|taken| path.starts_with(to_path(&taken.path)));
        let covered = self.overmounts.iter().any(|cover| path.starts_with(to_path(&cover.path)));
        match (above.map(|above| above.bind_kind), kind) {
            (Some(BindKind::Writable), _) | (Some(BindKind::Visible), BindKind::Visible) => return,
            (None, BindKind::Visible) if !covered => return,
            (Some(BindKind::Visible | BindKind::Device) | None, _) => {}
        }
        if above.is_none()
            && let Some(place) = self.create_parents(path)
        {
            self.tmpfs_entries.push(if is_directory(path) {
                TmpfsEntry::Directory(place)
            } else {
                TmpfsEntry::File(place)
            });
        }
        self.bind_mounts.push(BindMount { path: c_string(path), bind_kind: kind });
    }

    fn pin_protected(&mut self, confinement: &Confinement) {
        let mut guards: BTreeMap<&Path, bool> = BTreeMap::new();
        let kept = confinement.read_only.iter().map(|path| (path, true));
        let hidden = confinement.hidden.iter().map(|path| (path, false));
        for (path, seals) in kept.chain(hidden) {
            for root in &confinement.writable {
                if root.starts_with(path) && seals {
                    guards.insert(root, true);
                } else if path.starts_with(root) {
                    let between = path.ancestors().skip(1).take_while(|above| *above != root);
                    between.for_each(|above| *guards.entry(above).or_default() |= false);
                    if seals {
                        guards.insert(path, true);
                    }
                }
            }
        }
        let mut sealed: Option<&Path> = None;
        for (path, seals) in guards {
            if sealed.is_some_and(|above| path.starts_with(above)) {
                continue;
            }
            sealed = seals.then_some(path).or(sealed);
            self.pinned.push(PinnedMount { path: c_string(path), read_only: seals });
        }
    }

    fn mask_hidden(&mut self, confinement: &Confinement) {
        let telling = SENSITIVE_PATHS.map(PathBuf::from);
        let wished = confinement.hidden.iter().chain(&telling);
        let wished = wished.filter_map(|path| Some((path.clone(), fs::metadata(path).ok()?.is_dir())));
        let all: BTreeMap<PathBuf, bool> = wished.collect();
        let mut last: Option<PathBuf> = None;
        for (path, is_directory) in all {
            if last.as_ref().is_none_or(|above| !path.starts_with(above)) {
                self.masked.push(MaskedPath { path: c_string(&path), is_directory });
                last = Some(path);
            }
        }
    }
}

fn memory_options(bytes: Option<u64>) -> CString {
    let bound =
        bytes.map(|bytes| format!(",size={bytes},nr_inodes={}", MIN_FILES.max(bytes / BYTES_PER_FILE)));
    CString::new(format!("mode=0755{}", bound.unwrap_or_default())).unwrap_or_default()
}

/// The directories of all processes that there are now; this is called before the server is forked.
fn others() -> Vec<CString> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_process =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes().iter().all(u8::is_ascii_digit));
    entries.filter(is_process).take(MAX_OTHER_PROCESSES).map(|path| c_string(&path)).collect()
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// No path of a file holds a NUL byte; one that does names nothing.
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
        MountPlan::new(confinement, Processes::Own)
    }

    fn writable(path: &str) -> Confinement {
        Confinement { writable: vec![path.into()], ..Confinement::default() }
    }

    fn paths<'a>(texts: impl Iterator<Item = &'a CString>) -> Vec<&'a str> {
        texts.map(|text| text.to_str().unwrap()).collect()
    }

    #[test]
    fn the_way_to_what_is_kept_is_guarded_and_what_is_below_it_is_not_twice() {
        let mut confinement = writable("/w");
        confinement.read_only =
            ["/w/a/b/kept", "/w/a/b/kept/below", "/elsewhere/kept", "/w/top"].map(PathBuf::from).into();
        confinement.hidden = ["/w/a/c/hidden", "/home/hidden"].map(PathBuf::from).into();
        let guards = plan(&confinement).pinned;
        let told: Vec<_> =
            guards.iter().map(|guard| (guard.path.to_str().unwrap(), guard.read_only)).collect();
        let expected =
            [("/w/a", false), ("/w/a/b", false), ("/w/a/b/kept", true), ("/w/a/c", false), ("/w/top", true)];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_kept_seals_what_is_writable_below_it() {
        let mut confinement = writable("/w/in");
        confinement.read_only = vec!["/w".into()];
        let guards = plan(&confinement).pinned;
        assert_eq!(
            guards.iter().map(|guard| (to_path(&guard.path), guard.read_only)).collect::<Vec<_>>(),
            [(Path::new("/w/in"), true)]
        );
    }

    #[test]
    fn what_comes_back_comes_from_above_to_below_and_once() {
        let mut confinement = writable("/tmp/u/home/work");
        confinement.visible =
            ["/tmp/u/home", "/tmp/u/home/bin", "/usr/bin", "/tmp/u/home/work/bin"].map(PathBuf::from).into();
        let plan = plan(&confinement);
        let taken: Vec<_> =
            plan.bind_mounts.iter().filter(|taken| taken.bind_kind != BindKind::Device).collect();
        let kinds: Vec<_> = taken.iter().map(|taken| taken.bind_kind).collect();
        assert_eq!(paths(taken.iter().map(|taken| &taken.path)), ["/tmp/u/home", "/tmp/u/home/work"]);
        assert_eq!(kinds, [BindKind::Visible, BindKind::Writable]);
        // The way to it is made, and cannot be renamed.
        let sealed = plan.overmounts.iter().filter(|cover| cover.read_only).map(|cover| &cover.path);
        assert!(paths(sealed).contains(&"/tmp/u"), "{:?}", plan.overmounts);
    }

    #[test]
    fn of_the_root_as_a_workspace_the_system_stays_sealed() {
        let plan = plan(&writable("/"));
        assert!(!plan.read_only_root && paths(plan.read_only_system.iter()).contains(&"/etc"));
        assert!(plan.bind_mounts.iter().all(|taken| taken.bind_kind != BindKind::Writable));
        assert!(MountPlan::new(&writable("/w"), Processes::Own).read_only_root);
    }
}
