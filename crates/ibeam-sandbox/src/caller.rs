//! A thread of a command whose system call waits for an answer, and the paths that it names.
//!
//! A path is read from the thread's memory once and looked up as the thread would do it, without opening a file: only
//! directories are opened, as paths, so that no pipe or device is waited for. Links in `/proc` lead elsewhere for each
//! process; they are followed for the thread.
//!
//! Every call that changes a file waits for this, so it makes as few system calls as it can: it looks at the file only
//! if the caller asks for it, and does not open the directory again that the last path started from.
//!
//! Uses only system calls and the stack.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat_raw, stat,
    statat,
};
use rustix::io::Errno;

use crate::change_record::{FileId, file_id};
use crate::descendants::{ProcPath, parse_number, to_own_pid, to_proc_pid};
use crate::raw;
use last_start::HeldDirectory;
pub(crate) use last_start::{LastStart, Start};

mod last_start;

/// Maximum length of a path in bytes, with its NUL byte.
const PATH_MAX: usize = 4096;
/// Maximum number of links that are followed.
const MAX_LINKS: usize = 40;
/// Size of the parts in which memory is read: a part crosses no page, because the next page may not exist.
const PAGE: u64 = 4096;
/// Size of the first part, which has most paths as a whole.
const FIRST_PART: usize = 256;
/// Flags with which directories on the way are opened.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The thread that made a call.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    /// Its id in the pid namespace of this process.
    pub(crate) thread: u32,
    /// The root of `/proc`, if there is one.
    proc_root: Option<FileId>,
}

/// A path that was read from the caller's memory.
pub(crate) struct CallPath {
    bytes: [u8; PATH_MAX],
    /// Number of bytes before the NUL byte.
    length: usize,
    /// Offset of the last name, once the path was split.
    name_start: Option<usize>,
}

/// The part of a path's end that is looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathEnd {
    /// The name, whatever is there.
    Name,
    /// The file there, which may be a link.
    Entry,
    /// The file there; a link is followed.
    Target,
}

/// The place that a path leads to.
pub(crate) enum Place<'a> {
    /// An entry of a directory, and the file there, if it was looked up and there is one.
    Entry { directory: FileId, name: &'a CStr, file: Option<Found> },
    /// A file that was reached without its name.
    File(Found),
}

/// A file that a call refers to.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) id: FileId,
    pub(crate) kind: FileType,
}

impl CallPath {
    /// Reads the path at an address of the caller.
    ///
    /// # Errors
    /// `PERM`: the caller hides its memory. `FAULT`: the address is not mapped. `NAMETOOLONG`.
    pub(crate) fn read(thread: u32, address: u64) -> Result<Self, Errno> {
        let mut path = Self { bytes: [0; PATH_MAX], length: 0, name_start: None };
        while path.length < PATH_MAX {
            let next = address.wrapping_add(path.length as u64);
            let until_page_end = usize::try_from(PAGE - next % PAGE).map_err(|_wide| Errno::FAULT)?;
            let wanted = if path.length == 0 { until_page_end.min(FIRST_PART) } else { until_page_end };
            let end = PATH_MAX.min(path.length + wanted);
            let part = path.bytes.get_mut(path.length..end).ok_or(Errno::FAULT)?;
            let count = raw::read_memory(thread, next, part)?;
            let part = part.get(..count).ok_or(Errno::FAULT)?;
            if let Some(place) = part.iter().position(|byte| *byte == 0) {
                path.length += place;
                return Ok(path);
            }
            if count == 0 {
                return Err(Errno::FAULT);
            }
            path.length += count;
        }
        Err(Errno::NAMETOOLONG)
    }

    /// Creates a path from bytes without NUL.
    ///
    /// # Errors
    /// `NAMETOOLONG`.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Errno> {
        let mut path = Self { bytes: [0; PATH_MAX], length: bytes.len(), name_start: None };
        // The last byte stays NUL.
        let free = path.bytes.get_mut(..PATH_MAX - 1).unwrap_or_default();
        free.get_mut(..bytes.len()).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(bytes);
        Ok(path)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn is_absolute(&self) -> bool {
        self.text().starts_with(b"/")
    }

    /// Separates the last name from its directory, unless it is not a name (`/`, `.`, `..`).
    fn split(&mut self) {
        let end = self.text().iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let text = self.text().get(..end).unwrap_or_default();
        let start = text.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        if matches!(text.get(start..), None | Some(b"" | b"." | b"..")) {
            return;
        }
        self.name_start = Some(start);
        self.length = end;
        // The slash of the root directory stays.
        let slash = start.checked_sub(1).filter(|slash| *slash > 0);
        for end in [Some(end), slash].into_iter().flatten() {
            if let Some(place) = self.bytes.get_mut(end) {
                *place = 0;
            }
        }
    }

