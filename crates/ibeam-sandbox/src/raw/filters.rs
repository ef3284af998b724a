//! System calls of seccomp and Landlock.

use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::io::Errno;

use super::last_error;

/// The rights that a Landlock ruleset restricts, in the layout of the kernel.
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

/// `struct landlock_path_beneath_attr` of the kernel.
#[repr(C, packed)]
struct PathBeneathRule {
    rights: u64,
    parent_fd: i32,
}

/// `LANDLOCK_RULE_PATH_BENEATH`.
const RULE_PATH_BENEATH: u32 = 1;
/// `LANDLOCK_CREATE_RULESET_VERSION`.
const CREATE_RULESET_VERSION: u32 = 1;

/// Applies the program to all further system calls of this process and its children. Cannot be undone.
pub(crate) fn install_seccomp_filter(program: &[libc::sock_filter]) -> Result<(), Errno> {
    let program = libc::sock_fprog {
        len: program.len().try_into().map_err(|_long| Errno::INVAL)?,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the system copies the program, and writes to nothing.
    let done =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

/// Returns the newest Landlock version of this system.
pub(crate) fn landlock_abi() -> Result<u32, Errno> {
    // SAFETY: with this flag the call only returns the number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<HandledRights>(),
            0_usize,
            CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).map_err(|_negative| last_error())
}

/// Creates a ruleset that restricts these rights. Fields that an older kernel does not have must be zero.
pub(crate) fn landlock_ruleset(handled: &HandledRights) -> Result<OwnedFd, Errno> {
    // SAFETY: the structure is only read; the descriptor is new and owned here.
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

/// Grants rights below a path.
pub(crate) fn landlock_grant(
    ruleset: BorrowedFd<'_>,
    path: BorrowedFd<'_>,
    rights: u64,
) -> Result<(), Errno> {
    let rule = PathBeneathRule { rights, parent_fd: path.as_raw_fd() };
    // SAFETY: the rule is only read and has the layout of the kernel.
    let done = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            RULE_PATH_BENEATH,
            &raw const rule,
            0_u32,
        )
    };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

/// Applies the ruleset to this process and its children. Cannot be undone.
pub(crate) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: two numbers.
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

/// Makes any system call, with any arguments. Only for a child that a test forked for it.
#[cfg(test)]
pub(crate) fn any_call(number: libc::c_long, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: none; the child does nothing else and shares no memory.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    usize::try_from(answer).map_err(|_negative| last_error())
}
