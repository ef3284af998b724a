//! The system calls of a command that a process of the sandbox answers: connections, which it makes (`connections.rs`),
//! and calls that change files, which it records and lets pass.
//!
//! The record decides later which changes of protected places a command has made. It knows nothing about protected
//! places: it has each name that a process of the command created, removed, replaced or opened for writing, in the
//! directory that the path led to, and each directory that it renamed. Who changes a path while its call is being
//! answered (another thread in memory, another process a link in it) makes a change that is not recorded.
//!
//! A call whose path cannot be looked up fails with that error at once: the system must not find another place a
//! moment later. A caller whose memory cannot be read gets `EPERM`.
//!
//! Calls are answered by a child of the supervisor that starts with the first of them that may take time. It may wait
//! for a file system that does not respond; the supervisor still ends the tree in time. If it is killed, the calls fail.
//!
//! Uses only system calls and the stack.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::caller::{CallPath, Caller, Found, LastStart, PathEnd, Place, Start, proc_root};
use crate::change_record::{ChangeRecord, FileId};
use crate::connections::{self, ConnectionRules};
use crate::descendants::reap;
use crate::raw::{self, Notification};
use crate::seccomp::change_calls::{CHANGING_FLAGS, SYS_FCHMODAT2};
use crate::seccomp::{Changes, CommandFilter, Connections, command_filter};

/// Maximum length of the address of a Unix socket, in bytes.
const MAX_SOCKET_ADDRESS: usize = 110;
/// Offset of the path in such an address, after the family.
const SOCKET_PATH_OFFSET: usize = 2;
/// Paths that commands open often and that change no file: `/dev` is not writable.
const DEVICES: [&CStr; 2] = [c"/dev/tty", c"/dev/null"];
/// Length of the longest of them, with its NUL byte.
const MAX_DEVICE_PATH: usize = 10;
/// Bytes of `struct open_how`: flags, mode and resolution, of 8 bytes each.
const OPEN_HOW: usize = 24;

/// The filters of commands, and what decides about the calls that the filters announce.
#[derive(Clone, Copy)]
pub(crate) struct CallRules {
    announcing: CommandFilter,
    /// The filter for a command whose calls nobody can answer.
    refusing: CommandFilter,
    /// `None` where the server's filter refuses all sockets.
    connections: Option<ConnectionRules>,
    /// `None` where changes cannot be recorded.
    record: Option<ChangeRecord>,
}

impl CallRules {
    /// Creates rules; without `connections`, commands have no sockets.
    ///
    /// # Errors
    /// `NOSYS`: this machine does not have a filter.
    pub(crate) fn new(
        connections: Option<ConnectionRules>,
        record: Option<ChangeRecord>,
    ) -> Result<Self, Errno> {
        let compile = |connections, changes| {
            command_filter(connections, changes).map_err(|_other_machine| Errno::NOSYS)
        };
        let (checked, unchecked) = match connections {
            Some(_) => (Connections::Checked, Connections::Unchecked),
            None => (Connections::Refused, Connections::Refused),
        };
        let changes = if record.is_some() { Changes::Recorded } else { Changes::Unrecorded };
        Ok(Self {
            announcing: compile(checked, changes)?,
            refusing: compile(unchecked, Changes::Unrecorded)?,
            connections,
            record,
        })
    }

    /// Restricts the calling process, which is about to execute a command. Sends its listener to the supervisor.
    ///
    /// # Errors
    /// Errors of seccomp(2) or sendmsg(2). The process must not execute the command then.
    pub(crate) fn restrict(&self, supervisor: BorrowedFd<'_>) -> Result<(), Errno> {
        match self.announcing.install_with_listener() {
            Ok(listener) => connections::send_descriptor(supervisor, listener.as_fd()),
            // An outer sandbox already has a listener, so the supervisor cannot answer these calls.
            Err(Errno::BUSY) => {
                if let Some(record) = self.record {
                    record.add_gap();
                }
                self.refusing.install()
            }
            Err(errno) => Err(errno),
        }
    }

    /// Answers the `first` call and all others, until no process is left that could make one. Returns the exit code of
    /// the process.
    pub(crate) fn answer_all(&self, supervisor: Pid, listener: BorrowedFd<'_>, first: &Notification) -> i32 {
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        if getppid() != Some(supervisor) {
            return 0;
        }
        let _ = rustix::thread::set_name(c"ibeam-calls");
        raw::wake_receiver_on_same_processor(listener);
        let proc_root = proc_root();
        let mut last_start = LastStart::default();
        let mut has_children = self.answer(listener, first, proc_root, &mut last_start);
        let waits_in_receive = raw::receiving_ends_with_callers();
        let mut has_call = waits_in_receive;
        loop {
            if has_children {
                has_children = reap(|_, _| {});
            }
            if !has_call {
                let mut polled = [PollFd::from_borrowed_fd(listener, PollFlags::IN)];
                let _ = poll(&mut polled, None);
                let [polled] = polled.map(|polled| polled.revents());
                has_call = polled.contains(PollFlags::IN);
                if !has_call && !polled.is_empty() {
                    return 0;
                }
                continue;
            }
            let received = raw::receive_notification(listener);
            has_call = waits_in_receive && received.is_ok();
            if let Ok(call) = received {
                has_children |= self.answer(listener, &call, proc_root, &mut last_start);
            }
        }
    }

