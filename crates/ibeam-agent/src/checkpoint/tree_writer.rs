//! Writes the tree objects of a snapshot.

use std::collections::BTreeSet;
use std::io;

use super::object_id::ObjectId;
use super::object_store::ObjectStore;
use super::objects::FileMode;

/// The trees of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrittenTree {
    /// The tree of the work tree's root.
    pub(super) id: ObjectId,
    /// Whether a tree in which nothing has changed did not exist: objects of the snapshot before are missing.
    pub(super) has_lost_objects: bool,
}

/// A directory whose entries are not complete.
struct OpenDirectory {
    /// The path, ending in `/`; empty for the root.
    path: Vec<u8>,
    /// The content of the tree object.
    content: Vec<u8>,
}

/// Writes the trees of these files, sorted by their paths, of which none is the parent of another. `changed` has each
/// directory in which something has changed since the last snapshot, with all directories above.
pub(super) fn write_trees<'a>(
    store: &ObjectStore,
    files: impl Iterator<Item = (&'a [u8], FileMode, ObjectId)>,
    changed: &BTreeSet<&[u8]>,
) -> io::Result<WrittenTree> {
    let mut writer = TreeWriter { store, changed, open: Vec::new(), has_lost_objects: false };
    writer.enter(b"");
    for (path, mode, id) in files {
        writer.leave_all_but(path)?;
        let mut start = writer.open.last().map_or(0, |directory| directory.path.len());
        while let Some(slash) = path.iter().skip(start).position(|byte| *byte == b'/') {
            start += slash + 1;
            writer.enter(path.get(..start).unwrap_or_default());
        }
        writer.add(mode.digits(), path.get(start..).unwrap_or_default(), &id);
    }
    loop {
        if let Some(id) = writer.leave()? {
            return Ok(WrittenTree { id, has_lost_objects: writer.has_lost_objects });
        }
    }
}

struct TreeWriter<'a> {
    store: &'a ObjectStore,
    changed: &'a BTreeSet<&'a [u8]>,
    /// The directories from the root to that of the next file.
    open: Vec<OpenDirectory>,
    has_lost_objects: bool,
}

impl TreeWriter<'_> {
    fn enter(&mut self, path: &[u8]) {
        self.open.push(OpenDirectory { path: path.to_vec(), content: Vec::new() });
    }

    fn add(&mut self, mode: &str, name: &[u8], id: &ObjectId) {
        let Some(directory) = self.open.last_mut() else { return };
        directory.content.extend_from_slice(mode.as_bytes());
        directory.content.push(b' ');
        directory.content.extend_from_slice(name);
        directory.content.push(0);
        directory.content.extend_from_slice(id.as_bytes());
    }

    /// Leaves the directories in which `path` is not.
    fn leave_all_but(&mut self, path: &[u8]) -> io::Result<()> {
        while self.open.last().is_some_and(|directory| !path.starts_with(&directory.path)) {
            self.leave()?;
        }
        Ok(())
    }

    /// Writes the tree of the last open directory and adds it to its parent. Returns the tree of the root.
    fn leave(&mut self) -> io::Result<Option<ObjectId>> {
        let Some(OpenDirectory { path, content }) = self.open.pop() else { return Ok(None) };
        let id = self.store.algorithm.object("tree", &content);
        let parent = self.open.last().map(|directory| directory.path.as_slice());
        let start = parent.map_or(0, <[u8]>::len);
        let is_changed = self.changed.contains(path.as_slice());
        // Below an unchanged directory, the last snapshot has all trees.
        if is_changed || parent.is_none_or(|parent| self.changed.contains(parent)) {
            let is_known = self.store.contains(&id);
            if !is_known {
                self.store.write("tree", &content)?;
            }
            // An empty root has never been written.
            self.has_lost_objects |= !is_known && !is_changed && !content.is_empty();
        }
        if self.open.is_empty() {
            return Ok(Some(id));
        }
        let name = path.get(start..path.len().saturating_sub(1)).unwrap_or_default();
        self.add("40000", name, &id);
        Ok(None)
    }
}
