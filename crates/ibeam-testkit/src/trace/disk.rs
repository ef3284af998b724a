//! What of a directory tree survives a power cut: the worst that POSIX allows.
//!
//! A file has the content of its last sync, a directory the names of its last sync; what was never synced is an
//! empty file or directory, and is not even that where no directory that was synced names it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// A file, whatever its names: device and inode.
type Id = (u64, u64);

/// What is lost of that which was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerLoss {
    /// Contents and names.
    All,
    /// Contents; names had reached the disk by themselves.
    Contents,
}

/// Some directories with all they hold, as the disk has them.
pub struct Disk {
    root: PathBuf,
    nodes: HashMap<Id, Node>,
    top: Id,
}

struct Node {
    /// Held open, so that its number goes to no other file.
    _held: File,
    mode: u32,
    durable: Durable,
}

enum Durable {
    File(Vec<u8>),
    Directory(BTreeMap<OsString, Id>),
    Link(PathBuf),
    /// A pipe, a socket: nothing to lose.
    Other,
}

impl Disk {
    /// Everything under `root`, which counts as synced.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn new(root: &Path) -> Self {
        let mut disk = Self { root: root.to_owned(), nodes: HashMap::new(), top: (0, 0) };
        disk.top = disk.take(root).expect("a readable tree");
        disk
    }

    /// What it is about.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Replaces the tree by what a power cut at this moment leaves of it, at the worst.
    ///
    /// # Panics
    /// When that cannot be done.
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
                    self.put(*id, &self.root.join(name)).expect("what is left of the tree");
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

    /// What the open file behind `path` has right now, to be kept once its sync succeeds.
    pub(super) fn look(&mut self, path: &Path) -> io::Result<Seen> {
        // Through the descriptor: it may have no name, or another one by now.
        let metadata = fs::metadata(path)?;
        let id = (metadata.dev(), metadata.ino());
        if metadata.is_dir() {
            let mut names = BTreeMap::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                // It may be gone again by now.
                if let Ok(id) = self.meet(&entry.path()) {
                    names.insert(entry.file_name(), id);
                }
            }
            return Ok(Seen {
                id,
                mode: metadata.mode(),
                held: hold(path, false)?,
                now: Durable::Directory(names),
            });
        }
        Ok(Seen { id, mode: metadata.mode(), held: hold(path, false)?, now: Durable::File(fs::read(path)?) })
    }

    /// The sync has succeeded.
    pub(super) fn keep(&mut self, seen: Seen) {
        let Seen { id, mode, held, now } = seen;
        self.nodes.insert(id, Node { _held: held, mode, durable: now });
    }

    /// Learns a whole tree as it stands.
    fn take(&mut self, path: &Path) -> io::Result<Id> {
        let id = self.meet(path)?;
        let durable = match &self.nodes[&id].durable {
            Durable::Directory(_) => {
                let mut names = BTreeMap::new();
                for entry in fs::read_dir(path)? {
                    let entry = entry?;
                    names.insert(entry.file_name(), self.take(&entry.path())?);
                }
                Durable::Directory(names)
            }
            Durable::File(_) => Durable::File(fs::read(path)?),
            Durable::Link(_) | Durable::Other => return Ok(id),
        };
        self.nodes.get_mut(&id).expect("a node just met").durable = durable;
        Ok(id)
    }

    /// Learns that a file is there, of which nothing is synced yet.
    fn meet(&mut self, path: &Path) -> io::Result<Id> {
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
            place.insert(Node { _held: hold(path, true)?, mode: metadata.mode(), durable });
        }
        Ok(id)
    }

    fn put(&self, id: Id, path: &Path) -> io::Result<()> {
        let Node { mode, durable, .. } = &self.nodes[&id];
        match durable {
            Durable::File(content) => fs::write(path, content)?,
            Durable::Directory(names) => {
                fs::create_dir(path)?;
                for (name, id) in names {
                    self.put(*id, &path.join(name))?;
                }
            }
            Durable::Link(target) => return std::os::unix::fs::symlink(target, path),
            Durable::Other => return Ok(()),
        }
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
    }
}

/// A file at the moment its sync began.
pub(super) struct Seen {
    id: Id,
    mode: u32,
    held: File,
    now: Durable,
}

/// Opens a file for nothing but to hold it.
fn hold(path: &Path, itself: bool) -> io::Result<File> {
    let flags = if itself { OFlags::PATH | OFlags::NOFOLLOW } else { OFlags::PATH };
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}
