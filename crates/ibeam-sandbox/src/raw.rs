//! The system calls that rustix has not: forks, exec, signal masks, memory that is shared with a child.
//!
//! All `unsafe` of the program is here and in the files below. What runs after a fork uses only system calls and
//! its own stack: the process it was copied from may have held any lock at that moment, that of the allocator
//! included.

#![allow(unsafe_code, reason = "the only place for it; each block says why it holds")]

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::mount::MountAttrFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::Pid;

use crate::launch_request::Layout;

mod filters;
mod notify;

#[cfg(test)]
pub(crate) use filters::any_call;
pub(crate) use filters::{
    HandledRights, filter_calls, landlock_abi, landlock_grant, landlock_restrict, landlock_ruleset,
};
pub(crate) use notify::{
    Notification, answer, connect, filter_calls_with_listener, is_pending, read_memory, receive_notification,
};

/// How a child begins.
#[derive(Clone, Copy)]
pub(crate) enum ForkMode {
    /// As by fork(2).
    Plain,
    /// The parent waits until the child has executed a program or ended.
    Vfork,
    /// The child begins in new namespaces, as these flags of clone(2) say.
    Namespaces(libc::c_int),
}

impl ForkMode {
    /// Whether the child begins in a new namespace of the kind that this flag of clone(2) names.
    pub(crate) fn creates(self, flag: libc::c_int) -> bool {
        match self {
            Self::Plain | Self::Vfork => false,
            Self::Namespaces(namespaces) => namespaces & flag != 0,
        }
    }
}

/// Forks. The child runs `life` and exits with what it gives, also when it panics; it never returns.
///
/// # Errors
/// The system's refusal, in the parent.
pub(crate) fn fork(how: ForkMode, life: impl FnOnce() -> i32) -> Result<Pid, Errno> {
    let flags = match how {
        ForkMode::Plain => 0,
        ForkMode::Vfork => libc::CLONE_VFORK,
        ForkMode::Namespaces(namespaces) => namespaces,
    };
    // SAFETY: no memory is shared with the child, and no stack or thread area is given, so this is a fork.
    // The order of the arguments differs between machines, but all after the first are zero.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    if pid == 0 {
        // A panic must not unwind into the copy of the caller's stack.
        let _guard = ExitOnUnwind;
        exit(life());
    }
    let refused = last_error();
    i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw).ok_or(refused)
}

struct ExitOnUnwind;

impl Drop for ExitOnUnwind {
    fn drop(&mut self) {
        exit(101);
    }
}

fn exit(code: i32) -> ! {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(code) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// All signals are blocked while this lives; then the former mask holds again.
pub(crate) struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    pub(crate) fn new() -> Self {
        let mut all = MaybeUninit::uninit();
        let mut former = MaybeUninit::uninit();
        // SAFETY: both sets are written before they are read.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), former.as_mut_ptr());
            Self(former.assume_init())
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: the set was given by the system.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// No signal is blocked from here on.
pub(crate) fn unblock_signals() {
    let mut none = MaybeUninit::uninit();
    // SAFETY: the set is written before it is read.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Takes away the handlers of the process this one was forked from. What is ignored stays so, as for any child,
/// but for SIGPIPE, which is ignored by every Rust program, and SIGCHLD, by which children are waited for.
pub(crate) fn reset_handlers() {
    for number in 1..=libc::SIGRTMAX() {
        let mut now = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: `now` is a valid action, zero is the default one; numbers that are none are refused.
        unsafe {
            if libc::sigaction(number, std::ptr::null(), now.as_mut_ptr()) == 0
                && (now.assume_init_ref().sa_sigaction != libc::SIG_IGN
                    || number == libc::SIGPIPE
                    || number == libc::SIGCHLD)
            {
                let default = MaybeUninit::<libc::sigaction>::zeroed();
                libc::sigaction(number, default.as_ptr(), std::ptr::null_mut());
            }
        }
    }
}

/// A descriptor from which SIGCHLD, SIGHUP and SIGTERM are read.
pub(crate) fn signal_descriptor() -> Result<OwnedFd, Errno> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is written before it is read; the descriptor is new and ours.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for number in [libc::SIGCHLD, libc::SIGHUP, libc::SIGTERM] {
            libc::sigaddset(set.as_mut_ptr(), number);
        }
        match libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(last_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor)),
        }
    }
}

