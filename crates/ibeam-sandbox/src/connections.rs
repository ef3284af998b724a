//! Connections of a command in namespaces, made by the process that answers its calls (`call_answers.rs`).
//!
//! A network namespace covers everything except Unix sockets with a path. A process that can reach the file can
//! connect, regardless of mounts and Landlock, and a socket can be created, moved or linked anywhere while a command
//! runs. So a seccomp filter hands every `connect` of a command to a child of its supervisor, which has the same
//! confinement as the command. It copies the socket and the address and opens the file once. It connects to that file
//! if the listener belongs to this network namespace (another command of the same run), or if a person granted the
//! path. The result of the system call is the result that the command receives. Once both are copied, the command's
//! memory and descriptors are not used again, so the command cannot change the decision.
//!
//! The kernel (`sock_diag`) is asked whether a listener belongs to this namespace: the kernel lists only
//! sockets of this namespace, with their files. Where the kernel does not have `sock_diag`, connections to sockets with
//! a path are refused.
//!
//! Uses only system calls and the stack.

use std::ffi::CStr;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fcntl_getfl, fstat, major, minor, openat, openat2, stat,
};
use rustix::io::{Errno, IoSliceMut};
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, netlink, recv, recvmsg, send, sendmsg,
    socket_with, socketpair,
};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::caller::process_of;
use crate::descendants::{ProcPath, to_proc_pid};
use crate::raw::{self, ForkMode, Notification};

/// Maximum length of all granted paths together, in bytes.
const MAX_GRANTED_BYTES: usize = 4096;
/// Maximum length of a socket address, in bytes.
const MAX_ADDRESS: usize = 128;
/// Offset of the path in a Unix address, after the family.
const PATH_OFFSET: usize = 2;

/// The granted paths that decide about connections of commands.
#[derive(Clone, Copy)]
pub(crate) struct ConnectionRules {
    /// The granted paths, each ended by NUL.
    granted: [u8; MAX_GRANTED_BYTES],
}

impl ConnectionRules {
    /// Creates rules that allow connections to the commands' own sockets and to the `granted` paths.
    ///
    /// # Errors
    /// `NAMETOOLONG`: the paths are longer than 4 KiB together.
    pub(crate) fn new(granted: &[PathBuf]) -> Result<Self, Errno> {
        let mut texts = [0; MAX_GRANTED_BYTES];
        let bytes: Vec<u8> =
            granted.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        texts.get_mut(..bytes.len()).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(&bytes);
        Ok(Self { granted: texts })
    }

    /// Whether the file is at one of the granted paths at this moment.
    fn grants(&self, file: &Stat) -> bool {
        let mut rest = self.granted.as_slice();
        while let Ok(path) = CStr::from_bytes_until_nul(rest) {
            if path.is_empty() {
                return false;
            }
            if stat(path).is_ok_and(|found| (found.st_dev, found.st_ino) == (file.st_dev, file.st_ino)) {
                return true;
            }
            rest = rest.get(path.count_bytes() + 1..).unwrap_or_default();
        }
        false
    }
}

/// Returns two connected sockets, over which a command sends its listener to its supervisor.
pub(crate) fn listener_channel() -> Result<(OwnedFd, OwnedFd), Errno> {
    socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// Sends a descriptor over a socket.
pub(crate) fn send_descriptor(socket: BorrowedFd<'_>, descriptor: BorrowedFd<'_>) -> Result<(), Errno> {
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}

/// Returns the listener that a command sent before it executed its program, if it sent one.
pub(crate) fn receive_listener(socket: BorrowedFd<'_>) -> Option<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(socket, &mut [IoSliceMut::new(&mut [0])], &mut ancillary, flags).ok()?;
    ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    })
}