    /// Answers one call. Returns whether a child of this process does so.
    fn answer(
        &self,
        listener: BorrowedFd<'_>,
        call: &Notification,
        proc_root: Option<FileId>,
        last_start: &mut LastStart,
    ) -> bool {
        if call.number == libc::SYS_connect {
            return match &self.connections {
                Some(rules) => connections::answer_connect(listener, call, rules),
                None => {
                    raw::answer(listener, call, Err(Errno::PERM));
                    false
                }
            };
        }
        let recorded = match self.record {
            Some(record) => {
                let caller = Caller::new(call.thread, proc_root);
                record_call(&mut Recorder { record, caller, last_start }, call)
            }
            None => Err(Errno::PERM),
        };
        match recorded {
            Ok(()) => raw::allow(listener, call),
            Err(errno) => raw::answer(listener, call, Err(errno)),
        }
        false
    }
}

/// Whether a call opens one of [`DEVICES`]. Waits for nothing but the memory of the caller, which waits for it too.
pub(crate) fn opens_device(call: &Notification) -> bool {
    let [first, second, ..] = call.arguments;
    let address = match call.number {
        libc::SYS_openat => second,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => first,
        _ => return false,
    };
    let mut bytes = [0; MAX_DEVICE_PATH];
    // A path that is shorter may end where no memory follows; the answer is only slower then.
    raw::read_memory(call.thread, address, &mut bytes).is_ok_and(|count| count == bytes.len())
        && DEVICES.iter().any(|path| bytes.starts_with(path.to_bytes_with_nul()))
}

/// Records what a call will change.
fn record_call(changes: &mut Recorder<'_>, call: &Notification) -> Result<(), Errno> {
    let here = Start::WorkingDirectory;
    let [a, b, c, d, e, _] = call.arguments;
    match call.number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => changes.open(here, a, b),
        libc::SYS_openat => changes.open(Start::from_argument(a), b, c),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => changes.open(here, a, (libc::O_CREAT | libc::O_WRONLY) as u64),
        libc::SYS_openat2 => {
            let (flags, resolution) = read_open_how(changes.caller.thread, c)?;
            // An absolute path would have another meaning here.
            let is_changed_root = resolution & libc::RESOLVE_IN_ROOT != 0;
            match flags as u32 & CHANGING_FLAGS {
                0 => Ok(()),
                _ if is_changed_root => Err(Errno::NOSYS),
                _ => changes.open(Start::from_argument(a), b, flags),
            }
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir | libc::SYS_mknod | libc::SYS_rmdir | libc::SYS_unlink => changes.entry(here, a),
        libc::SYS_mkdirat | libc::SYS_mknodat | libc::SYS_unlinkat => {
            changes.entry(Start::from_argument(a), b)
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink | libc::SYS_link => changes.entry(here, b),
        libc::SYS_symlinkat => changes.entry(Start::from_argument(b), c),
        libc::SYS_linkat => changes.entry(Start::from_argument(c), d),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => changes.renamed(here, a).and_then(|()| changes.entry(here, b)),
        libc::SYS_renameat => {
            changes.renamed(Start::from_argument(a), b)?;
            changes.entry(Start::from_argument(c), d)
        }
        libc::SYS_renameat2 => {
            changes.renamed(Start::from_argument(a), b)?;
            match e as u32 & libc::RENAME_EXCHANGE {
                0 => changes.entry(Start::from_argument(c), d),
                _ => changes.renamed(Start::from_argument(c), d),
            }
        }
        libc::SYS_truncate => changes.file(here, a, PathEnd::Target),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => changes.file(here, a, PathEnd::Target),
        libc::SYS_fchmodat => changes.file(Start::from_argument(a), b, PathEnd::Target),
        SYS_FCHMODAT2 => {
            let follows = d as u32 & libc::AT_SYMLINK_NOFOLLOW.cast_unsigned() == 0;
            let end = if follows { PathEnd::Target } else { PathEnd::Entry };
            changes.file(Start::from_argument(a), b, end)
        }
        libc::SYS_fchmod => changes.descriptor((a as u32).cast_signed()),
        libc::SYS_bind => changes.socket(b, c),
        // The filter announces no other calls.
        _ => Err(Errno::NOSYS),
    }
}

struct Recorder<'a> {
    record: ChangeRecord,
    caller: Caller,
    last_start: &'a mut LastStart,
}

