//! Which files were at the paths of a confinement when it was made.
//!
//! A mount lies on a file, not on a name: who puts another file at a path from outside, as editors and git do when
//! they save, takes away what kept or hid the path, in every mount namespace. Nobody inside can, but the next
//! command would find it so. A launcher asks before each command, and makes a new view when the answer is no.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::confinement::Confinement;

/// The files, by what tells them apart from later ones: their numbers, and when they were made, since numbers are
/// given again.
#[derive(Debug)]
pub(crate) struct Seen(Vec<(PathBuf, Option<Identity>)>);

type Identity = (u64, u64, Option<SystemTime>);

impl Seen {
    /// What is there now. To be asked before a view is made of it.
    pub(crate) fn new(confinement: &Confinement) -> Self {
        let Confinement { writable, read_only, hidden, visible, sockets, proxied: _, largest_file: _ } =
            confinement;
        let paths = writable.iter().chain(read_only).chain(hidden).chain(visible).chain(sockets);
        Self(paths.map(|path| (path.clone(), identity(path))).collect())
    }

    /// Whether it still is.
    pub(crate) fn is_still_so(&self) -> bool {
        self.0.iter().all(|(path, seen)| *seen == identity(path))
    }
}

fn identity(path: &PathBuf) -> Option<Identity> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.created().ok()))
}
