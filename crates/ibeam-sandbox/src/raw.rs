//! System calls that rustix does not have: fork, exec, signal masks, memory shared with a child, mount attributes.
//!
//! All `unsafe` of the program is here and in `raw/`. Code after a fork uses only system calls and its own stack: at
//! the moment of the fork, another thread may have held any lock, including that of the allocator.

#![allow(unsafe_code, reason = "unsafe code is allowed only here; each block states why it is sound")]

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

mod allocator;
mod filters;
mod notify;
mod shared_words;
mod start;

pub use allocator::ReportingAllocator;
pub(crate) use allocator::set_report;
#[cfg(test)]
pub(crate) use filters::any_call;
pub(crate) use filters::{
    HandledRights, install_seccomp_filter, landlock_abi, landlock_grant, landlock_restrict, landlock_ruleset,
};
pub(crate) use notify::{
    Notification, allow, answer, connect, install_seccomp_filter_with_listener, is_pending, read_memory,
    receive_notification, receiving_ends_with_callers, wake_receiver_on_same_processor,
};
pub(crate) use shared_words::{clear_words, shared_words};
pub(crate) use start::was_stdout_closed;

/// The system call that creates a child.
#[derive(Clone, Copy)]
pub(crate) enum ForkMode {
    /// Like fork(2).
    Plain,
    /// Like vfork(2): the parent waits until the child executes a program or ends.
    Vfork,
    /// In new namespaces, given as flags of clone(2).
    Namespaces(libc::c_int),
}

/// The flag of clone3(2) that creates the child in a cgroup.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

impl ForkMode {
    fn flags(self) -> libc::c_int {
        match self {
            Self::Plain => 0,
            Self::Vfork => libc::CLONE_VFORK,
            Self::Namespaces(namespaces) => namespaces,
        }
    }

    /// Whether the child gets a new namespace of the kind of this flag of clone(2).
    pub(crate) fn creates(self, flag: libc::c_int) -> bool {
        match self {
            Self::Plain | Self::Vfork => false,
            Self::Namespaces(namespaces) => namespaces & flag != 0,
        }
    }
}

/// Forks. The child runs `run_child` and exits with the code that it returns, or with 101 after a panic. This function
/// never returns in the child.
///
/// # Errors
/// In the parent: the error of clone(2).
pub(crate) fn fork(mode: ForkMode, run_child: impl FnOnce() -> i32) -> Result<Pid, Errno> {
    // SAFETY: no memory is shared with the child, and no stack or thread area is given, so this is a fork.
    // The order of the arguments differs between machines, but all after the first are zero.
    let pid = unsafe { libc::syscall(libc::SYS_clone, mode.flags() | libc::SIGCHLD, 0, 0, 0, 0) };
    finish_fork(pid, run_child)
}

/// Like [`fork`], and the child is created as a member of a cgroup of version 2, given by its directory.
///
/// # Errors
/// In the parent: the error of clone3(2). Systems before Linux 5.7 and many filters of containers do not have the call.
pub(crate) fn fork_into_cgroup(
    mode: ForkMode,
    cgroup: BorrowedFd<'_>,
    run_child: impl FnOnce() -> i32,
) -> Result<Pid, Errno> {
    // SAFETY: zero is a valid value of every field, and means that it is not used.
    let mut arguments: libc::clone_args = unsafe { MaybeUninit::zeroed().assume_init() };
    arguments.flags = u64::from(mode.flags().cast_unsigned()) | CLONE_INTO_CGROUP;
    arguments.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    arguments.cgroup = u64::from(cgroup.as_raw_fd().cast_unsigned());
    // SAFETY: as in `fork`; the structure is read only, and the size is its own.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    finish_fork(pid, run_child)
}

/// Runs the child, or returns its id in the parent, from the result of the system call.
fn finish_fork(pid: libc::c_long, run_child: impl FnOnce() -> i32) -> Result<Pid, Errno> {
    if pid == 0 {
        // A panic must not unwind into the copy of the caller's stack.
        let _guard = ExitOnUnwind;
        exit(run_child());
    }
    let refused = last_error();
    i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw).ok_or(refused)
}

/// Ends the process when a panic drops it.
struct ExitOnUnwind;

impl Drop for ExitOnUnwind {
    fn drop(&mut self) {
        exit(101);
    }
}

