//! Replaces files that only their owner may read: keys, the trust store.
//!
//! An existing file is never written to: a reader finds the complete old or the complete new content.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Replaces the file at `path` in an existing directory with `bytes`, through a temporary file with the extension `.new`.
/// The content is synced to the disk; the caller syncs the directory.
///
/// # Errors
/// The error of the system; the old file is then unchanged.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_added_extension("new");
    drop(fs::remove_file(&new));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_new_file_is_readable_by_its_owner_only_whatever_existed_before() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys.toml");
        for name in ["keys.toml", "keys.toml.new"] {
            fs::write(home.path().join(name), "old").unwrap();
            fs::set_permissions(home.path().join(name), fs::Permissions::from_mode(0o666)).unwrap();
        }
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
