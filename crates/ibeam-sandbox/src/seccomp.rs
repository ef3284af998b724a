//! Which system calls a command may make: all but those by which sandboxes are left and kernels are broken.
//!
//! A list of what is refused, not of what is allowed. Commands are whatever people build and test: compilers,
//! browsers, languages with runtimes of their own. A list of what is allowed would have to name some 350 calls and
//! break the next program that uses another, and what makes a filter safe, that it leaves out what nobody needs, is
//! the same in both forms as long as nothing *new* passes: numbers beyond those known here are refused, as if
//! the system had none. So are the numbers of other ABIs (x32), by which a list of names is gone around; a
//! program of another machine (i386) is killed at its first call.
//!
//! This layer holds what the others cannot: io_uring, whose sockets and files pass no other filter; namespaces that
//! would give capabilities back; calls with a history of holes (bpf, userfaultfd, perf, keyctl, netlink); and
//! the terminal's input queue. It cannot read paths or addresses, which lie in memory that the caller may change
//! meanwhile: files are held by mounts and Landlock, connections by the network namespace. Many of its calls
//! need a capability that is gone too; each layer is to hold alone.
//!
//! `prctl` and `seccomp` stay whole: a further filter can only take away.
//!
//! The program is made by the parent, since that allocates; the child only hands it to the system.

use libc::c_long;
use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::raw;

/// The newest call that was looked at: `file_setattr`, of Linux 6.17. The same on all machines.
const NEWEST: u32 = 469;
/// Linux 6.15.
const SYS_OPEN_TREE_ATTR: c_long = 467;

/// What bounds the sockets of a command, apart from this filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// A network namespace: sockets of the local kind and of the internet are free inside.
    Namespace,
    /// Nothing: there are none but connected pairs.
    Pairs,
    /// Landlock, which knows only TCP, and there to which port: there are pairs, and TCP that connects.
    Tcp,
}

/// The filter, ready for [`install`].
pub(crate) struct Program(Vec<libc::sock_filter>);

/// Compiles the filter.
///
/// # Errors
/// This machine is neither x86-64 nor 64-bit ARM.
pub(crate) fn program(sockets: Sockets) -> Result<Program, BackendError> {
    let mut rules = WHOLE.iter().map(|call| Ok((*call, Vec::new()))).collect::<Result<Vec<_>, _>>()?;
    let beyond: &[_] = match sockets {
        Sockets::Namespace => &[NAMESPACE],
        Sockets::Pairs => &[ALONE, PAIRS],
        Sockets::Tcp => &[ALONE, TCP],
    };
    for (call, refused) in PARTLY.iter().chain(beyond.iter().copied().flatten()) {
        rules.push((*call, refused.iter().map(|tests| rule(tests)).collect::<Result<_, _>>()?));
    }
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    let refusal = SeccompAction::Errno(Errno::PERM.raw_os_error().cast_unsigned());
    let filter = SeccompFilter::new(rules.into_iter().collect(), SeccompAction::Allow, refusal, machine)?;
    let program = BpfProgram::try_from(filter)?;
    Ok(Program(prologue().into_iter().chain(program.iter().map(instruction)).collect()))
}

/// The filter holds from here on, for this process and all it starts. Needs no_new_privs or CAP_SYS_ADMIN.
///
/// Uses system calls only.
///
/// # Errors
/// What seccomp(2) says; the system has no filters, or no memory.
pub(crate) fn install(program: &Program) -> Result<(), Errno> {
    raw::filter_calls(&program.0)
}