    /// Returns the directory of a path that was split: the complete path if it has no name at its end.
    fn directory(&self) -> &CStr {
        match self.name_start {
            Some(0) => c"",
            Some(1) => c"/",
            Some(_) | None => CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default(),
        }
    }

    /// Returns the last name of a path that was split.
    fn name(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(self.bytes.get(self.name_start?..)?).ok()
    }
}

impl Caller {
    /// Returns the caller of a notification. `proc_root` comes from [`proc_root`].
    pub(crate) fn new(thread: u32, proc_root: Option<FileId>) -> Self {
        Self { thread, proc_root }
    }

    /// Returns the id of the thread in `/proc`, which takes time where `/proc` belongs to another namespace.
    ///
    /// # Errors
    /// `SRCH`: the thread has ended.
    fn shown(&self) -> Result<i32, Errno> {
        to_proc_pid(self.thread.cast_signed()).ok_or(Errno::SRCH)
    }

    /// Looks up a path.
    ///
    /// # Errors
    /// The errors of the call, such as `NOENT`, `NOTDIR`, `ACCES` and `LOOP`.
    pub(crate) fn look_up<'a>(
        &self,
        last_start: &mut LastStart,
        start: Start,
        path: &'a mut CallPath,
        end: PathEnd,
    ) -> Result<Place<'a>, Errno> {
        let mut link_directory: Option<HeldDirectory> = None;
        for _ in 0..=MAX_LINKS {
            path.split();
            let opened;
            let above = if path.is_absolute() {
                opened = self.open_directory(CWD, path.directory())?;
                &opened
            } else {
                let from = match &link_directory {
                    Some(directory) => directory,
                    None => last_start.open(self, start)?,
                };
                if path.directory().is_empty() {
                    from
                } else {
                    opened = self.open_directory(from.descriptor.as_fd(), path.directory())?;
                    &opened
                }
            };
            let Some(name) = path.name() else {
                return Ok(Place::File(Found { id: above.id, kind: FileType::Directory }));
            };
            let file = match end {
                PathEnd::Name => None,
                PathEnd::Entry | PathEnd::Target => {
                    match statat(&above.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Err(Errno::NOENT) => None,
                        found => Some(Found::from(&found?)),
                    }
                }
            };
            let is_link = file.is_some_and(|file| file.kind == FileType::Symlink);
            if !is_link || end != PathEnd::Target {
                let directory = above.id;
                return Ok(Place::Entry { directory, name: path.name().unwrap_or_default(), file });
            }
            if self.is_in_proc(above.id) {
                return Ok(Place::File(Found::from(&statat(&above.descriptor, name, AtFlags::empty())?)));
            }
            let mut target = [0; PATH_MAX];
            let count = readlinkat_raw(&above.descriptor, name, &mut target[..])?;
            let next = above.duplicate()?;
            *path = CallPath::from_bytes(target.get(..count).unwrap_or_default())?;
            link_directory = Some(next);
        }
        Err(Errno::LOOP)
    }

    /// Returns the file of a descriptor.
    ///
    /// # Errors
    /// `BADF`: there is no such descriptor. `ACCES`: the process hides its descriptors.
    pub(crate) fn descriptor_file(&self, descriptor: i32) -> Result<Found, Errno> {
        let mut path = ProcPath::new();
        path.text(b"/proc/").number(self.shown()?).text(b"/fd/").number(descriptor);
        match stat(path.as_c_str().ok_or(Errno::BADF)?) {
            Err(Errno::NOENT) => Err(Errno::BADF),
            found => Ok(Found::from(&found?)),
        }
    }

    /// Opens the directory at `path`, which is not empty, from the directory `from`.
    fn open_directory(&self, from: BorrowedFd<'_>, path: &CStr) -> Result<HeldDirectory, Errno> {
        if let Ok(opened) = openat2(from, path, DIRECTORY, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
            let held = HeldDirectory::new(opened)?;
            if !self.is_in_proc(held.id) {
                return Ok(held);
            }
        }
        // The path may lead through `/proc`, and this process may have found something else there.
        HeldDirectory::new(self.walk(from, path.to_bytes())?)
    }

    /// Like [`Self::open_directory`], name by name, with the links of `/proc` as the caller sees them.
    fn walk(&self, from: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
        let mut rest = CallPath::from_bytes(path)?;
        let start = if path.starts_with(b"/") { c"/" } else { c"." };
        let mut current = openat(from, start, DIRECTORY, Mode::empty())?;
        let mut links = 0;
        let mut at = 0;
        loop {
            let text = rest.text().get(at..).unwrap_or_default();
            let skipped = text.iter().take_while(|byte| **byte == b'/').count();
            let text = text.get(skipped..).unwrap_or_default();
            if text.is_empty() {
                return Ok(current);
            }
            let name = CallPath::from_bytes(text.split(|byte| *byte == b'/').next().unwrap_or_default())?;
            at += skipped + name.length;
            let name = CStr::from_bytes_until_nul(&name.bytes).map_err(|_long| Errno::NAMETOOLONG)?;
            let is_dots = name == c"." || name == c"..";
            let found = statat(&current, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if is_dots || FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
                current = openat(&current, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP);
            }
            let above = file_id(&fstat(&current)?);
            if self.is_in_proc(above) && Some(above) != self.proc_root {
                // Such a link leads to a file, whatever it shows as its text.
                current = openat(&current, name, DIRECTORY, Mode::empty())?;
                continue;
            }
            let mut link = [0; PATH_MAX];
            let own = if self.is_in_proc(above) { self.own_proc_path(name)? } else { None };
            let target = match &own {
                Some(own) => own.as_c_str().unwrap_or_default().to_bytes(),
                None => {
                    let count = readlinkat_raw(&current, name, &mut link[..])?;
                    link.get(..count).unwrap_or_default()
                }
            };
            if target.starts_with(b"/") {
                current = openat(CWD, c"/", DIRECTORY, Mode::empty())?;
            }
            rest = join(target, rest.text().get(at..).unwrap_or_default())?;
            at = 0;
        }
    }

    /// Returns the target of `self` and `thread-self` in `/proc`, as the caller would see it.
    fn own_proc_path(&self, name: &CStr) -> Result<Option<ProcPath>, Errno> {
        let is_thread = name == c"thread-self";
        if !is_thread && name != c"self" {
            return Ok(None);
        }
        let shown = self.shown()?;
        let mut path = ProcPath::new();
        path.number(process_number(shown).ok_or(Errno::SRCH)?);
        if is_thread {
            path.text(b"/task/").number(shown);
        }
        Ok(Some(path))
    }

    fn is_in_proc(&self, (device, _): FileId) -> bool {
        self.proc_root.is_some_and(|(proc_device, _)| proc_device == device)
    }
}

