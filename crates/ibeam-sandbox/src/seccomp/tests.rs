//! Real calls, made in one child with the filter and one without, to show that the filter refuses them.

use std::collections::BTreeSet;

use libc::c_long;
use rustix::io::Errno;
use rustix::process::{WaitOptions, waitpid};
use rustix::thread::set_no_new_privs;

use super::call_lists::{self, NEWEST, REFUSED_CALLS};
use super::{
    Changes, CommandFilter, Connections, FilterContext, ServerFilter, change_calls, command_filter, install,
    server_filter,
};
use crate::raw::{self, ForkMode, any_call};

const PAIRS: FilterContext = FilterContext::Landlock { handles_truncation: true };
const OLD: FilterContext = FilterContext::Landlock { handles_truncation: false };
const ALL: [FilterContext; 3] = [FilterContext::Namespaces, PAIRS, OLD];
/// An invalid number, address and descriptor.
const BAD: usize = usize::MAX;
/// Refused with any arguments.
const NO_GROUPS: &[&[call_lists::ArgumentTest]] = &[];
/// Exit code of the child if the filter could not be installed.
const NO_FILTER: i32 = 255;

/// The filters of a command whose connections are checked.
struct Filters {
    all: ServerFilter,
    command: Option<CommandFilter>,
}

impl Filters {
    fn new(context: FilterContext) -> Self {
        let connections = match context {
            FilterContext::Namespaces => Connections::Checked,
            FilterContext::Landlock { .. } => Connections::Refused,
        };
        let command = Some(command_filter(connections, Changes::Unrecorded).unwrap());
        Self { all: server_filter(context).unwrap(), command }
    }

    fn install(&self) -> Result<(), Errno> {
        set_no_new_privs(true)?;
        install(&self.all)?;
        self.command.as_ref().map_or(Ok(()), CommandFilter::install)
    }
}