/// Answers a `connect` of the command. A connection that may block is made by a child of this process; returns whether
/// there is such a child.
pub(crate) fn answer_connect(listener: BorrowedFd<'_>, call: &Notification, rules: &ConnectionRules) -> bool {
    let connection = match Connection::read(listener, call) {
        Ok(connection) => connection,
        Err(errno) => {
            raw::answer(listener, call, Err(errno));
            return false;
        }
    };
    if !connection.may_wait {
        raw::answer(listener, call, connection.connect(rules));
        return false;
    }
    let forked = raw::fork(ForkMode::Plain, || {
        raw::answer(listener, call, connection.connect(rules));
        0
    });
    if let Err(errno) = forked {
        raw::answer(listener, call, Err(errno));
    }
    true
}

/// A connection that a command requested, copied from the command.
struct Connection {
    socket: OwnedFd,
    address: [u8; MAX_ADDRESS],
    length: usize,
    /// The file at the path of a Unix address.
    file: Option<OwnedFd>,
    /// Whether the call may block.
    may_wait: bool,
}

impl Connection {
    fn read(listener: BorrowedFd<'_>, call: &Notification) -> Result<Self, Errno> {
        let [descriptor, pointer, length, ..] = call.arguments;
        // The system uses the lower 32 bits of descriptor and length.
        let descriptor = (descriptor as u32).cast_signed();
        let length = usize::try_from((length as u32).cast_signed()).map_err(|_negative| Errno::INVAL)?;
        let mut address = [0; MAX_ADDRESS];
        let wanted = address.get_mut(..length).ok_or(Errno::INVAL)?;
        if raw::read_memory(call.thread, pointer, wanted)? != length {
            return Err(Errno::FAULT);
        }
        let process = pidfd_open(process_of(call.thread).ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
        let socket = pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty())?;
        let is_unix = socket_domain(&socket)? == AddressFamily::UNIX;
        let file = match unix_path(&address, length) {
            Some(path) if is_unix => Some(open(call.thread, path)?),
            Some(_) | None => None,
        };
        // If the call is still pending, the thread id referred to the same thread in all calls above.
        if !raw::is_pending(listener, call) {
            return Err(Errno::SRCH);
        }
        let may_wait =
            socket_type(&socket)? != SocketType::DGRAM && !fcntl_getfl(&socket)?.contains(OFlags::NONBLOCK);
        Ok(Self { socket, address, length, file, may_wait })
    }

    fn connect(&self, rules: &ConnectionRules) -> Result<(), Errno> {
        let Some(file) = &self.file else {
            // The network namespace already limits these addresses.
            return raw::connect(self.socket.as_fd(), self.address.get(..self.length).unwrap_or_default());
        };
        let found = fstat(file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            return Err(Errno::CONNREFUSED);
        }
        if !is_bound_here(file, &found) && !rules.grants(&found) {
            return Err(Errno::ACCESS);
        }
        let mut path = ProcPath::new();
        path.text(b"/proc/self/fd/").number(file.as_raw_fd());
        let path = path.as_c_str().ok_or(Errno::NAMETOOLONG)?.to_bytes_with_nul();
        let mut address = [0; MAX_ADDRESS];
        let length = PATH_OFFSET + path.len();
        if let Some(family) = address.first_chunk_mut() {
            *family = AddressFamily::UNIX.as_raw().to_ne_bytes();
        }
        address.get_mut(PATH_OFFSET..length).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(path);
        raw::connect(self.socket.as_fd(), address.get(..length).unwrap_or_default())
    }
}

/// Returns the path of a Unix address, with its NUL byte. Returns `None` for other addresses and for abstract names.
fn unix_path(address: &[u8; MAX_ADDRESS], length: usize) -> Option<&CStr> {
    let family = u16::from_ne_bytes(*address.first_chunk()?);
    // All bytes from `length` on are zero, and no address fills the whole array.
    let path = CStr::from_bytes_until_nul(address.get(PATH_OFFSET..)?).ok()?;
    (family == AddressFamily::UNIX.as_raw() && length > PATH_OFFSET && !path.is_empty()).then_some(path)
}