impl From<&Stat> for Found {
    fn from(stat: &Stat) -> Self {
        Self { id: file_id(stat), kind: FileType::from_raw_mode(stat.st_mode) }
    }
}

fn join(target: &[u8], rest: &[u8]) -> Result<CallPath, Errno> {
    let mut joined = CallPath::from_bytes(target)?;
    // The last byte stays NUL.
    let free = joined.bytes.get_mut(..PATH_MAX - 1).unwrap_or_default();
    let free = free.get_mut(joined.length..).unwrap_or_default();
    free.get_mut(..rest.len()).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(rest);
    joined.length += rest.len();
    Ok(joined)
}

/// Returns the root of `/proc`.
pub(crate) fn proc_root() -> Option<FileId> {
    stat(c"/proc").ok().map(|found| file_id(&found))
}

/// Returns the process that a thread belongs to.
pub(crate) fn process_of(thread: u32) -> Option<rustix::process::Pid> {
    to_own_pid(process_number(to_proc_pid(thread.cast_signed())?)?)
}

/// Returns the id in `/proc` of the process of a thread, which is given by its id there.
fn process_number(shown: i32) -> Option<i32> {
    let mut path = ProcPath::new();
    path.text(b"/proc/").number(shown).text(b"/status");
    let file = openat(CWD, path.as_c_str()?, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut status = [0; 1024];
    let count = rustix::io::read(file, &mut status).ok()?;
    let mut lines = status.get(..count)?.split(|byte| *byte == b'\n');
    let digits = lines.find_map(|line| line.strip_prefix(b"Tgid:\t"))?;
    parse_number(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, directory: &CStr, name: Option<&CStr>) {
        let mut path = CallPath::from_bytes(path.as_bytes()).unwrap();
        path.split();
        assert_eq!((path.directory(), path.name()), (directory, name));
    }

    #[test]
    fn the_last_name_is_separated_from_its_directory() {
        check("a", c"", Some(c"a"));
        check("a//", c"", Some(c"a"));
        check("/a", c"/", Some(c"a"));
        check("../a/b/", c"../a", Some(c"b"));
        check("/a//b", c"/a/", Some(c"b"));
        check("a/..", c"a/..", None);
        check(".", c".", None);
        check("/", c"/", None);
        check("", c"", None);
    }
}
