//! Opens files beneath a held directory: no symbolic link is followed, and no `..` leads out.
//!
//! Takes one system call where the kernel has `openat2`. Elsewhere each name is opened in turn, with the same errors
//! (ELOOP, ENOTDIR).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Opens a directory only to reach its entries, where the system supports that.
#[cfg(target_os = "linux")]
pub(crate) const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const SEARCH: OFlags = OFlags::RDONLY;

/// Whether `openat2` is missing, or refused by a system call filter.
static IS_OPENAT2_MISSING: AtomicBool = AtomicBool::new(false);

/// Opens `rel_path`, which is relative and free of `..`, beneath `from`.
///
/// # Errors
/// The system's; `LOOP` or `NOTDIR` where a component is a symbolic link.
pub(crate) fn open(from: BorrowedFd<'_>, rel_path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if !IS_OPENAT2_MISSING.load(Ordering::Relaxed) {
        match open_with_openat2(from, rel_path, flags) {
            // A filter that does not list the call refuses it with EPERM. A file may be refused with EPERM too; then
            // opening it by name fails in the same way.
            Err(Errno::NOSYS | Errno::PERM) if !has_openat2(from) => {
                IS_OPENAT2_MISSING.store(true, Ordering::Relaxed)
            }
            // The tree changed while the kernel resolved the path.
            Err(Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    open_name_by_name(from, rel_path, flags)
}

/// Opens the directory `rel_path` for searching beneath `from`.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_directory(from: BorrowedFd<'_>, rel_path: &Path) -> Result<OwnedFd, Errno> {
    open(from, rel_path, SEARCH | OFlags::DIRECTORY)
}

#[cfg(target_os = "linux")]
fn open_with_openat2(from: BorrowedFd<'_>, rel_path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    // With `NOFOLLOW`, `O_PATH` would open a symbolic link in the last place itself.
    let flags = flags.difference(OFlags::NOFOLLOW);
    rustix::io::retry_on_intr(|| rustix::fs::openat2(from, rel_path, flags, Mode::empty(), resolve))
}

#[cfg(not(target_os = "linux"))]
fn open_with_openat2(_: BorrowedFd<'_>, _: &Path, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

fn has_openat2(from: BorrowedFd<'_>) -> bool {
    open_with_openat2(from, Path::new("."), SEARCH | OFlags::DIRECTORY | OFlags::CLOEXEC).is_ok()
}

fn open_name_by_name(from: BorrowedFd<'_>, rel_path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let search = SEARCH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut names = rel_path.components().peekable();
    let mut directory: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        let at = directory.as_ref().map_or(from, AsFd::as_fd);
        let last = names.peek().is_none();
        let name = match name {
            Component::Normal(name) => name,
            Component::CurDir if last => name.as_os_str(),
            Component::CurDir => continue,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        };
        let opened = rustix::io::retry_on_intr(|| {
            rustix::fs::openat(at, name, if last { flags } else { search }, Mode::empty())
        })?;
        if last {
            return refuse_link(opened, flags);
        }
        directory = Some(opened);
    }
    Err(Errno::NOENT)
}

/// Refuses a symbolic link: `O_PATH` with `O_NOFOLLOW` opens the link itself, which `openat2` refuses.
fn refuse_link(opened: OwnedFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::FileType;
    if flags.contains(SEARCH) {
        let stat = rustix::fs::fstat(&opened)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP);
        }
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::path::Path;

    use rustix::fs::OFlags;
    use rustix::io::Errno;

    use super::{SEARCH, open, open_name_by_name};
    use crate::fixture::Fixture;

    #[track_caller]
    fn check(rel_path: &str, flags: OFlags, expect: Result<(), &[Errno]>) {
        let fixture = Fixture::with("d/f", "x");
        std::fs::write(fixture.outside("secret"), "").unwrap();
        fixture.link("d", "inner");
        fixture.link("..", "outer");
        fixture.link("d/f", "link");
        let root = OwnedFd::from(std::fs::File::open(fixture.root()).unwrap());
        let rel_path = Path::new(rel_path);
        for opened in [
            open(root.as_fd(), rel_path, flags),
            open_name_by_name(root.as_fd(), rel_path, flags | OFlags::NOFOLLOW),
        ] {
            match (opened, expect) {
                (Ok(_), Ok(())) => {}
                (Err(errno), Err(expect)) => assert!(expect.contains(&errno), "{rel_path:?}: {errno:?}"),
                (opened, expect) => panic!("{rel_path:?}: {opened:?} is not {expect:?}"),
            }
        }
    }

    #[test]
    fn files_beneath_the_directory_are_opened() {
        for rel_path in ["d/f", "d", ".", "./d/f"] {
            check(rel_path, OFlags::RDONLY, Ok(()));
            check(rel_path, SEARCH, Ok(()));
        }
    }

    #[test]
    fn no_link_is_followed_and_no_path_leads_out() {
        let refused = Err(&[Errno::LOOP, Errno::NOTDIR, Errno::XDEV][..]);
        for rel_path in ["inner/f", "outer/secret", "link", "../secret", "/etc/passwd"] {
            check(rel_path, OFlags::RDONLY, refused);
            check(rel_path, SEARCH, refused);
        }
    }
}
