//! Lists the directories of a root, and what must be watched in each of them.
//!
//! A directory whose times have not changed is not listed again, so a scan of an unchanged tree costs one `stat` for
//! each directory. A scan is limited; the directories that it did not reach are part of the result.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ibeam_policy::{PathPolicy, is_read_only_name, is_read_only_path, read_only_nested_paths};
use rustix::fs::{AtFlags, Dir, FileType, Stat};

use crate::mode_overrides::ModeOverrides;

/// The age until which a change is fresh.
const FRESH_AGE: Duration = Duration::from_secs(1);
/// Maximum bytes of a path; the system accepts at most 4096 at once.
const MAX_PATH_BYTES: usize = 4000;

/// Limits of a scan of directories that were not listed before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanLimits {
    /// Entries that are listed. A directory is always listed to its end.
    pub(crate) entries: usize,
    /// Time for directories that existed before the first scan.
    pub(crate) time: Duration,
}

/// The directories of a root, by their relative paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inventory {
    pub(crate) directories: HashMap<PathBuf, Arc<ListedDirectory>>,
    /// Directories that were not listed, because of a limit or an error.
    pub(crate) unlisted: BTreeSet<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct ListedDirectory {
    /// Changes with every change of the directory.
    fingerprint: [i128; 6],
    /// Whether the directory changed just before the scan, so that an equal fingerprint proves nothing.
    is_fresh: bool,
    /// Subdirectories that are scanned.
    subdirectories: Vec<OsString>,
    pub(crate) protected: Vec<OsString>,
    /// Names that a deny rule for writing covers.
    pub(crate) denied: Vec<OsString>,
    /// Whether it is a git directory by its entries, with another name than `.git`.
    pub(crate) is_repository: bool,
}

impl ListedDirectory {
    /// Returns the device and inode.
    pub(crate) fn identity(&self) -> (i128, i128) {
        let [device, inode, ..] = self.fingerprint;
        (device, inode)
    }

    fn has_protected_paths(&self) -> bool {
        self.is_repository || !self.protected.is_empty() || !self.denied.is_empty()
    }
}

/// The parameters of a scan.
pub(crate) struct InventoryScan<'a> {
    pub(crate) root: BorrowedFd<'a>,
    pub(crate) path: &'a Path,
    pub(crate) path_policy: &'a PathPolicy,
    /// The quarantine, which is not scanned.
    pub(crate) quarantine: Option<&'a Path>,
    /// Names of directories that are not scanned.
    pub(crate) skipped: &'a [&'a str],
    /// Directories that are scanned with those above them; `None` for all.
    pub(crate) walked: Option<&'a [PathBuf]>,
    /// Directories that are listed regardless of limits.
    pub(crate) first: &'a BTreeSet<PathBuf>,
    pub(crate) limits: ScanLimits,
    /// Whether no command has run, so that everything existed before.
    pub(crate) is_first: bool,
    /// The value of [`fresh_from`] at the start of the scan.
    pub(crate) fresh_from: i128,
}

/// Returns the time from which on changes are fresh, in seconds since the Unix epoch: what changed later may change again
/// without a trace in its times, because the clock for them may be coarse.
pub(crate) fn fresh_from() -> i128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::from(now.saturating_sub(FRESH_AGE).as_secs())
}

impl Inventory {
    /// Lists the directories, except for those that are `known` and have not changed.
    pub(crate) fn scan(parameters: &InventoryScan<'_>, known: &Self) -> Self {
        let mut found = Self::default();
        let mut modes = ModeOverrides::default();
        let denies = parameters.path_policy.has_write_denials();
        let quarantine = parameters.quarantine.and_then(|path| path.strip_prefix(parameters.path).ok());
        let start = Instant::now();
        let mut left = parameters.limits.entries;
        // Known directories come first, then new ones, then those that were not reached before.
        let mut queues = [VecDeque::new(), VecDeque::new(), VecDeque::new()];
        let [known_queue, ..] = &mut queues;
        known_queue.push_back(PathBuf::new());
        known_queue.extend(parameters.first.iter().cloned());
        loop {
            let [known_queue, new_queue, late_queue] = &mut queues;
            let (directory, rank) = if let Some(directory) = known_queue.pop_front() {
                (directory, 0)
            } else if let Some(directory) = new_queue.pop_front() {
                (directory, 1)
            } else if let Some(directory) = late_queue.pop_front() {
                (directory, 2)
            } else {
                return found;
            };
            if found.directories.contains_key(&directory) {
                continue;
            }
            let is_late = rank == 2 || (rank == 1 && parameters.is_first);
            let is_out = left == 0 || (is_late && start.elapsed() > parameters.limits.time);
            if (rank > 0 && is_out) || directory.as_os_str().len() > MAX_PATH_BYTES {
                found.unlisted.insert(directory);
                continue;
            }
            let name = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
            let stat = match rustix::fs::statat(parameters.root, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => Some(stat),
                Ok(_) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => continue,
                // A parent is not accessible, or the path is too long.
                Err(_) => None,
            };
            let stat =
                stat.or_else(|| rustix::fs::fstat(modes.open_to_list(parameters.root, name).ok()?).ok());
            let Some(stat) = stat else {
                found.unlisted.insert(directory);
                continue;
            };
            let fingerprint = fingerprint(&stat);
            let same = known
                .directories
                .get(&directory)
                .filter(|old| old.fingerprint == fingerprint && !old.is_fresh);
            let listed = match same {
                Some(same) => Arc::clone(same),
                None => {
                    let is_fresh = i128::from(stat.st_ctime) >= parameters.fresh_from;
                    let Some((listed, count)) =
                        list_directory(parameters, &mut modes, &directory, fingerprint, is_fresh, denies)
                    else {
                        found.unlisted.insert(directory);
                        continue;
                    };
                    left = left.saturating_sub(count);
                    Arc::new(listed)
                }
            };
            let is_listed =
                |name: &&OsString| !parameters.skipped.iter().any(|skipped| name.as_os_str() == *skipped);
            for name in listed.subdirectories.iter().filter(is_listed) {
                let inner = directory.join(name);
                let is_walked =
                    parameters.walked.is_none_or(|walked| walked.iter().any(|path| path.starts_with(&inner)));
                if !is_walked || quarantine.is_some_and(|quarantine| quarantine == inner) {
                    continue;
                }
                let rank = if known.directories.contains_key(&inner) {
                    0
                } else if known.is_unlisted(&inner) {
                    2
                } else {
                    1
                };
                if let Some(queue) = queues.get_mut(rank) {
                    queue.push_back(inner);
                }
            }
            found.directories.insert(directory, listed);
        }
    }