/// Opens the file that a path refers to in the context of a thread.
fn open(thread: u32, path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    // Links in /proc would resolve differently for this process than for the command.
    let find = |from: BorrowedFd<'_>| openat2(from, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
    if path.to_bytes().starts_with(b"/") {
        return find(CWD);
    }
    let mut directory = ProcPath::new();
    let shown = to_proc_pid(thread.cast_signed()).ok_or(Errno::SRCH)?;
    directory.text(b"/proc/").number(shown).text(b"/cwd");
    let directory = openat(CWD, directory.as_c_str().ok_or(Errno::SRCH)?, flags, Mode::empty())?;
    find(directory.as_fd())
}

/// Whether a socket of this network namespace listens at the file.
fn is_bound_here(file: &OwnedFd, found: &Stat) -> bool {
    let device = (major(found.st_dev), minor(found.st_dev));
    if listens_at(found.st_ino, device).unwrap_or(false) {
        return true;
    }
    // Some file systems (btrfs) show different device numbers to users than the kernel uses.
    let own = mount_device::for_file(file).filter(|own| *own != device);
    own.is_some_and(|own| listens_at(found.st_ino, own).unwrap_or(false))
}

/// Whether the kernel lists the file among the listening Unix sockets of this namespace.
fn listens_at(inode: u64, device: (u32, u32)) -> Result<bool, Errno> {
    let kind = SocketType::RAW;
    let socket = socket_with(AddressFamily::NETLINK, kind, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    send(&socket, &diag::request(), SendFlags::empty())?;
    let mut buffer = [0; 16 * 1024];
    loop {
        let (count, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        match diag::find(buffer.get(..count).unwrap_or_default(), inode, device)? {
            diag::SearchResult::Found => return Ok(true),
            diag::SearchResult::More if count > 0 => {}
            diag::SearchResult::More | diag::SearchResult::End => return Ok(false),
        }
    }
}

/// Messages of `sock_diag`; see sock_diag(7). The constants have the values of the kernel's headers.
mod diag {
    use rustix::io::Errno;

    const HEADER: usize = 16;
    const BY_FAMILY: u16 = 20;
    const REQUEST_AND_DUMP: u16 = 0x1 | 0x300;
    const ERROR: u16 = 2;
    const DONE: u16 = 3;
    /// Requested states as bits: listening sockets.
    const LISTENING: u32 = 1 << 10;
    /// Requests the file of each socket.
    const SHOW_FILE: u32 = 2;
    /// The attribute with inode and device of the file.
    const FILE: u16 = 1;
    /// Size of `struct unix_diag_msg`.
    const MESSAGE: usize = 16;

    /// The result of searching one part of the list.
    pub(super) enum SearchResult {
        /// The file is in this part.
        Found,
        /// The file is not in this part, and more parts follow.
        More,
        /// The file is not in the list.
        End,
    }

    /// Returns the request for all listening Unix sockets: `struct nlmsghdr` and `struct unix_diag_req`.
    pub(super) fn request() -> [u8; 40] {
        let words = [
            40,
            u32::from(REQUEST_AND_DUMP) << 16 | u32::from(BY_FAMILY),
            1,
            0,
            // The first byte is the family.
            u32::from_le(libc::AF_UNIX.cast_unsigned()),
            LISTENING,
            0,
            SHOW_FILE,
            u32::MAX,
            u32::MAX,
        ];
        let mut bytes = [0; 40];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Searches the sockets of one answer for the file.
    pub(super) fn find(mut rest: &[u8], inode: u64, device: (u32, u32)) -> Result<SearchResult, Errno> {
        while rest.len() >= HEADER {
            let length = word(rest, 0)? as usize;
            let kind = half(rest, 4)?;
            let message = rest.get(HEADER..length).ok_or(Errno::PROTO)?;
            match kind {
                DONE => return Ok(SearchResult::End),
                // The kernel was built without this list.
                ERROR => return Err(Errno::OPNOTSUPP),
                BY_FAMILY if is_at(message, inode, device)? => return Ok(SearchResult::Found),
                _ => {}
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(SearchResult::More)
    }

    fn is_at(message: &[u8], inode: u64, (major, minor): (u32, u32)) -> Result<bool, Errno> {
        let mut attributes = message.get(MESSAGE..).ok_or(Errno::PROTO)?;
        while attributes.len() >= 4 {
            let length = usize::from(half(attributes, 0)?);
            if half(attributes, 2)? == FILE {
                // The kernel sends the lower half of the inode, and the device in its own numbering.
                let (number, device) = (word(attributes, 4)?, word(attributes, 8)?);
                return Ok(number == inode as u32 && device == (major << 20 | minor));
            }
            attributes = attributes.get(length.max(4).next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(false)
    }

    fn word(bytes: &[u8], at: usize) -> Result<u32, Errno> {
        bytes
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .map(|word| u32::from_ne_bytes(*word))
            .ok_or(Errno::PROTO)
    }

    fn half(bytes: &[u8], at: usize) -> Result<u16, Errno> {
        bytes
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .map(|half| u16::from_ne_bytes(*half))
            .ok_or(Errno::PROTO)
    }
}

/// The device number of a file system in the kernel's numbering, from the list of mounts.
mod mount_device {
    use std::os::fd::OwnedFd;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, openat, statx};

    /// Returns major and minor number of the file's device; `None` where the system does not report the mount.
    pub(super) fn for_file(file: &OwnedFd) -> Option<(u32, u32)> {
        let found = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
        let mount = (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let mounts = openat(CWD, c"/proc/self/mountinfo", flags, Mode::empty()).ok()?;
        let mut buffer = [0; 4096];
        let mut line = Line::default();
        while let Ok(count @ 1..) = rustix::io::read(&mounts, &mut buffer) {
            for byte in buffer.get(..count)? {
                if line.feed(*byte) && line.mount == mount {
                    return Some((line.major, line.minor));
                }
                if *byte == b'\n' {
                    line = Line::default();
                }
            }
        }
        None
    }

    /// The start of a line: `mount parent major:minor …`.
    #[derive(Default)]
    struct Line {
        field: usize,
        mount: u64,
        major: u32,
        minor: u32,
    }

    impl Line {
        /// Reads the next byte. Returns whether the numbers are complete.
        fn feed(&mut self, byte: u8) -> bool {
            let digit = byte.wrapping_sub(b'0');
            match (self.field, byte) {
                (0, b'0'..=b'9') => self.mount = self.mount.wrapping_mul(10).wrapping_add(digit.into()),
                (2, b'0'..=b'9') => self.major = self.major.wrapping_mul(10).wrapping_add(digit.into()),
                (3, b'0'..=b'9') => self.minor = self.minor.wrapping_mul(10).wrapping_add(digit.into()),
                (2, b':') | (0 | 1 | 3, b' ') => self.field += 1,
                (_, _) => {}
            }
            self.field == 4 && byte == b' '
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_device_of_a_mount_is_read_from_its_line() {
            let mut line = Line::default();
            let complete: Vec<bool> =
                b"2143 98 0:37 /sub /home rw,relatime shared:1 - btrfs /dev/vda5 rw 4 5"
                    .iter()
                    .map(|byte| line.feed(*byte))
                    .collect();
            assert_eq!((line.mount, line.major, line.minor), (2143, 0, 37));
            assert_eq!(complete.iter().position(|complete| *complete), Some(12));
        }

        #[test]
        fn a_file_lies_on_the_device_of_its_mount() {
            let file = OwnedFd::from(std::fs::File::open("/proc/self/mounts").unwrap());
            let found = rustix::fs::fstat(&file).unwrap();
            let expected = (rustix::fs::major(found.st_dev), rustix::fs::minor(found.st_dev));
            assert_eq!(for_file(&file), Some(expected));
        }
    }
}
