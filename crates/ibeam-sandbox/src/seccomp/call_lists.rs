//! Lists of refused calls, by arguments and by the other layers.

use libc::c_long;

use super::{Connections, FilterContext};
use ArgumentTest::{Has, Is, IsNot, Masked};

/// The newest reviewed call: `file_setattr`, of Linux 6.17. The number is the same on all machines.
pub(super) const NEWEST: u32 = 469;
// Calls of Linux 6.13 to 6.17; the numbers are the same on all machines.
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_OPEN_TREE_ATTR: c_long = 467;
const SYS_FILE_SETATTR: c_long = 469;

/// A test of one argument. Only the lower 32 bits count, because the kernel reads only those.
#[derive(Clone, Copy)]
pub(super) enum ArgumentTest {
    /// The argument at this index has this value.
    Is(u8, i32),
    /// The argument at this index has another value.
    IsNot(u8, i32),
    /// All of these bits are set in the argument at this index.
    Has(u8, i32),
    /// The argument at this index, masked with the first number, equals the second number.
    Masked(u8, i32, i32),
}

/// A call and the groups of tests with which it is refused: one group is enough, and all of its tests must hold.
pub(super) type RefusedCall = (c_long, &'static [&'static [ArgumentTest]]);

pub(super) const REFUSED_CALLS: &[c_long] = &[
    // Bypasses filters of files and sockets.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The memory and descriptors of other processes; see also `SUPERVISOR_CALLS`.
    libc::SYS_ptrace,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    // Mounts.
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
    // Namespaces: a new one gives capabilities, an existing one leads out of the sandbox.
    libc::SYS_setns,
    libc::SYS_unshare,
    // Opens files by handle, bypassing closed or hidden directories.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Keys of the user's session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Large attack surface of the kernel.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_lookup_dcookie,
    // Calls that affect the whole machine.
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
    // The clock.
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

/// Mask of a socket's type without its flags.
const SOCKET_TYPE_MASK: i32 = 0xf;
const FILE_TYPE_MASK: i32 = libc::S_IFMT.cast_signed();
/// Harmless personalities: the plain one and that of a 32-bit machine, as `uname` reports it. Two more are allowed: an
/// old version number, and fixed addresses, which debuggers and sanitizers need.
const PLAIN_PERSONALITY: i32 = 0;
/// The personality of a 32-bit machine.
pub(super) const PER_LINUX32: i32 = 8;
// Requests on an open file, the same on all machines; a file open for reading is enough for them.
const FS_IOC_SETFLAGS: i32 = 0x4008_6602;
const FS_IOC_FSSETXATTR: i32 = 0x401c_5820;
const FS_IOC_ENABLE_VERITY: i32 = 0x4080_6685;
/// The pid with which a process refers to itself.
const SELF_PID: i32 = 0;
/// Requests the current personality.
const QUERY_PERSONALITY: i32 = -1;

/// Calls that are refused with some arguments, whatever the other layers.
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
    // Input into the user's terminal; line disciplines.
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
            IsNot(0, PLAIN_PERSONALITY),
            IsNot(0, PER_LINUX32),
            IsNot(0, libc::UNAME26),
            IsNot(0, libc::ADDR_NO_RANDOMIZE),
            IsNot(0, QUERY_PERSONALITY),
        ]],
    ),
    (
        libc::SYS_mknodat,
        &[
            &[Masked(2, FILE_TYPE_MASK, libc::S_IFBLK.cast_signed())],
            &[Masked(2, FILE_TYPE_MASK, libc::S_IFCHR.cast_signed())],
        ],
    ),
    // Limits of other processes: a CPU time limit of 0 ends a process like a signal.
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

/// Calls that read memory and descriptors of other processes, which supervisors need to answer calls of commands
/// (`call_answers.rs`). They are refused only to commands, by their own filter.
pub(super) const SUPERVISOR_CALLS: &[c_long] = &[libc::SYS_process_vm_readv, libc::SYS_pidfd_getfd];