impl Recorder<'_> {
    /// Records a name that is created or removed.
    fn entry(&mut self, start: Start, address: u64) -> Result<(), Errno> {
        let mut path = CallPath::read(self.caller.thread, address)?;
        self.add_entry(start, &mut path)
    }

    fn add_entry(&mut self, start: Start, path: &mut CallPath) -> Result<(), Errno> {
        match self.look_up(start, path, PathEnd::Name)? {
            Some(Place::Entry { directory, name, .. }) => self.record.add_name(directory, name.to_bytes()),
            Some(Place::File(_)) | None => {}
        }
        Ok(())
    }

    /// Records a name that is given to something else, or taken from it.
    fn renamed(&mut self, start: Start, address: u64) -> Result<(), Errno> {
        let mut path = CallPath::read(self.caller.thread, address)?;
        match self.look_up(start, &mut path, PathEnd::Entry)? {
            Some(Place::Entry { directory, name, file }) => {
                self.record.add_name(directory, name.to_bytes());
                // What is below a renamed directory comes with it.
                if let Some(moved) = file.filter(|file| file.kind == FileType::Directory) {
                    self.record.add_file(moved.id);
                }
            }
            Some(Place::File(_)) | None => {}
        }
        Ok(())
    }

    /// Records a file that is opened to be created or changed.
    fn open(&mut self, start: Start, address: u64, flags: u64) -> Result<(), Errno> {
        let has = |wanted: i32| flags as u32 & wanted.cast_unsigned() == wanted.cast_unsigned();
        if has(libc::O_PATH) {
            return Ok(());
        }
        // A file that is there makes such a call fail.
        if has(libc::O_CREAT | libc::O_EXCL) {
            return self.entry(start, address);
        }
        self.file(start, address, if has(libc::O_NOFOLLOW) { PathEnd::Entry } else { PathEnd::Target })
    }

    /// Records a file whose content or mode is changed.
    fn file(&mut self, start: Start, address: u64, end: PathEnd) -> Result<(), Errno> {
        let mut path = CallPath::read(self.caller.thread, address)?;
        if path.is_empty()
            && let Start::Descriptor(descriptor) = start
        {
            return self.descriptor(descriptor);
        }
        match self.look_up(start, &mut path, end)? {
            Some(Place::Entry { file: Some(file), .. } | Place::File(file)) if !is_content(file) => {}
            Some(Place::Entry { directory, name, file }) => {
                self.record.add_name(directory, name.to_bytes());
                if let Some(file) = file {
                    self.record.add_file(file.id);
                }
            }
            Some(Place::File(file)) => self.record.add_file(file.id),
            None => {}
        }
        Ok(())
    }

    fn descriptor(&self, descriptor: i32) -> Result<(), Errno> {
        if descriptor < 0 {
            return Err(Errno::BADF);
        }
        let file = self.caller.descriptor_file(descriptor)?;
        if is_content(file) {
            self.record.add_file(file.id);
        }
        Ok(())
    }

    /// Records the name to which a Unix socket is bound.
    fn socket(&mut self, address: u64, length: u64) -> Result<(), Errno> {
        // The system uses the lower 32 bits of the length.
        let length = usize::try_from((length as u32).cast_signed()).map_err(|_negative| Errno::INVAL)?;
        let mut bytes = [0; MAX_SOCKET_ADDRESS];
        let Some(given) = bytes.get_mut(..length) else { return Ok(()) };
        if raw::read_memory(self.caller.thread, address, given)? != length {
            return Err(Errno::FAULT);
        }
        let Some((family, path)) = given.split_at_checked(SOCKET_PATH_OFFSET) else { return Ok(()) };
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
        if family != (libc::AF_UNIX as u16).to_ne_bytes() || end == 0 {
            return Ok(());
        }
        let mut path = CallPath::from_bytes(path.get(..end).unwrap_or_default())?;
        self.add_entry(Start::WorkingDirectory, &mut path)
    }

    /// Looks up a path; `None` for one of [`DEVICES`], and for an empty one, which leads to no file.
    fn look_up<'a>(
        &mut self,
        start: Start,
        path: &'a mut CallPath,
        end: PathEnd,
    ) -> Result<Option<Place<'a>>, Errno> {
        if path.is_empty() || DEVICES.iter().any(|device| path.text() == device.to_bytes()) {
            return Ok(None);
        }
        self.caller.look_up(self.last_start, start, path, end).map(Some)
    }
}

/// Whether a command that opens the file, or changes its mode, changes what is in the workspace. What is written to a
/// pipe or a device changes no file, and a directory only gets other entries by their names.
fn is_content(file: Found) -> bool {
    match file.kind {
        FileType::Fifo | FileType::CharacterDevice | FileType::BlockDevice | FileType::Directory => false,
        FileType::RegularFile | FileType::Symlink | FileType::Socket | FileType::Unknown => true,
    }
}

/// Reads flags and resolution of `openat2`.
fn read_open_how(thread: u32, address: u64) -> Result<(u64, u64), Errno> {
    let mut bytes = [0; OPEN_HOW];
    if raw::read_memory(thread, address, &mut bytes)? != OPEN_HOW {
        return Err(Errno::FAULT);
    }
    let (words, _) = bytes.as_chunks::<8>();
    match words {
        [flags, _, resolution] => Ok((u64::from_ne_bytes(*flags), u64::from_ne_bytes(*resolution))),
        _ => Err(Errno::FAULT),
    }
}
