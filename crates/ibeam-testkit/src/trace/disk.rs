//! The state of a directory tree after a power cut: the worst that POSIX allows.
//!
//! A file has the content of its last sync, a directory the names of its last sync. A file or directory that was never
//! synced is empty, and exists only if a synced directory names it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The identity of a file: device and inode.
type FileId = (u64, u64);

/// The unsynced data that a power cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerLoss {
    /// Contents and names.
    All,
    /// Contents only; the system has written the names to the disk without a sync.
    Contents,
}

/// The synced state of a directory tree.
pub struct Disk {
    root: PathBuf,
    nodes: HashMap<FileId, Node>,
    /// The identity of `root`.
    top: FileId,
}

/// A file or directory.
struct Node {
    /// An open handle, so that the inode is not reused.
    _open_file: File,
    mode: u32,
    synced: SyncedState,
}

/// The content of a file or directory after a power cut.
enum SyncedState {
    File(Vec<u8>),
    Directory(BTreeMap<OsString, FileId>),
    Link(PathBuf),
    /// A pipe or a socket, which has no stored content.
    Other,
}

impl Disk {
    /// Records everything under `root` as synced.
    ///
    /// # Panics
    /// If the tree cannot be read.
    pub fn new(root: &Path) -> Self {
        let mut disk = Self { root: root.to_owned(), nodes: HashMap::new(), top: (0, 0) };
        disk.top = disk.read_tree(root).expect("a readable tree");
        disk
    }

    /// Returns the root of the tree.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Replaces the tree by its state after a power cut at this moment, with the largest possible loss.
    ///
    /// # Panics
    /// If the tree cannot be replaced.
    pub fn cut_power(&self, lost: PowerLoss) {
        match lost {
            PowerLoss::All => {
                for entry in fs::read_dir(&self.root).expect("the tree") {
                    let path = entry.expect("an entry").path();
                    match path.symlink_metadata().expect("its kind").is_dir() {
                        true => fs::remove_dir_all(path).expect("an entry that goes"),
                        false => fs::remove_file(path).expect("an entry that goes"),
                    }
                }
                let SyncedState::Directory(names) = &self.nodes[&self.top].synced else { return };
                for (name, id) in names {
                    self.write_node(*id, &self.root.join(name)).expect("what is left of the tree");
                }
            }
            PowerLoss::Contents => self.lose_contents(&self.root).expect("what is left of the tree"),
        }
    }

    fn lose_contents(&self, directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let metadata = path.symlink_metadata()?;
            if metadata.is_dir() {
                self.lose_contents(&path)?;
            } else if metadata.is_file() {
                match self.nodes.get(&(metadata.dev(), metadata.ino())) {
                    Some(Node { synced: SyncedState::File(content), .. }) => fs::write(path, content)?,
                    _ => fs::write(path, b"")?,
                }
            }
        }
        Ok(())
    }

    /// Returns the present state of the open file behind `path`, for `commit_sync` once its sync succeeds.
    pub(super) fn read_for_sync(&mut self, path: &Path) -> io::Result<PendingSync> {
        // `path` is the link of the descriptor in /proc, since the file may have another name or none by now.
        let metadata = fs::metadata(path)?;
        let id = (metadata.dev(), metadata.ino());
        if metadata.is_dir() {
            let mut names = BTreeMap::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                // The file may have been removed meanwhile.
                if let Ok(id) = self.add_unsynced(&entry.path()) {
                    names.insert(entry.file_name(), id);
                }
            }
            return Ok(PendingSync {
                id,
                mode: metadata.mode(),
                open_file: open_without_access(path, false)?,
                content: SyncedState::Directory(names),
            });
        }
        Ok(PendingSync {
            id,
            mode: metadata.mode(),
            open_file: open_without_access(path, false)?,
            content: SyncedState::File(fs::read(path)?),
        })
    }

    /// Records a successful sync.
    pub(super) fn commit_sync(&mut self, pending_sync: PendingSync) {
        let PendingSync { id, mode, open_file, content } = pending_sync;
        self.nodes.insert(id, Node { _open_file: open_file, mode, synced: content });
    }

    /// Records a complete tree as synced.
    fn read_tree(&mut self, path: &Path) -> io::Result<FileId> {
        let id = self.add_unsynced(path)?;
        let synced = match &self.nodes[&id].synced {
            SyncedState::Directory(_) => {
                let mut names = BTreeMap::new();
                for entry in fs::read_dir(path)? {
                    let entry = entry?;
                    names.insert(entry.file_name(), self.read_tree(&entry.path())?);
                }
                SyncedState::Directory(names)
            }
            SyncedState::File(_) => SyncedState::File(fs::read(path)?),
            SyncedState::Link(_) | SyncedState::Other => return Ok(id),
        };
        self.nodes.get_mut(&id).expect("a node that was just added").synced = synced;
        Ok(id)
    }

    /// Records that a file exists, without synced content.
    fn add_unsynced(&mut self, path: &Path) -> io::Result<FileId> {
        let metadata = path.symlink_metadata()?;
        let id = (metadata.dev(), metadata.ino());
        if let Entry::Vacant(entry) = self.nodes.entry(id) {
            let kind = metadata.file_type();
            let synced = if kind.is_dir() {
                SyncedState::Directory(BTreeMap::new())
            } else if kind.is_file() {
                SyncedState::File(Vec::new())
            } else if kind.is_symlink() {
                SyncedState::Link(fs::read_link(path)?)
            } else {
                SyncedState::Other
            };
            entry.insert(Node {
                _open_file: open_without_access(path, true)?,
                mode: metadata.mode(),
                synced,
            });
        }
        Ok(id)
    }

    fn write_node(&self, id: FileId, path: &Path) -> io::Result<()> {
        let Node { mode, synced, .. } = &self.nodes[&id];
        match synced {
            SyncedState::File(content) => fs::write(path, content)?,
            SyncedState::Directory(names) => {
                fs::create_dir(path)?;
                for (name, id) in names {
                    self.write_node(*id, &path.join(name))?;
                }
            }
            SyncedState::Link(target) => return std::os::unix::fs::symlink(target, path),
            SyncedState::Other => return Ok(()),
        }
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
    }
}

/// The state of a file when its sync began.
pub(super) struct PendingSync {
    id: FileId,
    mode: u32,
    open_file: File,
    content: SyncedState,
}

/// Opens a file without access to its content, which keeps its inode in use.
fn open_without_access(path: &Path, is_link_itself: bool) -> io::Result<File> {
    let flags = if is_link_itself { OFlags::PATH | OFlags::NOFOLLOW } else { OFlags::PATH };
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}