/// Calls that are refused to commands in a network namespace, but not to supervisors: sockets of the kernel (netlink,
/// packets, algorithms) or of the hypervisor (vsock, which has no namespace), and Unix datagram sockets, which can send
/// to any path without a connection.
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

/// Calls that are also refused where connections cannot be checked: Unix sockets, except connected pairs.
const REFUSED_UNIX_SOCKETS: &[RefusedCall] = &[(libc::SYS_socket, &[&[Is(0, libc::AF_UNIX)]])];

/// Calls that are refused without namespaces: listening sockets; shared memory, queues and semaphores without a path,
/// which belong to other processes; and attributes of files, which Landlock does not cover. Landlock does not cover
/// modes, owners and times either, but builds need those. A pair of datagram sockets could send to any other socket of
/// the system.
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

/// Calls that truncate files without the right to write, which Landlock does not restrict before ABI 3. The access mode
/// 3, which opens for neither reading nor writing, truncates too.
const REFUSED_TRUNCATION: &[RefusedCall] = &[
    (libc::SYS_truncate, &[]),
    (
        libc::SYS_openat,
        &[&[Masked(2, ACCESS_AND_TRUNCATE, READ_AND_TRUNCATE)], &[Has(2, ACCESS_AND_TRUNCATE)]],
    ),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, &[&[Masked(1, ACCESS_AND_TRUNCATE, READ_AND_TRUNCATE)], &[Has(1, ACCESS_AND_TRUNCATE)]]),
];
/// Mask of the access mode and the truncation flag of an open file.
const ACCESS_AND_TRUNCATE: i32 = libc::O_ACCMODE | libc::O_TRUNC;
const READ_AND_TRUNCATE: i32 = libc::O_RDONLY | libc::O_TRUNC;

/// Returns every call that is refused to the fork server and all its descendants, with its groups of tests. A call
/// without groups is refused with any arguments. Groups of one call add up.
pub(super) fn refused_calls(context: FilterContext) -> impl Iterator<Item = RefusedCall> {
    let more: &[&[RefusedCall]] = match context {
        FilterContext::Namespaces => &[],
        FilterContext::Landlock { handles_truncation: true } => &[REFUSED_WITHOUT_NAMESPACES],
        FilterContext::Landlock { handles_truncation: false } => {
            &[REFUSED_WITHOUT_NAMESPACES, REFUSED_TRUNCATION]
        }
    };
    let whole = REFUSED_CALLS.iter().map(|call| -> RefusedCall { (*call, &[]) });
    whole.chain(REFUSED_WITH_ARGUMENTS.iter().chain(more.iter().copied().flatten()).copied())
}

/// Returns the calls that are additionally refused to a command.
pub(super) fn calls_refused_to_commands(connections: Connections) -> impl Iterator<Item = RefusedCall> {
    let sockets: &[&[RefusedCall]] = match connections {
        Connections::Checked => &[REFUSED_TO_COMMANDS],
        Connections::Unchecked => &[REFUSED_TO_COMMANDS, REFUSED_UNIX_SOCKETS],
        Connections::Refused => &[],
    };
    let whole = SUPERVISOR_CALLS.iter().map(|call| -> RefusedCall { (*call, &[]) });
    whole.chain(sockets.iter().copied().flatten().copied())
}

/// Returns calls whose arguments lie in memory and so cannot be checked. They fail as if they did not exist, so that
/// programs use an older call that can be checked.
pub(super) fn absent_calls(context: FilterContext) -> &'static [c_long] {
    match context {
        FilterContext::Namespaces | FilterContext::Landlock { handles_truncation: true } => {
            &[libc::SYS_clone3]
        }
        FilterContext::Landlock { handles_truncation: false } => &[libc::SYS_clone3, libc::SYS_openat2],
    }
}