/// Returns the result of a call in a child, with or without the filters.
fn call_result(filters: Option<&Filters>, call: c_long, arguments: [usize; 6]) -> Result<(), Errno> {
    let child = raw::fork(ForkMode::Plain, || {
        if let Some(filters) = filters
            && filters.install().is_err()
        {
            return NO_FILTER;
        }
        any_call(call, arguments).map_or_else(Errno::raw_os_error, |_| 0)
    });
    let (_, status) = waitpid(Some(child.unwrap()), WaitOptions::empty()).unwrap().unwrap();
    match status.exit_status().unwrap_or_else(|| panic!("call {call}: {status:?}")) {
        0 => Ok(()),
        NO_FILTER => panic!("there is no filter"),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

/// Checks that the call fails with `expected` with the filter, and with something else without it.
#[track_caller]
fn check_refused(context: FilterContext, call: c_long, arguments: [usize; 6], expected: Errno) {
    let filters = Filters::new(context);
    assert_eq!(call_result(Some(&filters), call, arguments), Err(expected), "call {call} {arguments:x?}");
    let without = call_result(None, call, arguments);
    if without == Err(Errno::PERM) && !rustix::process::geteuid().is_root() {
        return eprintln!("SKIP: call {call} without the filter, which only root may make");
    }
    assert_ne!(without, Err(expected), "call {call} {arguments:x?} is refused anyway");
}

/// Checks that the call has the same result with and without the filter.
#[track_caller]
fn check_passes(context: FilterContext, call: c_long, arguments: [usize; 6]) {
    let filters = Filters::new(context);
    let with = call_result(Some(&filters), call, arguments);
    assert_eq!(with, call_result(None, call, arguments), "call {call} {arguments:x?}");
    assert_ne!(with, Err(Errno::PERM), "call {call} {arguments:x?} proves nothing");
}

fn arguments<const COUNT: usize>(given: [i32; COUNT]) -> [usize; 6] {
    let mut all = [0; 6];
    for (place, given) in all.iter_mut().zip(given) {
        *place = usize::try_from(given.cast_unsigned()).unwrap();
    }
    all
}

#[test]
fn dangerous_calls_are_refused_with_any_arguments() {
    for call in REFUSED_CALLS {
        if *call == libc::SYS_vhangup {
            // Has no arguments that could be invalid, and would end the terminal of the person who runs the test.
            let filter = Filters::new(FilterContext::Namespaces);
            assert_eq!(call_result(Some(&filter), *call, [0; 6]), Err(Errno::PERM));
        } else {
            check_refused(FilterContext::Namespaces, *call, [BAD; 6], Errno::PERM);
        }
    }
}

#[test]
fn processes_can_be_created_but_namespaces_cannot() {
    for flag in [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ] {
        // Threads share what such a flag separates, so the system refuses the combination.
        check_refused(
            FilterContext::Namespaces,
            libc::SYS_clone,
            arguments([flag | libc::CLONE_THREAD]),
            Errno::PERM,
        );
    }
    check_passes(FilterContext::Namespaces, libc::SYS_clone, arguments([libc::SIGCHLD]));
    check_passes(FilterContext::Namespaces, libc::SYS_clone, arguments([libc::CLONE_VFORK | libc::SIGCHLD]));
    check_refused(FilterContext::Namespaces, libc::SYS_clone3, [BAD, 88, 0, 0, 0, 0], Errno::NOSYS);
}

#[test]
fn commands_cannot_push_input_into_a_terminal() {
    for request in [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD, libc::TIOCCONS] {
        let request = usize::try_from(request).unwrap();
        // The system reads 32 bits of it.
        for request in [request, request | 1 << 32] {
            for context in [FilterContext::Namespaces, PAIRS] {
                check_refused(context, libc::SYS_ioctl, [BAD, request, BAD, 0, 0, 0], Errno::PERM);
            }
        }
    }
    for request in [libc::TIOCGWINSZ, libc::TCGETS, libc::FIONREAD] {
        let request = usize::try_from(request).unwrap();
        check_passes(FilterContext::Namespaces, libc::SYS_ioctl, [BAD, request, BAD, 0, 0, 0]);
    }
}

#[test]
fn only_harmless_personalities_are_allowed() {
    const READ_IMPLIES_EXEC: i32 = 0x40_0000;
    const PER_BSD: i32 = 6;
    for refused_flags in [READ_IMPLIES_EXEC, PER_BSD, libc::ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC] {
        check_refused(
            FilterContext::Namespaces,
            libc::SYS_personality,
            arguments([refused_flags]),
            Errno::PERM,
        );
    }
    for taken in [0, -1, call_lists::PER_LINUX32, libc::ADDR_NO_RANDOMIZE] {
        check_passes(FilterContext::Namespaces, libc::SYS_personality, arguments([taken]));
    }
}

#[test]
fn devices_cannot_be_created() {
    for kind in [libc::S_IFBLK, libc::S_IFCHR] {
        let mode = usize::try_from(kind | 0o600).unwrap();
        check_refused(FilterContext::Namespaces, libc::SYS_mknodat, [BAD, BAD, mode, 0, 0, 0], Errno::PERM);
        #[cfg(target_arch = "x86_64")]
        check_refused(FilterContext::Namespaces, libc::SYS_mknod, [BAD, mode, 0, 0, 0, 0], Errno::PERM);
    }
    for kind in [libc::S_IFIFO, libc::S_IFREG, libc::S_IFSOCK] {
        let mode = usize::try_from(kind | 0o600).unwrap();
        check_passes(FilterContext::Namespaces, libc::SYS_mknodat, [BAD, BAD, mode, 0, 0, 0]);
    }
}

#[test]
fn only_sockets_that_other_layers_limit_are_allowed() {
    use libc::{
        AF_ALG, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_UNIX, AF_VSOCK, SOCK_CLOEXEC, SOCK_DGRAM,
        SOCK_NONBLOCK, SOCK_RAW, SOCK_SEQPACKET, SOCK_STREAM,
    };
    let socket = |context, domain, kind, protocol, passes_it: bool| {
        let arguments = arguments([domain, kind, protocol]);
        if passes_it {
            check_passes(context, libc::SYS_socket, arguments);
        } else {
            check_refused(context, libc::SYS_socket, arguments, Errno::PERM);
        }
    };
    for (domain, kind) in
        [(AF_NETLINK, SOCK_RAW), (AF_PACKET, SOCK_RAW), (AF_VSOCK, SOCK_STREAM), (AF_ALG, SOCK_SEQPACKET)]
    {
        for context in ALL {
            socket(context, domain, kind, 0, false);
        }
    }
    for kind in [SOCK_STREAM, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK] {
        for domain in [AF_INET, AF_INET6] {
            socket(FilterContext::Namespaces, domain, kind, 0, true);
            socket(PAIRS, domain, kind, 0, false);
        }
        socket(FilterContext::Namespaces, AF_UNIX, kind, 0, true);
        socket(PAIRS, AF_UNIX, kind, 0, false);
    }
    for kind in [SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_DGRAM | SOCK_CLOEXEC] {
        socket(PAIRS, AF_INET, kind, 0, false);
    }
    socket(FilterContext::Namespaces, AF_INET, SOCK_DGRAM, 0, true);
    // A datagram needs no connection: it could be sent to any path.
    for kind in [SOCK_DGRAM, SOCK_RAW, SOCK_DGRAM | SOCK_CLOEXEC] {
        socket(FilterContext::Namespaces, AF_UNIX, kind, 0, false);
    }
    socket(FilterContext::Namespaces, AF_UNIX, SOCK_SEQPACKET, 0, true);
}

#[test]
fn without_connection_checks_unix_sockets_are_refused() {
    let filters = Filters {
        all: server_filter(FilterContext::Namespaces).unwrap(),
        command: Some(command_filter(Connections::Unchecked, Changes::Unrecorded).unwrap()),
    };
    let call = |call, given| call_result(Some(&filters), call, given);
    let socket = |domain| call(libc::SYS_socket, arguments([domain, libc::SOCK_STREAM]));
    assert_eq!(socket(libc::AF_UNIX), Err(Errno::PERM));
    assert_eq!(socket(libc::AF_INET), Ok(()));
    assert_eq!(call(libc::SYS_connect, [BAD; 6]), Err(Errno::BADF));
    let [domain, kind, protocol, ..] = arguments([libc::AF_UNIX, libc::SOCK_STREAM, 0]);
    assert_eq!(call(libc::SYS_socketpair, [domain, kind, protocol, BAD, 0, 0]), Err(Errno::FAULT));
}

#[test]
fn only_the_supervisor_makes_connections() {
    // The notification has no reader here, so the system refuses the call.
    let filters = Filters::new(FilterContext::Namespaces);
    assert_eq!(call_result(Some(&filters), libc::SYS_connect, [BAD; 6]), Err(Errno::NOSYS));
}

#[test]
fn supervisors_may_read_memory_that_commands_may_not() {
    for call in call_lists::SUPERVISOR_CALLS {
        check_refused(FilterContext::Namespaces, *call, [BAD; 6], Errno::PERM);
        check_refused(PAIRS, *call, [BAD; 6], Errno::PERM);
        let filters = Filters { all: server_filter(FilterContext::Namespaces).unwrap(), command: None };
        assert_ne!(call_result(Some(&filters), *call, [BAD; 6]), Err(Errno::PERM));
    }
}

#[test]
fn calls_that_change_files_are_announced_and_reading_is_not() {
    use libc::{O_CREAT, O_DIRECTORY, O_PATH, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY};
    let filters = Filters {
        all: server_filter(FilterContext::Namespaces).unwrap(),
        command: Some(command_filter(Connections::Checked, Changes::Recorded).unwrap()),
    };
    let announced = |call, given| call_result(Some(&filters), call, given) == Err(Errno::NOSYS);
    let flags = |flags: i32| usize::try_from(flags).unwrap();
    for changing in
        [O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_WRONLY | O_CREAT | O_TRUNC, libc::O_TMPFILE | O_RDWR]
    {
        assert!(announced(libc::SYS_openat, [BAD, BAD, flags(changing), 0, 0, 0]), "{changing:#o}");
        #[cfg(target_arch = "x86_64")]
        assert!(announced(libc::SYS_open, [BAD, flags(changing), 0, 0, 0, 0]), "{changing:#o}");
    }
    for reading in [O_RDONLY, O_DIRECTORY, O_PATH] {
        assert!(!announced(libc::SYS_openat, [BAD, BAD, flags(reading), 0, 0, 0]), "{reading:#o}");
    }
    for call in
        [libc::SYS_mkdirat, libc::SYS_renameat2, libc::SYS_unlinkat, libc::SYS_bind, libc::SYS_openat2]
    {
        assert!(announced(call, [BAD; 6]), "{call}");
    }
    for (mode, is_announced) in
        [(0o644, false), (0o600, false), (0o755, true), (0o1644, false), (0o4644, true), (0o2600, true)]
            .into_iter()
            .chain([(0o666, true), (0o664, true), (0o100, true), (0, false)])
    {
        for (call, given) in [
            #[cfg(target_arch = "x86_64")]
            (libc::SYS_chmod, [BAD, mode, 0, 0, 0, 0]),
            (libc::SYS_fchmod, [BAD, mode, 0, 0, 0, 0]),
            (libc::SYS_fchmodat, [BAD, BAD, mode, 0, 0, 0]),
            (change_calls::SYS_FCHMODAT2, [BAD, BAD, mode, 0, 0, 0]),
        ] {
            assert_eq!(announced(call, given), is_announced, "{call} {mode:o}");
        }
    }
    for call in [libc::SYS_read, libc::SYS_getcwd, libc::SYS_readlinkat, libc::SYS_utimensat] {
        assert!(!announced(call, [BAD; 6]), "{call}");
    }
    assert_eq!(
        call_result(Some(&filters), libc::SYS_socket, arguments([libc::AF_NETLINK, 3])),
        Err(Errno::PERM)
    );
}

#[test]
fn only_connected_socket_pairs_are_allowed() {
    let pair = |kind| [usize::try_from(libc::AF_UNIX).unwrap(), usize::try_from(kind).unwrap(), 0, BAD, 0, 0];
    for context in ALL {
        for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC] {
            check_passes(context, libc::SYS_socketpair, pair(kind));
        }
    }
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK] {
        for context in ALL {
            check_refused(context, libc::SYS_socketpair, pair(kind), Errno::PERM);
        }
    }
}

