//! System calls for seccomp user notifications, with which a supervisor answers calls of its command.

use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::io::Errno;

use super::last_error;

/// `SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`: a caller whose notification was received waits for the answer unless it is
/// killed.
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
/// `SECCOMP_IOCTL_NOTIF_SET_FLAGS`.
const SET_FLAGS: libc::Ioctl = 0x4008_2104;
/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// A system call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notification {
    id: u64,
    pub(crate) number: libc::c_long,
    /// The calling thread, as an id in the pid namespace of the reader.
    pub(crate) thread: u32,
    pub(crate) arguments: [u64; 6],
}

/// Installs a filter as [`super::install_seccomp_filter`] does. Returns the descriptor on which its notifications
/// arrive.
///
/// # Errors
/// `BUSY`: an outer filter of this process has a listener already, and there can be only one.
pub(crate) fn install_seccomp_filter_with_listener(program: &[libc::sock_filter]) -> Result<OwnedFd, Errno> {
    let program = libc::sock_fprog {
        len: program.len().try_into().map_err(|_long| Errno::INVAL)?,
        filter: program.as_ptr().cast_mut(),
    };
    let install = |flags: libc::c_ulong| {
        // SAFETY: the system copies the program; the descriptor is new and owned here.
        unsafe {
            let mode = libc::SECCOMP_SET_MODE_FILTER;
            let listener = libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program);
            i32::try_from(listener)
                .ok()
                .filter(|listener| *listener >= 0)
                .map(|listener| OwnedFd::from_raw_fd(listener))
                .ok_or_else(last_error)
        }
    };
    // A signal must not interrupt a call that would not be interrupted otherwise. Before Linux 5.19 it can.
    match install(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE) {
        Err(Errno::INVAL) => install(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER),
        installed => installed,
    }
}

/// Makes the system switch to the receiver of a notification on the caller's processor, which saves time, where the
/// system can (Linux 6.6).
pub(crate) fn wake_receiver_on_same_processor(listener: BorrowedFd<'_>) {
    // SAFETY: the argument is a number. Failure changes nothing.
    unsafe { libc::ioctl(listener.as_raw_fd(), SET_FLAGS, SYNC_WAKE_UP) };
}

/// The first Linux in which [`receive_notification`] fails when no caller is left; before it, the call waits forever.
const RECEIVING_ENDS: (u32, u32) = (6, 11);

/// Whether [`receive_notification`] may wait, because it fails when no caller is left.
pub(crate) fn receiving_ends_with_callers() -> bool {
    // SAFETY: zero is a valid value of this plain structure.
    let mut system: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the system writes one structure of this type.
    if unsafe { libc::uname(&raw mut system) } != 0 {
        return false;
    }
    let mut numbers = system.release.split(|unit| *unit as u8 == b'.').map(|digits| {
        let digits = digits.iter().map(|unit| *unit as u8).take_while(u8::is_ascii_digit);
        digits.fold(0, |number: u32, digit| number.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
    });
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) >= RECEIVING_ENDS)
}

/// Receives the next notification; waits for one.
///
/// # Errors
/// `NOENT`: the caller was killed before its notification was read, or, since Linux 6.11, no caller is left.
pub(crate) fn receive_notification(listener: BorrowedFd<'_>) -> Result<Notification, Errno> {
    // SAFETY: zero is a valid value of this plain structure, and the kernel requires it.
    let mut given: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the system writes one structure of this type.
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut given) };
    if done < 0 {
        return Err(last_error());
    }
    let number = given.data.nr.into();
    Ok(Notification { id: given.id, number, thread: given.pid, arguments: given.data.args })
}

/// Whether the call is still pending, and so its thread id still refers to the same thread.
pub(crate) fn is_pending(listener: BorrowedFd<'_>, notification: &Notification) -> bool {
    let id = notification.id;
    // SAFETY: the system reads one number.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
}

/// Completes the call with success (0) or an error.
pub(crate) fn answer(listener: BorrowedFd<'_>, notification: &Notification, result: Result<(), Errno>) {
    let error = result.map_or_else(|errno| -errno.raw_os_error(), |()| 0);
    respond(listener, libc::seccomp_notif_resp { id: notification.id, val: 0, error, flags: 0 });
}

/// Lets the system make the call.
pub(crate) fn allow(listener: BorrowedFd<'_>, notification: &Notification) {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    respond(listener, libc::seccomp_notif_resp { id: notification.id, val: 0, error: 0, flags });
}

fn respond(listener: BorrowedFd<'_>, response: libc::seccomp_notif_resp) {
    // SAFETY: the system reads one structure of this type. A caller that has ended does not need an answer.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response) };
}

/// Reads memory of another process into `buffer`. Returns the number of bytes read.
///
/// # Errors
/// `PERM`: the process hides its memory. `FAULT`: the address is not mapped.
pub(crate) fn read_memory(thread: u32, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let address = usize::try_from(address).map_err(|_wide| Errno::FAULT)?;
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: buffer.len() };
    let thread = i32::try_from(thread).map_err(|_large| Errno::SRCH)?;
    let one: libc::c_ulong = 1;
    let no_flags: libc::c_ulong = 0;
    // SAFETY: the system writes at most the length of the buffer; the other address is only read, and checked by it.
    let count = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            thread,
            &raw const local,
            one,
            &raw const remote,
            one,
            no_flags,
        )
    };
    usize::try_from(count).map_err(|_negative| last_error())
}

/// Connects a socket to the address in these bytes.
///
/// # Errors
/// Errors of connect(2).
pub(crate) fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let length = address.len().try_into().map_err(|_long| Errno::INVAL)?;
    // SAFETY: the system reads this many bytes of the slice, whatever they are.
    let done = unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}
