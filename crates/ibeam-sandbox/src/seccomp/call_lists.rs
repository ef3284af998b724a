//! The calls that are refused: which, with what arguments, and beside what other layers.

use libc::c_long;

use super::{Connections, FilterContext};
use ArgumentTest::{Has, Is, IsNot, Masked};

/// The newest call that was looked at: `file_setattr`, of Linux 6.17. The same on all machines.
pub(super) const NEWEST: u32 = 469;
// Of Linux 6.13 to 6.17, as on all machines.
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_OPEN_TREE_ATTR: c_long = 467;
const SYS_FILE_SETATTR: c_long = 469;

/// What an argument is. All are of 32 bits, as the system reads them: what is above does not count there either.
#[derive(Clone, Copy)]
pub(super) enum ArgumentTest {
    Is(u8, i32),
    IsNot(u8, i32),
    /// All these bits are set.
    Has(u8, i32),
    /// Of the bits of the first number, those of the second are set and the others not.
    Masked(u8, i32, i32),
}

/// A call, and the arguments with which it is refused: one of these groups, all of whose tests hold.
pub(super) type RefusedCall = (c_long, &'static [&'static [ArgumentTest]]);

/// Refused whatever the arguments.
pub(super) const REFUSED_CALLS: &[c_long] = &[
    // Files and sockets past every filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The memory and descriptors of other processes; see also `SUPERVISION`.
    libc::SYS_ptrace,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    // What is where.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    // Namespaces: a new one gives capabilities, an old one leads out.
    libc::SYS_setns,
    libc::SYS_unshare,
    // Files by number, past directories that are closed or hidden.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Keys of the user's session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Wide doors into the system's own code.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_lookup_dcookie,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_nfsservctl,
    // Time.
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// All types of a socket, without the flags that go with them.
const SOCKET_TYPE_MASK: i32 = 0xf;
const FILE_TYPE_MASK: i32 = libc::S_IFMT.cast_signed();
/// Personalities that weaken nothing: the plain one, and that of a 32-bit machine, as `uname` tells it. Two more are
/// taken: an old version number, and programs that lie at fixed addresses, as debuggers and sanitizers ask for.
const PLAIN: i32 = 0;
pub(super) const PER_LINUX32: i32 = 8;
// What is asked of an open file, as on all machines; reading it is enough to be heard.
const FS_IOC_SETFLAGS: i32 = 0x4008_6602;
const FS_IOC_FSSETXATTR: i32 = 0x401c_5820;
const FS_IOC_ENABLE_VERITY: i32 = 0x4080_6685;
/// How a process names itself.
const SELF_PID: i32 = 0;
/// Asks for the present one.
const QUERY: i32 = -1;

/// Refused with some arguments, wherever commands run.
pub(super) const REFUSED_WITH_ARGUMENTS: &[RefusedCall] = &[
    (
        libc::SYS_clone,
        &[
            &[Has(0, libc::CLONE_NEWUSER)],
            &[Has(0, libc::CLONE_NEWNS)],
            &[Has(0, libc::CLONE_NEWPID)],
            &[Has(0, libc::CLONE_NEWNET)],
            &[Has(0, libc::CLONE_NEWIPC)],
            &[Has(0, libc::CLONE_NEWUTS)],
            &[Has(0, libc::CLONE_NEWCGROUP)],
        ],
    ),
    // What is typed or pasted at the user's terminal; drivers of lines, which nobody should load.
    (
        libc::SYS_ioctl,
        &[
            &[Is(1, libc::TIOCSTI as i32)],
            &[Is(1, libc::TIOCLINUX as i32)],
            &[Is(1, libc::TIOCSETD as i32)],
            &[Is(1, libc::TIOCCONS as i32)],
        ],
    ),
    (
        libc::SYS_personality,
        &[&[
            IsNot(0, PLAIN),
            IsNot(0, PER_LINUX32),
            IsNot(0, libc::UNAME26),
            IsNot(0, libc::ADDR_NO_RANDOMIZE),
            IsNot(0, QUERY),
        ]],
    ),
    (
        libc::SYS_mknodat,
        &[
            &[Masked(2, FILE_TYPE_MASK, libc::S_IFBLK.cast_signed())],
            &[Masked(2, FILE_TYPE_MASK, libc::S_IFCHR.cast_signed())],
        ],
    ),
    // The limits of others: no time of the processor at all ends a process as a signal would.
    (libc::SYS_prlimit64, &[&[IsNot(0, SELF_PID)]]),
    #[cfg(target_arch = "x86_64")]
    (
        libc::SYS_mknod,
        &[
            &[Masked(1, FILE_TYPE_MASK, libc::S_IFBLK.cast_signed())],
            &[Masked(1, FILE_TYPE_MASK, libc::S_IFCHR.cast_signed())],
        ],
    ),
];

/// The memory and descriptors of other processes, which supervisors read where they make the connections of commands
/// (`connections.rs`). There commands are refused them by a filter of their own; elsewhere everybody is.
pub(super) const SUPERVISION: &[c_long] = &[libc::SYS_process_vm_readv, libc::SYS_pidfd_getfd];

/// What commands in a network namespace are refused, and supervisors are not: sockets of the system itself (netlink,
/// packets, algorithms) or of a machine below this one (vsock, which has no namespace), and Unix datagram sockets, which
/// can send to any path without connecting to it.
const REFUSED_TO_COMMANDS: &[RefusedCall] = &[
    (
        libc::SYS_socket,
        &[
            &[IsNot(0, libc::AF_UNIX), IsNot(0, libc::AF_INET), IsNot(0, libc::AF_INET6)],
            &[Is(0, libc::AF_UNIX), Masked(1, SOCKET_TYPE_MASK, libc::SOCK_DGRAM)],
            &[Is(0, libc::AF_UNIX), Masked(1, SOCKET_TYPE_MASK, libc::SOCK_RAW)],
        ],
    ),
    (
        libc::SYS_socketpair,
        &[
            &[IsNot(0, libc::AF_UNIX)],
            &[Masked(1, SOCKET_TYPE_MASK, libc::SOCK_DGRAM)],
            &[Masked(1, SOCKET_TYPE_MASK, libc::SOCK_RAW)],
        ],
    ),
];

/// What they are refused as well where nobody can check their connections: Unix sockets, but for connected pairs.
const REFUSED_UNIX_SOCKETS: &[RefusedCall] = &[(libc::SYS_socket, &[&[Is(0, libc::AF_UNIX)]])];

/// Without namespaces: nothing waits for connections; the shared memory, queues and semaphores of others, which no
/// path names, stay theirs; and nobody's files get other attributes, which Landlock does not see. It sees neither
/// modes, owners nor times, but those no build can do without. A pair of datagram sockets could send to any other
/// of the system.
const REFUSED_WITHOUT_NAMESPACES: &[RefusedCall] = &[
    (
        libc::SYS_socketpair,
        &[
            &[IsNot(0, libc::AF_UNIX)],
            &[Masked(1, SOCKET_TYPE_MASK, libc::SOCK_DGRAM)],
            &[Masked(1, SOCKET_TYPE_MASK, libc::SOCK_RAW)],
        ],
    ),
    (libc::SYS_socket, &[]),
    (libc::SYS_connect, &[]),
    (libc::SYS_listen, &[]),
    (libc::SYS_bind, &[]),
    (libc::SYS_shmget, &[]),
    (libc::SYS_shmat, &[]),
    (libc::SYS_shmctl, &[]),
    (libc::SYS_semget, &[]),
    (libc::SYS_semop, &[]),
    (libc::SYS_semtimedop, &[]),
    (libc::SYS_semctl, &[]),
    (libc::SYS_msgget, &[]),
    (libc::SYS_msgsnd, &[]),
    (libc::SYS_msgrcv, &[]),
    (libc::SYS_msgctl, &[]),
    (libc::SYS_mq_open, &[]),
    (libc::SYS_mq_unlink, &[]),
    (libc::SYS_setxattr, &[]),
    (libc::SYS_lsetxattr, &[]),
    (libc::SYS_fsetxattr, &[]),
    (SYS_SETXATTRAT, &[]),
    (libc::SYS_removexattr, &[]),
    (libc::SYS_lremovexattr, &[]),
    (libc::SYS_fremovexattr, &[]),
    (SYS_REMOVEXATTRAT, &[]),
    (SYS_FILE_SETATTR, &[]),
    (
        libc::SYS_ioctl,
        &[&[Is(1, FS_IOC_SETFLAGS)], &[Is(1, FS_IOC_FSSETXATTR)], &[Is(1, FS_IOC_ENABLE_VERITY)]],
    ),
];

/// Before ABI 3 of Landlock: files are cut off only by who may write them. The third access mode, which opens for
/// neither reading nor writing, would do it too.
const REFUSED_TRUNCATION: &[RefusedCall] = &[
    (libc::SYS_truncate, &[]),
    (libc::SYS_openat, &[&[Masked(2, ACCESS_AND_CUT, READ_AND_CUT)], &[Has(2, ACCESS_AND_CUT)]]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, &[&[Masked(1, ACCESS_AND_CUT, READ_AND_CUT)], &[Has(1, ACCESS_AND_CUT)]]),
];
const ACCESS_AND_CUT: i32 = libc::O_ACCMODE | libc::O_TRUNC;
const READ_AND_CUT: i32 = libc::O_RDONLY | libc::O_TRUNC;

/// Every call that is refused to the fork server and all below it, and when; whatever its arguments where no group is
/// named. Groups of a call add up.
pub(super) fn refused(beside: FilterContext) -> impl Iterator<Item = RefusedCall> {
    let (supervision, more): (&[c_long], &[&[RefusedCall]]) = match beside {
        FilterContext::Namespaces => (&[], &[]),
        FilterContext::Landlock { handles_truncation: true } => (SUPERVISION, &[REFUSED_WITHOUT_NAMESPACES]),
        FilterContext::Landlock { handles_truncation: false } => {
            (SUPERVISION, &[REFUSED_WITHOUT_NAMESPACES, REFUSED_TRUNCATION])
        }
    };
    let whole = REFUSED_CALLS.iter().chain(supervision).map(|call| -> RefusedCall { (*call, &[]) });
    whole.chain(REFUSED_WITH_ARGUMENTS.iter().chain(more.iter().copied().flatten()).copied())
}

/// What a command in namespaces is refused in addition.
pub(super) fn refused_to_commands(connections: Connections) -> impl Iterator<Item = RefusedCall> {
    let sockets: &[RefusedCall] = match connections {
        Connections::Checked => &[],
        Connections::Unchecked => REFUSED_UNIX_SOCKETS,
    };
    let whole = SUPERVISION.iter().map(|call| -> RefusedCall { (*call, &[]) });
    whole.chain(REFUSED_TO_COMMANDS.iter().chain(sockets).copied())
}

/// Calls whose arguments lie in memory, and cannot be looked at. Whoever hears that they do not exist turns to an older
/// one that is looked at.
pub(super) fn absent(beside: FilterContext) -> &'static [c_long] {
    match beside {
        FilterContext::Namespaces | FilterContext::Landlock { handles_truncation: true } => {
            &[libc::SYS_clone3]
        }
        FilterContext::Landlock { handles_truncation: false } => &[libc::SYS_clone3, libc::SYS_openat2],
    }
}