/// Refuses as if the system had them not: numbers that nobody has looked at, those of x32 among them, and `clone3`,
/// whose flags lie in memory; whoever gets this answer turns to `clone`.
fn prologue() -> [libc::sock_filter; 4] {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const NUMBER: u32 = 0;
    let jump =
        |test, k, jt, jf| libc::sock_filter { code: (libc::BPF_JMP | test | libc::BPF_K) as u16, jt, jf, k };
    let plain = |code, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    [
        plain(LOAD, NUMBER),
        jump(libc::BPF_JGT, NEWEST, 1, 0),
        jump(libc::BPF_JEQ, libc::SYS_clone3 as u32, 0, 1),
        plain(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
    ]
}

fn instruction(made: &seccompiler::sock_filter) -> libc::sock_filter {
    libc::sock_filter { code: made.code, jt: made.jt, jf: made.jf, k: made.k }
}

/// What an argument is. All are of 32 bits, as the system reads them: what is above does not count there either.
#[derive(Clone, Copy)]
enum Test {
    Is(u8, i32),
    IsNot(u8, i32),
    /// All these bits are set.
    Has(u8, i32),
    /// Of the bits of the first number, those of the second are set and the others not.
    Masked(u8, i32, i32),
}

fn rule(tests: &[Test]) -> Result<SeccompRule, BackendError> {
    let conditions = tests.iter().map(|test| {
        let (argument, compared, value) = match *test {
            Is(argument, value) => (argument, SeccompCmpOp::Eq, value),
            IsNot(argument, value) => (argument, SeccompCmpOp::Ne, value),
            Has(argument, bits) => (argument, SeccompCmpOp::MaskedEq(bits.cast_unsigned().into()), bits),
            Masked(argument, mask, bits) => {
                (argument, SeccompCmpOp::MaskedEq(mask.cast_unsigned().into()), bits)
            }
        };
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compared, value.cast_unsigned().into())
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

use Test::{Has, Is, IsNot, Masked};

/// A call, and the arguments with which it is refused: one of these groups, all of whose tests hold.
type Partly = (c_long, &'static [&'static [Test]]);

/// Refused whatever the arguments.
const WHOLE: &[c_long] = &[
    // Files and sockets past every filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The memory and descriptors of other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
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
const TYPE: i32 = 0xf;
const KIND: i32 = libc::S_IFMT.cast_signed();
/// Personalities that weaken nothing: the plain one, and that of a 32-bit machine, as `uname` tells it. Two more are
/// taken: an old version number, and programs that lie at fixed addresses, as debuggers and sanitizers ask for.
const PLAIN: i32 = 0;
const OF_32_BITS: i32 = 8;
/// Asks for the present one.
const QUERY: i32 = -1;

/// Refused with some arguments, wherever commands run.
const PARTLY: &[Partly] = &[
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
            IsNot(0, OF_32_BITS),
            IsNot(0, libc::UNAME26),
            IsNot(0, libc::ADDR_NO_RANDOMIZE),
            IsNot(0, QUERY),
        ]],
    ),
    (
        libc::SYS_mknodat,
        &[&[Masked(2, KIND, libc::S_IFBLK.cast_signed())], &[Masked(2, KIND, libc::S_IFCHR.cast_signed())]],
    ),
    #[cfg(target_arch = "x86_64")]
    (
        libc::SYS_mknod,
        &[&[Masked(1, KIND, libc::S_IFBLK.cast_signed())], &[Masked(1, KIND, libc::S_IFCHR.cast_signed())]],
    ),
];

/// Beside a network namespace: no sockets of the system itself (netlink, packets, algorithms) or of a machine
/// below this one (vsock, which knows no namespace).
const NAMESPACE: &[Partly] = &[
    (libc::SYS_socket, &[&[IsNot(0, libc::AF_UNIX), IsNot(0, libc::AF_INET), IsNot(0, libc::AF_INET6)]]),
    (libc::SYS_socketpair, &[&[IsNot(0, libc::AF_UNIX)]]),
];

/// Without namespaces: nothing waits for connections, and the shared memory, queues and semaphores of others, which
/// no path names, stay theirs. A pair of datagram sockets could send to any other of the system.
const ALONE: &[Partly] = &[
    (
        libc::SYS_socketpair,
        &[
            &[IsNot(0, libc::AF_UNIX)],
            &[Masked(1, TYPE, libc::SOCK_DGRAM)],
            &[Masked(1, TYPE, libc::SOCK_RAW)],
        ],
    ),
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
];

const PAIRS: &[Partly] = &[(libc::SYS_socket, &[]), (libc::SYS_connect, &[])];

/// TCP as Landlock sees it: no other protocol of streams, and no connection that begins with data.
const TCP: &[Partly] = &[
    (
        libc::SYS_socket,
        &[
            &[IsNot(0, libc::AF_INET), IsNot(0, libc::AF_INET6)],
            &[Masked(1, 1, 0)],
            &[Has(1, 2)],
            &[Has(1, 4)],
            &[Has(1, 8)],
            &[IsNot(2, 0), IsNot(2, libc::IPPROTO_TCP)],
        ],
    ),
    (libc::SYS_sendto, &[&[Has(3, libc::MSG_FASTOPEN)]]),
    (libc::SYS_sendmsg, &[&[Has(2, libc::MSG_FASTOPEN)]]),
    (libc::SYS_sendmmsg, &[&[Has(3, libc::MSG_FASTOPEN)]]),
];

#[cfg(test)]
mod tests;