#[test]
fn without_namespaces_listening_and_unnamed_sharing_are_refused() {
    for context in [PAIRS, OLD] {
        for call in [
            libc::SYS_bind,
            libc::SYS_listen,
            libc::SYS_shmat,
            libc::SYS_shmctl,
            libc::SYS_semget,
            libc::SYS_semop,
            libc::SYS_semctl,
            libc::SYS_msgget,
            libc::SYS_msgsnd,
            libc::SYS_msgrcv,
            libc::SYS_msgctl,
            libc::SYS_mq_open,
            libc::SYS_mq_unlink,
        ] {
            let arguments = [BAD - 1; 6];
            check_refused(context, call, arguments, Errno::PERM);
            check_passes(FilterContext::Namespaces, call, arguments);
        }
    }
    check_refused(PAIRS, libc::SYS_connect, [BAD; 6], Errno::PERM);
}

#[test]
fn limits_of_other_processes_cannot_be_changed() {
    const CORE: i32 = libc::RLIMIT_CORE as i32;
    let parent = std::process::id().cast_signed();
    check_refused(FilterContext::Namespaces, libc::SYS_prlimit64, arguments([parent, CORE]), Errno::PERM);
    check_passes(FilterContext::Namespaces, libc::SYS_prlimit64, arguments([0, CORE]));
}

