//! A thread of a command whose system call waits for an answer, and the paths that it names.
//!
//! A path is read from the thread's memory once and looked up as the thread would do it, without opening a file: only
//! directories are opened, as paths, so that no pipe or device is waited for. Links in `/proc` lead elsewhere for each
//! process; they are followed for the thread.
//!
//! Uses only system calls and the stack.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat_raw, stat,
    statat,
};
use rustix::io::Errno;

use crate::change_record::{FileId, file_id};
use crate::descendants::{ProcPath, parse_number, to_own_pid, to_proc_pid};
use crate::raw;

/// Maximum length of a path in bytes, with its NUL byte.
const PATH_MAX: usize = 4096;
/// Maximum number of links that are followed.
const MAX_LINKS: usize = 40;
/// Size of the parts in which memory is read: a part crosses no page, because the next page may not exist.
const PAGE: u64 = 4096;
/// Flags with which directories on the way are opened.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The thread that made a call.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    /// Its id in the pid namespace of this process.
    pub(crate) thread: u32,
    /// Its id in `/proc`.
    shown: i32,
    /// The root of `/proc`, if there is one.
    proc_root: Option<FileId>,
}

/// The directory from which a relative path is looked up.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    /// The working directory.
    WorkingDirectory,
    /// A descriptor of the caller.
    Descriptor(i32),
}

/// A path that was read from the caller's memory.
pub(crate) struct CallPath {
    bytes: [u8; PATH_MAX],
    /// Number of bytes before the NUL byte.
    length: usize,
    /// Offset of the last name, once the path was split.
    name_start: Option<usize>,
}

/// The place that a path leads to.
pub(crate) enum Place<'a> {
    /// An entry of a directory, and the file there, if there is one.
    Entry { directory: FileId, name: &'a CStr, file: Option<Stat> },
    /// A file that was reached without its name.
    File(Stat),
}

impl Start {
    /// Returns the start that a call's argument refers to; the system uses its lower half.
    pub(crate) fn from_argument(argument: u64) -> Self {
        match (argument as u32).cast_signed() {
            libc::AT_FDCWD => Self::WorkingDirectory,
            descriptor => Self::Descriptor(descriptor),
        }
    }
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
            let end = PATH_MAX.min(path.length + until_page_end);
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

    fn text(&self) -> &[u8] {
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
    /// Identifies the caller of a notification. `proc_root` comes from [`proc_root`].
    ///
    /// # Errors
    /// `SRCH`: the thread has ended.
    pub(crate) fn new(thread: u32, proc_root: Option<FileId>) -> Result<Self, Errno> {
        let shown = to_proc_pid(thread.cast_signed()).ok_or(Errno::SRCH)?;
        Ok(Self { thread, shown, proc_root })
    }

    /// Looks up a path, without following a link at its end unless `follows`.
    ///
    /// # Errors
    /// The errors of the call, such as `NOENT`, `NOTDIR`, `ACCES` and `LOOP`.
    pub(crate) fn look_up<'a>(
        &self,
        start: Start,
        path: &'a mut CallPath,
        follows: bool,
    ) -> Result<Place<'a>, Errno> {
        let mut links_above: Option<OwnedFd> = None;
        for _ in 0..=MAX_LINKS {
            let from = match links_above.take() {
                _ if path.is_absolute() => openat(CWD, c"/", DIRECTORY, Mode::empty())?,
                Some(directory) => directory,
                None => self.open_start(start)?,
            };
            path.split();
            let opened = self.open_directory(from, path.directory())?;
            let above = fstat(&opened)?;
            let Some(name) = path.name() else { return Ok(Place::File(above)) };
            let file = match statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => None,
                found => Some(found?),
            };
            let is_link = file.is_some_and(|file| FileType::from_raw_mode(file.st_mode) == FileType::Symlink);
            if !is_link || !follows {
                let name = path.name().unwrap_or_default();
                return Ok(Place::Entry { directory: file_id(&above), name, file });
            }
            if self.is_in_proc(&above) {
                return statat(&opened, name, AtFlags::empty()).map(Place::File);
            }
            let mut target = [0; PATH_MAX];
            let count = readlinkat_raw(&opened, name, &mut target[..])?;
            *path = CallPath::from_bytes(target.get(..count).unwrap_or_default())?;
            links_above = Some(opened);
        }
        Err(Errno::LOOP)
    }

    /// Returns the file of a descriptor.
    ///
    /// # Errors
    /// `BADF`: there is no such descriptor. `ACCES`: the process hides its descriptors.
    pub(crate) fn descriptor_file(&self, descriptor: i32) -> Result<Stat, Errno> {
        let mut path = ProcPath::new();
        path.text(b"/proc/").number(self.shown).text(b"/fd/").number(descriptor);
        stat(path.as_c_str().ok_or(Errno::BADF)?).map_err(|errno| match errno {
            Errno::NOENT => Errno::BADF,
            other => other,
        })
    }

    fn open_start(&self, start: Start) -> Result<OwnedFd, Errno> {
        let mut path = ProcPath::new();
        path.text(b"/proc/").number(self.shown);
        match start {
            Start::WorkingDirectory => path.text(b"/cwd"),
            Start::Descriptor(descriptor) if descriptor >= 0 => path.text(b"/fd/").number(descriptor),
            Start::Descriptor(_) => return Err(Errno::BADF),
        };
        let opened = openat(CWD, path.as_c_str().ok_or(Errno::BADF)?, DIRECTORY, Mode::empty());
        opened.map_err(|errno| match errno {
            Errno::NOENT if matches!(start, Start::Descriptor(_)) => Errno::BADF,
            // The process hides what it has open.
            Errno::ACCESS => Errno::PERM,
            other => other,
        })
    }

    /// Opens the directory at `path` from the directory `from`; `from` itself if `path` is empty.
    fn open_directory(&self, from: OwnedFd, path: &CStr) -> Result<OwnedFd, Errno> {
        if path.is_empty() {
            return Ok(from);
        }
        match openat2(&from, path, DIRECTORY, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
            Ok(opened) if !self.is_in_proc(&fstat(&opened)?) => Ok(opened),
            // The path may lead through `/proc`, and this process may have found something else there.
            Ok(_) | Err(_) => self.walk(from, path.to_bytes()),
        }
    }

    /// Like [`Self::open_directory`], name by name, with the links of `/proc` as the caller sees them.
    fn walk(&self, from: OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
        let mut rest = CallPath::from_bytes(path)?;
        let mut current = from;
        if path.starts_with(b"/") {
            current = openat(CWD, c"/", DIRECTORY, Mode::empty())?;
        }
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
            let above = fstat(&current)?;
            if self.is_in_proc(&above) && Some(file_id(&above)) != self.proc_root {
                // Such a link leads to a file, whatever it shows as its text.
                current = openat(&current, name, DIRECTORY, Mode::empty())?;
                continue;
            }
            let mut link = [0; PATH_MAX];
            let own = if self.is_in_proc(&above) { self.own_proc_path(name)? } else { None };
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
        let mut path = ProcPath::new();
        match name.to_bytes() {
            b"self" => path.number(self.shown_process()?),
            b"thread-self" => path.number(self.shown_process()?).text(b"/task/").number(self.shown),
            _ => return Ok(None),
        };
        Ok(Some(path))
    }

    /// Returns the id in `/proc` of the process that the thread belongs to.
    fn shown_process(&self) -> Result<i32, Errno> {
        process_number(self.shown).ok_or(Errno::SRCH)
    }

    fn is_in_proc(&self, found: &Stat) -> bool {
        self.proc_root.is_some_and(|(device, _)| device == found.st_dev)
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
