//! The system calls that create, remove, rename or change a file by its name. The filter of a command announces them,
//! so that they can be recorded.
//!
//! A file that is already open for writing needs no call of this list, because opening it was one. Calls whose flags
//! are in a register are announced only if the flags ask for a change, so that reading costs nothing. A mode is announced
//! only if it lets a file be executed or be written by others: another one changes nothing and runs nothing, and neither
//! do owners and times.

use libc::c_long;

use super::{CALL_NUMBER_OFFSET, LOAD, skip_next_unless, statement};

/// `fchmodat2`, of Linux 6.6; the number is the same on all machines.
pub(crate) const SYS_FCHMODAT2: c_long = 452;

/// Calls that are announced with any arguments.
const CALLS: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_truncate,
    libc::SYS_bind,
    // Its flags lie in memory.
    libc::SYS_openat2,
];

/// Calls that are announced if the argument at this index has one of these bits.
const CALLS_WITH_BITS: &[(c_long, u32, u32)] = &[
    (libc::SYS_openat, 2, CHANGING_FLAGS),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, CHANGING_FLAGS),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1, EMPOWERING_MODE),
    (libc::SYS_fchmod, 1, EMPOWERING_MODE),
    (libc::SYS_fchmodat, 2, EMPOWERING_MODE),
    (SYS_FCHMODAT2, 2, EMPOWERING_MODE),
];

/// Flags with which opening a file changes it, or lets it be changed.
pub(crate) const CHANGING_FLAGS: u32 = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC).cast_unsigned();

/// The bits of a mode with which a file can be executed, with the rights of its owner too, or be written by others.
const EMPOWERING_MODE: u32 = libc::S_ISUID
    | libc::S_ISGID
    | libc::S_IXUSR
    | libc::S_IXGRP
    | libc::S_IXOTH
    | libc::S_IWGRP
    | libc::S_IWOTH;

/// Offset of the first argument in the call's data, of 8 bytes each; the lower half comes first.
const ARGUMENTS_OFFSET: u32 = 16;

/// Returns instructions that announce these calls. Other calls pass on to the instructions that follow.
///
/// A program that hides its memory (`ssh-agent`) could not have its calls answered, so that request only seems to
/// succeed. Debuggers are refused in the sandbox anyway.
pub(super) fn announcement() -> Vec<libc::sock_filter> {
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let announce = statement(RETURN, libc::SECCOMP_RET_USER_NOTIF);
    let mut steps = vec![
        statement(LOAD, CALL_NUMBER_OFFSET),
        libc::sock_filter { jf: 6, ..skip_next_unless(libc::BPF_JEQ, libc::SYS_prctl as u32) },
        statement(LOAD, ARGUMENTS_OFFSET),
        libc::sock_filter { jf: 3, ..skip_next_unless(libc::BPF_JEQ, libc::PR_SET_DUMPABLE as u32) },
        statement(LOAD, ARGUMENTS_OFFSET + 8),
        skip_next_unless(libc::BPF_JEQ, 0),
        statement(RETURN, libc::SECCOMP_RET_ERRNO),
        statement(LOAD, CALL_NUMBER_OFFSET),
    ];
    for (call, argument, bits) in CALLS_WITH_BITS {
        steps.push(libc::sock_filter { jf: 4, ..skip_next_unless(libc::BPF_JEQ, *call as u32) });
        steps.push(statement(LOAD, ARGUMENTS_OFFSET + 8 * argument));
        steps.push(skip_next_unless(libc::BPF_JSET, *bits));
        steps.push(announce);
        steps.push(statement(RETURN, libc::SECCOMP_RET_ALLOW));
    }
    steps.extend(CALLS.iter().flat_map(|call| [skip_next_unless(libc::BPF_JEQ, *call as u32), announce]));
    steps
}
