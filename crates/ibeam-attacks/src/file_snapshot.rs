//! The state of a file at one moment, in enough detail to detect a change.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file, a directory with everything below it, a link, or a missing file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FileSnapshot {
    Missing,
    Present { content: String, mode: u32, modified_at: (i64, i64), attributes: BTreeMap<Vec<u8>, Vec<u8>> },
}

impl FileSnapshot {
    /// Takes a snapshot of a path. The last component is not followed if it is a link.
    pub(crate) fn take(path: &Path) -> Self {
        let Ok(metadata) = fs::symlink_metadata(path) else { return Self::Missing };
        let mut hasher = DefaultHasher::new();
        hash(path, &metadata, &mut hasher);
        Self::Present {
            content: format!("{:016x}", hasher.finish()),
            mode: metadata.mode(),
            modified_at: (metadata.mtime(), metadata.mtime_nsec()),
            attributes: attributes(path),
        }
    }

    pub(crate) fn exists(&self) -> bool {
        *self != Self::Missing
    }

    /// Returns a hash of the content, for a directory also of the names and modes below it.
    pub(crate) fn content(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Present { content, .. } => content.clone(),
        }
    }

    pub(crate) fn mode(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Present { mode, .. } => format!("{mode:o}"),
        }
    }

    pub(crate) fn modified_at(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Present { modified_at, .. } => format!("{modified_at:?}"),
        }
    }

    pub(crate) fn attributes(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Present { attributes, .. } => format!("{attributes:?}"),
        }
    }
}

/// Hashes the type and the content of a file, and for a directory everything below it.
fn hash(path: &Path, metadata: &Metadata, hasher: &mut DefaultHasher) {
    const FILE_TYPE_MASK: u32 = 0o170_000;
    (metadata.mode() & FILE_TYPE_MASK).hash(hasher);
    if metadata.is_symlink() {
        fs::read_link(path).ok().hash(hasher);
    } else if metadata.is_file() {
        fs::read(path).ok().hash(hasher);
    } else if metadata.is_dir() {
        let mut names: Vec<_> = fs::read_dir(path).into_iter().flatten().flatten().collect();
        names.sort_by_key(fs::DirEntry::file_name);
        for entry in names {
            entry.file_name().hash(hasher);
            if let Ok(metadata) = entry.metadata() {
                metadata.mode().hash(hasher);
                hash(&entry.path(), &metadata, hasher);
            }
        }
    }
}

/// Returns the extended attributes of the file that the path leads to.
fn attributes(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0; 64 * 1024];
    let length = rustix::fs::listxattr(path, &mut names).unwrap_or_default();
    names.truncate(length);
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| {
        let mut value = vec![0; 64 * 1024];
        let length = rustix::fs::getxattr(path, std::ffi::OsStr::from_bytes(name), &mut value).ok()?;
        value.truncate(length);
        Some((name.to_vec(), value))
    };
    names.filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[track_caller]
    fn check(change: impl FnOnce(&Path), aspect: fn(&FileSnapshot) -> String) {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("d/victim");
        fs::create_dir(top.path().join("d")).unwrap();
        fs::write(&file, "original").unwrap();
        let before = FileSnapshot::take(&file);
        assert_eq!(aspect(&before), aspect(&FileSnapshot::take(&file)));
        change(&file);
        assert_ne!(aspect(&before), aspect(&FileSnapshot::take(&file)));
    }

    #[test]
    fn each_change_leaves_a_trace() {
        check(|file| fs::write(file, "originaL").unwrap(), FileSnapshot::content);
        check(|file| fs::remove_file(file).unwrap(), FileSnapshot::content);
        check(
            |file| {
                fs::remove_file(file).unwrap();
                symlink("elsewhere", file).unwrap();
            },
            FileSnapshot::content,
        );
        check(
            |file| fs::set_permissions(file, fs::Permissions::from_mode(0o4755)).unwrap(),
            FileSnapshot::mode,
        );
        check(
            |file| fs::File::open(file).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap(),
            FileSnapshot::modified_at,
        );
    }

    #[test]
    fn a_directory_changes_with_what_is_below_it() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("d")).unwrap();
        let before = FileSnapshot::take(top.path());
        fs::write(top.path().join("d/f"), "").unwrap();
        assert_ne!(before.content(), FileSnapshot::take(top.path()).content());
    }

    #[test]
    fn an_attribute_leaves_a_trace() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let before = FileSnapshot::take(file.path());
        let flags = rustix::fs::XattrFlags::empty();
        if let Err(error) = rustix::fs::setxattr(file.path(), "user.x", b"y", flags) {
            eprintln!("SKIP: no extended attributes in the directory for temporary files: {error}");
            return;
        }
        assert_ne!(before.attributes(), FileSnapshot::take(file.path()).attributes());
    }
}
