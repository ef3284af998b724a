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
type Id = (u64, u64);

/// The data that a power cut loses, of that which was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerLoss {
    /// Contents and names.
    All,
    /// Contents; the names were written to the disk by themselves.
    Contents,
}

/// A directory tree as the disk stores it.
pub struct Disk {
    root: PathBuf,
    nodes: HashMap<Id, Node>,
    top: Id,
}

struct Node {
    /// An open handle, so that the inode is not reused.
    _open_file: File,
    mode: u32,
    durable: Durable,
}

enum Durable {
    File(Vec<u8>),
    Directory(BTreeMap<OsString, Id>),
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

    /// Replaces the tree by the worst that a power cut at this moment leaves of it.
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
                let Durable::Directory(names) = &self.nodes[&self.top].durable else { return };
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
                    Some(Node { durable: Durable::File(content), .. }) => fs::write(path, content)?,
                    _ => fs::write(path, b"")?,
                }
            }
        }
        Ok(())
    }

    /// Returns the present state of the open file behind `path`, for `commit_sync` once its sync succeeds.
    pub(super) fn read_for_sync(&mut self, path: &Path) -> io::Result<PendingSync> {
        // Opened through the descriptor, since the file may have another name or none by now.
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
                content: Durable::Directory(names),
            });
        }
        Ok(PendingSync {
            id,
            mode: metadata.mode(),
            open_file: open_without_access(path, false)?,
            content: Durable::File(fs::read(path)?),
        })
    }

    /// Records a successful sync.
    pub(super) fn commit_sync(&mut self, pending_sync: PendingSync) {
        let PendingSync { id, mode, open_file, content } = pending_sync;
        self.nodes.insert(id, Node { _open_file: open_file, mode, durable: content });
    }

    /// Records a complete tree as synced.
    fn read_tree(&mut self, path: &Path) -> io::Result<Id> {
        let id = self.add_unsynced(path)?;
        let durable = match &self.nodes[&id].durable {
            Durable::Directory(_) => {
                let mut names = BTreeMap::new();
                for entry in fs::read_dir(path)? {
                    let entry = entry?;
                    names.insert(entry.file_name(), self.read_tree(&entry.path())?);
                }
                Durable::Directory(names)
            }
            Durable::File(_) => Durable::File(fs::read(path)?),
            Durable::Link(_) | Durable::Other => return Ok(id),
        };
        self.nodes.get_mut(&id).expect("a node just met").durable = durable;
        Ok(id)
    }

    /// Records that a file exists, without synced content.
    fn add_unsynced(&mut self, path: &Path) -> io::Result<Id> {
        let metadata = path.symlink_metadata()?;
        let id = (metadata.dev(), metadata.ino());
        if let Entry::Vacant(place) = self.nodes.entry(id) {
            let kind = metadata.file_type();
            let durable = if kind.is_dir() {
                Durable::Directory(BTreeMap::new())
            } else if kind.is_file() {
                Durable::File(Vec::new())
            } else if kind.is_symlink() {
                Durable::Link(fs::read_link(path)?)
            } else {
                Durable::Other
            };
            place.insert(Node {
                _open_file: open_without_access(path, true)?,
                mode: metadata.mode(),
                durable,
            });
        }
        Ok(id)
    }

    fn write_node(&self, id: Id, path: &Path) -> io::Result<()> {
        let Node { mode, durable, .. } = &self.nodes[&id];
        match durable {
            Durable::File(content) => fs::write(path, content)?,
            Durable::Directory(names) => {
                fs::create_dir(path)?;
                for (name, id) in names {
                    self.write_node(*id, &path.join(name))?;
                }
            }
            Durable::Link(target) => return std::os::unix::fs::symlink(target, path),
            Durable::Other => return Ok(()),
        }
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
    }
}

/// The state of a file when its sync began.
pub(super) struct PendingSync {
    id: Id,
    mode: u32,
    open_file: File,
    content: Durable,
}

/// Opens a file without access to its content, which keeps its inode in use.
fn open_without_access(path: &Path, is_link_itself: bool) -> io::Result<File> {
    let flags = if is_link_itself { OFlags::PATH | OFlags::NOFOLLOW } else { OFlags::PATH };
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}
