//! Replaces the content of a file atomically.
//!
//! The bytes go to a new file in the same directory, followed by fsync, rename and fsync of the directory. Mode, owner
//! and extended attributes are copied. A hard link is broken: the other names keep the old content.

use std::fs::File;
use std::io::Write as _;

use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, Stat, Uid, XattrFlags};
use rustix::io::Errno;

use crate::dir_entry::{DirEntryAt, sync_directory};
use crate::file_error::{FileAction, FileError};
use crate::staging::{self, StagedFile};

impl DirEntryAt {
    /// Makes `bytes` the content of the file. `old` is the metadata of the file that was there before, if any.
    ///
    /// # Errors
    /// The system's error; then the old file is unchanged. Also when the file changed since `old` was read.
    pub(crate) fn replace(&self, bytes: &[u8], old: Option<&Stat>) -> Result<(), FileError> {
        let fail = |errno| FileError::system(FileAction::Write, &self.requested, errno);
        if old.is_some() {
            // A rename needs no permission on the file itself; without this check a read-only file would be
            // overwritten.
            let allowed =
                rustix::fs::accessat(&self.directory, &self.name, Access::WRITE_OK, AtFlags::EACCESS);
            if let Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) = allowed {
                return Err(fail(errno));
            }
        }
        staging::remove_leftovers(&self.directory);
        let mut staged = StagedFile::new(&self.directory).map_err(fail)?;
        let written = self.fill_and_publish(&mut staged, bytes, old);
        if written.is_err() {
            staged.discard(&self.directory);
        }
        written
    }

    fn fill_and_publish(
        &self,
        staged: &mut StagedFile,
        bytes: &[u8],
        old: Option<&Stat>,
    ) -> Result<(), FileError> {
        let fail = |errno| FileError::system(FileAction::Write, &self.requested, errno);
        let io_failure = |error: std::io::Error| FileError::io(FileAction::Write, &self.requested, &error);
        staged.file.write_all(bytes).map_err(io_failure)?;
        if let Some(old) = old {
            self.copy_attributes(&staged.file, old).map_err(fail)?;
        }
        staged.file.sync_all().map_err(io_failure)?;
        if has_changed(self.stat()?.as_ref(), old) {
            return Err(FileError::refused(
                &self.requested,
                "changed on disk while it was being written; read it again",
            ));
        }
        staged.publish(&self.directory, &self.name, old.is_none()).map_err(fail)?;
        sync_directory(&self.directory);
        Ok(())
    }

    fn copy_attributes(&self, new: &File, old: &Stat) -> Result<(), Errno> {
        let created = rustix::fs::fstat(new)?;
        if (created.st_uid, created.st_gid) != (old.st_uid, old.st_gid) {
            // Only root may give a file away; for others the new owner is the writer, as with any editor.
            let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            let _ = rustix::fs::fchown(new, Some(owner), Some(group));
        }
        rustix::fs::fchmod(new, Mode::from_raw_mode(old.st_mode & 0o7777))?;
        let _ = self.copy_extended_attributes(new);
        Ok(())
    }

    /// Best effort: an attribute that the system refuses to set does not prevent the write.
    fn copy_extended_attributes(&self, new: &File) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let old = rustix::io::retry_on_intr(|| {
            rustix::fs::openat(&self.directory, &self.name, flags, Mode::empty())
        })?;
        let mut names = vec![0u8; 64 << 10];
        let length = rustix::fs::flistxattr(&old, &mut names)?;
        for name in names.get(..length).unwrap_or_default().split(|byte| *byte == 0) {
            // A capability was granted to the old content, not to the new one.
            if name.is_empty() || name == b"security.capability" {
                continue;
            }
            let mut value = vec![0u8; 64 << 10];
            if let Ok(length) = rustix::fs::fgetxattr(&old, name, &mut value) {
                let value = value.get(..length).unwrap_or_default();
                let _ = rustix::fs::fsetxattr(new, name, value, XattrFlags::empty());
            }
        }
        Ok(())
    }
}

/// Whether the file is another than before, or was modified.
fn has_changed(now: Option<&Stat>, seen: Option<&Stat>) -> bool {
    let identity = |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    now.map(identity) != seen.map(identity)
}

#[cfg(test)]
mod tests {
    use crate::dir_entry::{DirEntryAt, Parents};
    use crate::fixture::Fixture;
    use crate::workspace::Workspace;

    /// Reads the metadata of `f`, runs `meanwhile`, then writes as a tool does.
    #[track_caller]
    fn written_after(meanwhile: impl Fn(&Fixture)) -> Result<(), String> {
        let fixture = Fixture::with("f", "old");
        let workspace = Workspace::new(&fixture.root(), &[]).unwrap();
        let entry = DirEntryAt::find(&workspace, "f", &fixture.path("f"), Parents::Required).unwrap();
        let seen = entry.stat_regular_file().unwrap();
        meanwhile(&fixture);
        let before = std::fs::read(fixture.path("f")).ok();
        let written = entry.replace(b"new", seen.as_ref()).map_err(|error| error.to_string());
        let after = std::fs::read(fixture.path("f")).ok();
        assert_eq!(after, if written.is_ok() { Some(b"new".to_vec()) } else { before });
        assert!(std::fs::read_dir(fixture.root()).unwrap().count() <= 1, "a temporary file is left");
        written
    }

    #[test]
    fn a_concurrent_change_is_not_overwritten() {
        assert_eq!(written_after(|_| ()), Ok(()));
        for meanwhile in [
            (|fixture| fixture.put("f", "other!")) as fn(&Fixture),
            |fixture| std::fs::remove_file(fixture.path("f")).unwrap(),
            |fixture| {
                std::fs::remove_file(fixture.path("f")).unwrap();
                fixture.link("g", "f");
            },
        ] {
            let error = written_after(meanwhile).unwrap_err();
            assert!(error.contains("changed on disk while it was being written"), "{error}");
        }
    }
}