    /// Whether `path`, or a parent of it, was not listed.
    pub(crate) fn is_unlisted(&self, path: &Path) -> bool {
        !self.unlisted.is_empty() && path.ancestors().any(|above| self.unlisted.contains(above))
    }

    /// Returns the innermost listed parent of `path`.
    pub(crate) fn enclosing_directory<'a>(&self, path: &'a Path) -> Option<(&'a Path, &ListedDirectory)> {
        path.ancestors().skip(1).find_map(|above| Some((above, &**self.directories.get(above)?)))
    }

    /// Returns the directories with something to watch, in the order of their paths.
    pub(crate) fn directories_with_protected_paths(&self) -> Vec<(&Path, &ListedDirectory)> {
        let mut found: Vec<(&Path, &ListedDirectory)> = self
            .directories
            .iter()
            .filter(|(_, directory)| directory.has_protected_paths())
            .map(|(path, directory)| (path.as_path(), &**directory))
            .collect();
        found.sort_unstable_by_key(|(path, _)| *path);
        found
    }
}

/// Returns what changes with every change of a file: device, inode, size, mode and the time of the change.
pub(crate) fn fingerprint(stat: &Stat) -> [i128; 6] {
    [
        i128::from(stat.st_dev),
        i128::from(stat.st_ino),
        i128::from(stat.st_size),
        i128::from(stat.st_mode),
        // Only the kernel sets it.
        i128::from(stat.st_ctime),
        i128::from(stat.st_ctime_nsec),
    ]
}

/// Lists a directory. Returns the listing and the number of entries.
fn list_directory(
    parameters: &InventoryScan<'_>,
    modes: &mut ModeOverrides,
    path: &Path,
    fingerprint: [i128; 6],
    is_fresh: bool,
    denies: bool,
) -> Option<(ListedDirectory, usize)> {
    let relative = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let handle = modes.open_to_list(parameters.root, relative).ok()?;
    let entries = Dir::new(rustix::io::dup(&handle).ok()?).ok()?;
    let mut listed = ListedDirectory {
        fingerprint,
        is_fresh,
        subdirectories: Vec::new(),
        protected: Vec::new(),
        denied: Vec::new(),
        is_repository: false,
    };
    let (mut head, mut objects, mut refs, mut common) = (false, false, false, false);
    let mut count = 0;
    let may_be_nested = path.iter().any(may_start_nested_path);
    for entry in entries.flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        count += 1;
        let is = |other: &str| name.as_bytes().eq_ignore_ascii_case(other.as_bytes());
        head |= is("HEAD");
        objects |= is("objects");
        refs |= is("refs");
        common |= is("commondir");
        let is_denied = denies && parameters.path_policy.denies_write(&parameters.path.join(path).join(name));
        let is_git = name == ".git";
        let is_read_only = if may_be_nested {
            is_read_only_path(&path.join(name))
        } else {
            is_read_only_name(&name.to_string_lossy())
        };
        if is_denied {
            listed.denied.push(name.to_owned());
        }
        if is_read_only || is_git {
            listed.protected.push(name.to_owned());
        }
        let is_directory = match entry.file_type() {
            FileType::Directory => true,
            FileType::Unknown => rustix::fs::statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
            FileType::RegularFile
            | FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice => false,
        };
        // Everything below a protected or denied directory is watched as a part of it.
        if is_directory && !is_denied && !is_read_only && (denies || !is_git) {
            listed.subdirectories.push(name.to_owned());
        }
    }
    let in_git = path.iter().any(|name| name == ".git");
    listed.is_repository = head && ((objects && refs) || common) && !in_git;
    Some((listed, count))
}

/// Whether a protected path of several names may begin with this one.
fn may_start_nested_path(name: &OsStr) -> bool {
    static BEGINNINGS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let firsts = read_only_nested_paths().iter().filter_map(|kept| kept.split('/').next());
        let mut firsts: Vec<&str> = firsts.filter(|first| !first.starts_with('.')).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts
    });
    let bytes = name.as_bytes();
    bytes.starts_with(b".")
        || bytes.contains(&b'~')
        || !bytes.is_ascii()
        || BEGINNINGS.iter().any(|first| {
            let start = bytes.get(..first.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(first.as_bytes()))
        })
}