#[test]
fn without_namespaces_attributes_cannot_be_changed() {
    for call in [
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
    ] {
        check_refused(PAIRS, call, [BAD, BAD, BAD, 0, 0, 0], Errno::PERM);
        check_passes(FilterContext::Namespaces, call, [BAD, BAD, BAD, 0, 0, 0]);
    }
    check_passes(PAIRS, libc::SYS_getxattr, [BAD, BAD, BAD, 0, 0, 0]);
    const FS_IOC_GETFLAGS: usize = 0x8008_6601;
    const FS_IOC_SETFLAGS: usize = 0x4008_6602;
    check_refused(PAIRS, libc::SYS_ioctl, [BAD, FS_IOC_SETFLAGS, BAD, 0, 0, 0], Errno::PERM);
    check_passes(FilterContext::Namespaces, libc::SYS_ioctl, [BAD, FS_IOC_SETFLAGS, BAD, 0, 0, 0]);
    check_passes(PAIRS, libc::SYS_ioctl, [BAD, FS_IOC_GETFLAGS, BAD, 0, 0, 0]);
}

#[test]
fn before_abi_3_the_filter_refuses_truncation() {
    use libc::{O_CREAT, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY};
    let open = |flags: i32| [BAD, BAD, usize::try_from(flags).unwrap(), 0o600, 0, 0];
    for flags in [O_RDONLY | O_TRUNC, O_WRONLY | O_RDWR | O_TRUNC, O_RDONLY | O_TRUNC | O_CREAT] {
        check_refused(OLD, libc::SYS_openat, open(flags), Errno::PERM);
        check_passes(PAIRS, libc::SYS_openat, open(flags));
        #[cfg(target_arch = "x86_64")]
        check_refused(OLD, libc::SYS_open, [BAD, usize::try_from(flags).unwrap(), 0, 0, 0, 0], Errno::PERM);
    }
    // These need the right to write, which Landlock restricts.
    for flags in [O_RDONLY, O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC | O_CREAT, O_WRONLY | O_RDWR] {
        check_passes(OLD, libc::SYS_openat, open(flags));
    }
    check_refused(OLD, libc::SYS_truncate, [BAD; 6], Errno::PERM);
    check_passes(PAIRS, libc::SYS_truncate, [BAD; 6]);
    check_refused(OLD, libc::SYS_openat2, [BAD; 6], Errno::NOSYS);
    check_passes(PAIRS, libc::SYS_openat2, [BAD; 6]);
}