fn exit(code: i32) -> ! {
    // SAFETY: ends the process without running destructors or exit handlers.
    unsafe { libc::_exit(code) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// A guard that blocks all signals. Dropping it restores the previous signal mask.
pub(crate) struct BlockedSignalsGuard(libc::sigset_t);

impl BlockedSignalsGuard {
    pub(crate) fn new() -> Self {
        let mut all = MaybeUninit::uninit();
        let mut previous = MaybeUninit::uninit();
        // SAFETY: both sets are written before they are read.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), previous.as_mut_ptr());
            Self(previous.assume_init())
        }
    }
}

impl Drop for BlockedSignalsGuard {
    fn drop(&mut self) {
        // SAFETY: the set was given by the system.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

pub(crate) fn unblock_signals() {
    let mut none = MaybeUninit::uninit();
    // SAFETY: the set is written before it is read.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Resets the signal handlers inherited from the parent. Ignored signals stay ignored, as in any child, except SIGPIPE,
/// which every Rust program ignores, and SIGCHLD, which is needed to wait for children.
pub(crate) fn reset_handlers() {
    for number in 1..=libc::SIGRTMAX() {
        let mut now = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: `now` is a valid action, and zero is the default one; the system refuses invalid numbers.
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

/// Returns a descriptor from which SIGCHLD, SIGHUP and SIGTERM are read.
pub(crate) fn signal_descriptor() -> Result<OwnedFd, Errno> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is written before it is read; the descriptor is new and owned here.
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

/// Closes every descriptor from `first` on. Their owners must not use them afterwards.
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

/// Duplicates `from` to the number `to` permanently, and closes the descriptor that had the number.
pub(crate) fn dup_to(from: BorrowedFd<'_>, to: RawFd) -> Result<(), Errno> {
    // SAFETY: these numbers are fixed and have no other owner.
    if unsafe { libc::dup2(from.as_raw_fd(), to) } < 0 { Err(last_error()) } else { Ok(()) }
}

/// Returns the descriptor with a fixed number, which [`dup_to`] placed there and which is never closed.
pub(crate) fn fixed_fd(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: see `dup_to`; the descriptor lives as long as the process.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// A request in memory that the command, its supervisor and the server share.
pub(crate) struct SharedRequest {
    start: NonNull<u8>,
    length: usize,
}

impl SharedRequest {
    /// Allocates zeroed memory of `length` bytes.
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

    /// Returns the text at `offset`, which ends with NUL.
    pub(crate) fn text(&self, offset: usize) -> Option<&CStr> {
        // SAFETY: as in `bytes`.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) };
        CStr::from_bytes_until_nul(bytes.get(offset..)?).ok()
    }

    /// Executes the program of the request. Returns only on failure, with the error.
    pub(crate) fn exec(&mut self, layout: &Layout) -> Errno {
        let base = self.start.as_ptr();
        for at in layout.pointers() {
            // SAFETY: `Layout::parse` has checked that all words lie inside; the mapping is aligned to pages.
            unsafe {
                let word = base.add(at).cast::<usize>();
                if word.read() != 0 {
                    word.write(word.read() + base as usize);
                }
            }
        }
        // SAFETY: two lists that end with a null pointer, of texts that end with NUL, made by `launch_request::encode`.
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
        // SAFETY: the mapping belongs to `self` and has no borrower.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Overwrites memory that this process does not read afterwards.
pub(crate) fn wipe(range: Range<usize>) {
    for address in range {
        // SAFETY: called with bounds within the arguments and the environment as the system reports them, by code that
        // does not read them afterwards, in a process with one thread.
        unsafe { (address as *mut u8).write_volatile(0) };
    }
}

/// Unmaps memory that this process does not use afterwards.
pub(crate) fn unmap(range: &Range<usize>) {
    // SAFETY: called in a forked child that uses only its own stack, which the caller does not unmap.
    let _ = unsafe { munmap(range.start as *mut _, range.end - range.start) };
}

/// Returns the address of `errno`, which lies in the thread-local storage of this thread.
pub(crate) fn errno_address() -> usize {
    // SAFETY: only returns an address.
    unsafe { libc::__errno_location() as usize }
}

/// Adds attributes to a mount and all mounts below it.
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

/// Enables the loopback interface of this network namespace.
pub(crate) fn enable_loopback() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut name = [0; libc::IFNAMSIZ];
    for (place, byte) in name.iter_mut().zip(*b"lo") {
        // The type is signed on some machines.
        *place = byte as libc::c_char;
    }
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    let request =
        libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
    // SAFETY: this request reads such a structure; the name ends with NUL.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}