/// Closes every descriptor from `first` on. Whoever owned one must not use it any more.
pub(crate) fn close_from(first: u32) {
    // SAFETY: called in children only, whose remaining code owns no descriptor of this range.
    if unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } == 0 {
        return;
    }
    // Before Linux 5.9.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(1 << 16);
    for descriptor in first..u32::try_from(limit).unwrap_or(1 << 16) {
        // SAFETY: as above.
        unsafe { libc::close(descriptor.cast_signed()) };
    }
}

/// Gives descriptor `from` the number `to`, for good, closing what had that number.
pub(crate) fn dup_to(from: BorrowedFd<'_>, to: RawFd) -> Result<(), Errno> {
    // SAFETY: the numbers that children give away are fixed, and nobody owns them.
    if unsafe { libc::dup2(from.as_raw_fd(), to) } < 0 { Err(last_error()) } else { Ok(()) }
}

/// The descriptor of a fixed number, which was fixed_fd there and is never closed.
pub(crate) fn fixed_fd(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: see `place`; it lives as long as the process.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// A request in memory that the command, its supervisor and the server share.
pub(crate) struct SharedRequest {
    start: NonNull<u8>,
    length: usize,
}

impl SharedRequest {
    /// Zeroed memory of this many bytes.
    pub(crate) fn new(length: usize) -> Result<Self, Errno> {
        // SAFETY: new memory at a place the system chooses.
        let start = unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::SHARED)
        }?;
        Ok(Self { start: NonNull::new(start.cast()).ok_or(Errno::NOMEM)?, length })
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping lives as long as `self`, and is zeroed or was written since.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// The text at `offset`, which ends with NUL.
    pub(crate) fn text(&self, offset: usize) -> Option<&CStr> {
        // SAFETY: as in `bytes`.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) };
        CStr::from_bytes_until_nul(bytes.get(offset..)?).ok()
    }

    /// Becomes the program that is asked for. Gives only the reason why not.
    pub(crate) fn exec(&mut self, layout: &Layout) -> Errno {
        let base = self.start.as_ptr();
        for at in layout.pointers() {
            // SAFETY: `Layout::of` has checked that all words lie inside; the mapping is aligned to pages.
            unsafe {
                let word = base.add(at).cast::<usize>();
                if word.read() != 0 {
                    word.write(word.read() + base as usize);
                }
            }
        }
        // SAFETY: two lists that end with a null pointer, of texts that end with NUL, made by `request::encode`.
        unsafe {
            libc::execve(
                base.add(layout.program).cast(),
                base.add(layout.arguments).cast(),
                base.add(layout.environment).cast(),
            );
        }
        last_error()
    }
}

impl Drop for SharedRequest {
    fn drop(&mut self) {
        // SAFETY: our own mapping, borrowed by nobody any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Overwrites memory that nothing of this process reads any more.
pub(crate) fn wipe(range: Range<usize>) {
    for address in range {
        // SAFETY: called with bounds within the arguments and the environment as the system tells them, by code
        // that reads them no more, in a process that has no other thread.
        unsafe { (address as *mut u8).write_volatile(0) };
    }
}

/// Gives memory back that nothing of this process uses any more.
pub(crate) fn unmap(range: &Range<usize>) {
    // SAFETY: called in a forked child that uses only its own stack, and the caller spares that.
    let _ = unsafe { munmap(range.start as *mut _, range.end - range.start) };
}

/// Where the C library keeps what belongs to this thread.
pub(crate) fn errno_address() -> usize {
    // SAFETY: gives the address only.
    unsafe { libc::__errno_location() as usize }
}

/// Adds attributes to a mount and to all that are mounted below it.
pub(crate) fn set_mount_attributes(mount: BorrowedFd<'_>, attributes: MountAttrFlags) -> Result<(), Errno> {
    let wanted =
        libc::mount_attr { attr_set: attributes.bits().into(), attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path and the structure are read only, and the size is that of the structure.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const wanted,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

/// Switches the loopback interface of this network on.
pub(crate) fn raise_loopback() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut name = [0; libc::IFNAMSIZ];
    for (place, byte) in name.iter_mut().zip(*b"lo") {
        // Signed on some machines and not on others.
        *place = byte as libc::c_char;
    }
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    let request =
        libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
    // SAFETY: the structure is one that this request reads; the name ends with NUL.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}