#[test]
fn a_call_without_argument_tests_is_listed_once() {
    for context in ALL {
        let calls: Vec<_> = call_lists::refused_calls(context)
            .chain(call_lists::absent_calls(context).iter().map(|call| (*call, NO_GROUPS)))
            .collect();
        let all: BTreeSet<_> = calls.iter().map(|(call, _)| *call).collect();
        for call in all {
            let groups: Vec<_> =
                calls.iter().filter(|(other, _)| *other == call).map(|(_, groups)| groups).collect();
            assert!(
                groups.len() == 1 || groups.iter().all(|groups| !groups.is_empty()),
                "{call} {context:?}"
            );
            assert!(call <= c_long::from(NEWEST), "{call}");
        }
    }
}

/// Runs the program as the system does, for numbers that this system may not have.
fn verdict(program: &ServerFilter, machine: u32, number: u32) -> u32 {
    const A_LOAD: u16 = 0x20;
    const A_JUMP: u16 = 0x05;
    const IF_EQUAL: u16 = 0x15;
    const IF_GREATER: u16 = 0x25;
    const GIVE: u16 = 0x06;
    let (mut at, mut value) = (0, 0);
    loop {
        let step = &program.0[at];
        at += 1;
        let skip = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
        match step.code {
            A_LOAD => {
                value = [number, machine].get(usize::try_from(step.k / 4).unwrap()).copied().unwrap_or(0)
            }
            A_JUMP => at += usize::try_from(step.k).unwrap(),
            IF_EQUAL => at += skip(value == step.k),
            IF_GREATER => at += skip(value > step.k),
            GIVE => return step.k,
            code => panic!("{code:#x}"),
        }
    }
}

#[test]
fn unknown_call_numbers_fail_as_missing() {
    const X32: u32 = 0x4000_0000;
    const X86_64: u32 = 0xc000_003e;
    const AARCH64: u32 = 0xc000_00b7;
    const I386: u32 = 0x4000_0003;
    let machine = if cfg!(target_arch = "x86_64") { X86_64 } else { AARCH64 };
    let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let getpid = u32::try_from(libc::SYS_getpid).unwrap();
    for context in ALL {
        let program = server_filter(context).unwrap();
        assert_eq!(verdict(&program, machine, getpid), libc::SECCOMP_RET_ALLOW);
        assert_eq!(verdict(&program, machine, NEWEST - 1), libc::SECCOMP_RET_ALLOW);
        for number in [NEWEST + 1, X32, X32 | getpid, X32 | 519, u32::MAX] {
            assert_eq!(verdict(&program, machine, number), absent, "{number:#x}");
        }
        // The numbers of another machine have another meaning.
        assert_eq!(verdict(&program, I386, getpid), libc::SECCOMP_RET_KILL_PROCESS);
    }
    let filters = Filters::new(FilterContext::Namespaces);
    assert_eq!(call_result(Some(&filters), c_long::from(X32 | getpid), [0; 6]), Err(Errno::NOSYS));
    assert_eq!(call_result(Some(&filters), -1, [0; 6]), Err(Errno::NOSYS));
}
