//! The system calls of seccomp and Landlock, for which there is no other door.

use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::io::Errno;

use super::last_error;

/// The rights that a ruleset of Landlock takes away, as the system reads them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandledRights {
    /// `LANDLOCK_ACCESS_FS_*`.
    pub(crate) files: u64,
    /// `LANDLOCK_ACCESS_NET_*`; ABI 4.
    pub(crate) network: u64,
    /// `LANDLOCK_SCOPE_*`; ABI 6.
    pub(crate) scopes: u64,
}

#[repr(C, packed)]
struct PathBeneathRule {
    rights: u64,
    place: i32,
}

const PATH_BENEATH: u32 = 1;
const VERSION: u32 = 1;

/// From here on every system call of this process and of what it starts passes this program. For good.
pub(crate) fn filter_calls(program: &[libc::sock_filter]) -> Result<(), Errno> {
    let program = libc::sock_fprog {
        len: program.len().try_into().map_err(|_long| Errno::INVAL)?,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the system copies the program, and writes to nothing.
    let done =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

/// The newest version of Landlock that this system has.
pub(crate) fn landlock_abi() -> Result<u32, Errno> {
    // SAFETY: with this flag only the number is given.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<HandledRights>(), 0_usize, VERSION)
    };
    u32::try_from(version).map_err(|_negative| last_error())
}

/// A ruleset that takes these rights away. Fields that an old system does not know must be zero.
pub(crate) fn landlock_ruleset(handled: &HandledRights) -> Result<OwnedFd, Errno> {
    // SAFETY: the structure is read only; the descriptor is new and ours.
    unsafe {
        let ruleset = libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::from_ref(handled),
            size_of::<HandledRights>(),
            0_u32,
        );
        i32::try_from(ruleset)
            .ok()
            .filter(|ruleset| *ruleset >= 0)
            .map(|ruleset| OwnedFd::from_raw_fd(ruleset))
            .ok_or_else(last_error)
    }
}

/// Gives rights back below a place.
pub(crate) fn landlock_grant(
    ruleset: BorrowedFd<'_>,
    place: BorrowedFd<'_>,
    rights: u64,
) -> Result<(), Errno> {
    let rule = PathBeneathRule { rights, place: place.as_raw_fd() };
    // SAFETY: the rule is read only, and laid out as the system has it.
    let done = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), PATH_BENEATH, &raw const rule, 0_u32)
    };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

/// From here on the ruleset holds for this process and all it starts. For good.
pub(crate) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: two numbers.
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

/// Any call, with any arguments; in a child that was forked for it, and in tests.
#[cfg(test)]
pub(crate) fn any_call(number: libc::c_long, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: none; the child does nothing else, and its memory is nobody else's.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    usize::try_from(answer).map_err(|_negative| last_error())
}
