//! Files that are for their owner alone: keys, what is trusted.
//!
//! Refuses to write into one that is there: a reader finds the old content or the new, never half.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Puts a new file of `bytes` in the place of `path`, whose directory is there, by way of one beside it whose name
/// ends in `.new`. The content is on the disk by then; the name is when the caller syncs the directory.
///
/// # Errors
/// The system's; the old file is as it was.
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
    fn the_new_file_is_its_owners_whatever_stood_there_and_beside_it() {
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
