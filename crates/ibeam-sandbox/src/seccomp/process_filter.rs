//! A second filter for commands in the pid namespace of the system. It protects the processes that end a run, and other
//! processes of the user.
//!
//! Without a pid namespace only the user id limits who can be signalled. If a command stopped or killed the server, it
//! could outlive the run. So no call may send a signal to the server, to its process group, which contains the
//! supervisors, to the client, or to all processes. A supervisor can be reached by its own pid; the server detects that
//! and ends its tree. Priorities, CPU affinity and scheduling can be changed only for the calling process. A filter
//! does not know the caller's pid, so the pid must be given as 0.
//!
//! From ABI 6 on Landlock also refuses signals to processes outside the sandbox, which this filter cannot.
//!
//! The pids are known only in the child, so the program is built there, on the stack.

use libc::c_long;
use rustix::io::Errno;
use rustix::process::Pid;

use crate::raw;

/// Maximum length of the program; a test checks it.
const MAX_INSTRUCTIONS: usize = 256;
/// Loads a word of the call's data at an offset.
const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
/// Offset of the call's number in the data of a filter.
const CALL_NUMBER_OFFSET: u32 = 0;
/// Selects all processes of a user; the two calls use different values.
const USER_PRIORITY: u32 = 2;
const USER_IO_PRIORITY: u32 = 3;
// The same on all machines; the libc crate does not have all of them.
const F_SETOWN: u32 = 8;
const F_SETOWN_EX: u32 = 15;
const FIOSETOWN: u32 = 0x8901;
const SIOCSPGRP: u32 = 0x8902;
/// The pid with which kill(2) signals all processes.
const ALL_PROCESSES: i32 = -1;

/// The condition under which a call is refused.
#[derive(Clone, Copy)]
enum CallTest {
    /// One of these arguments is the pid of a protected process or group.
    Protected(&'static [u8]),
    /// This argument is not 0, which is the calling process.
    OtherProcess(u8),
    /// The first argument has this value, or the second is not 0.
    OtherProcessOrUser(u32),
    /// Always, as if the system did not have the call.
    Missing,
    /// The second argument is the first value, or it is the second value and the third argument is protected.
    Owner(u32, u32),
    /// The second argument is one of these values.
    IoctlRequest(u32, u32),
}

/// The calls that the filter refuses, and under which condition.
const CALLS: [(c_long, CallTest); 17] = [
    (libc::SYS_kill, CallTest::Protected(&[0])),
    (libc::SYS_tkill, CallTest::Protected(&[0])),
    (libc::SYS_tgkill, CallTest::Protected(&[0, 1])),
    (libc::SYS_rt_sigqueueinfo, CallTest::Protected(&[0])),
    (libc::SYS_rt_tgsigqueueinfo, CallTest::Protected(&[0, 1])),
    (libc::SYS_pidfd_open, CallTest::Protected(&[0])),
    // A descriptor of /proc/PID works as well as one of `pidfd_open`, so the pid cannot be checked.
    (libc::SYS_pidfd_send_signal, CallTest::Missing),
    // Requests a signal when a descriptor becomes ready.
    (libc::SYS_fcntl, CallTest::Owner(F_SETOWN_EX, F_SETOWN)),
    (libc::SYS_ioctl, CallTest::IoctlRequest(FIOSETOWN, SIOCSPGRP)),
    (libc::SYS_setpriority, CallTest::OtherProcessOrUser(USER_PRIORITY)),
    (libc::SYS_ioprio_set, CallTest::OtherProcessOrUser(USER_IO_PRIORITY)),
    (libc::SYS_sched_setparam, CallTest::OtherProcess(0)),
    (libc::SYS_sched_setscheduler, CallTest::OtherProcess(0)),
    (libc::SYS_sched_setattr, CallTest::OtherProcess(0)),
    (libc::SYS_sched_setaffinity, CallTest::OtherProcess(0)),
    (libc::SYS_migrate_pages, CallTest::OtherProcess(0)),
    (libc::SYS_move_pages, CallTest::OtherProcess(0)),
];

/// The client, which no command may signal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtectedClient {
    /// The process that started the server.
    pub(crate) pid: Pid,
    pub(crate) group: Pid,
}

/// Installs the filter in the server, for itself and all descendants. Uses only system calls and the stack.
///
/// # Errors
/// Errors of seccomp(2).
pub(crate) fn install(server: Pid, client: ProtectedClient) -> Result<(), Errno> {
    let program = ProcessFilter::new([
        server.as_raw_pid(),
        -server.as_raw_pid(),
        client.pid.as_raw_pid(),
        -client.group.as_raw_pid(),
        ALL_PROCESSES,
    ])
    .ok_or(Errno::INVAL)?;
    raw::install_seccomp_filter(program.steps())
}

struct ProcessFilter {
    steps: [libc::sock_filter; MAX_INSTRUCTIONS],
    length: usize,
    /// Whether an instruction did not fit.
    has_overflowed: bool,
}

impl ProcessFilter {
    /// Builds the program. Returns `None` if it is too long.
    fn new(protected: [i32; 5]) -> Option<Self> {
        let empty = libc::sock_filter { code: 0, jt: 0, jf: 0, k: 0 };
        let mut program = Self { steps: [empty; MAX_INSTRUCTIONS], length: 0, has_overflowed: false };
        for (call, test) in CALLS {
            program.push(LOAD, CALL_NUMBER_OFFSET, 0, 0);
            let start = program.length;
            program.push(EQUAL, call as u32, 0, 0);
            program.refuse(test, &protected);
            program.push(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0);
            // Other calls skip all of this.
            let distance = u8::try_from(program.length - start - 1).ok()?;
            program.steps.get_mut(start)?.jf = distance;
        }
        program.push(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0);
        (!program.has_overflowed).then_some(program)
    }

    fn steps(&self) -> &[libc::sock_filter] {
        self.steps.get(..self.length).unwrap_or_default()
    }

    fn refuse(&mut self, test: CallTest, protected: &[i32]) {
        match test {
            CallTest::Protected(arguments) => {
                for argument in arguments {
                    self.refuse_protected(*argument, protected);
                }
            }
            CallTest::OtherProcess(argument) => self.refuse_others(argument),
            CallTest::OtherProcessOrUser(all) => {
                self.load(0);
                self.refuse_equal(all);
                self.refuse_others(1);
            }
            CallTest::Missing => self.push_errno(Errno::NOSYS),
            CallTest::Owner(refused, checked) => {
                self.load(1);
                self.refuse_equal(refused);
                self.push(EQUAL, checked, 1, 0);
                self.push(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0);
                self.refuse_protected(2, protected);
            }
            CallTest::IoctlRequest(one, other) => {
                self.load(1);
                self.refuse_equal(one);
                self.refuse_equal(other);
            }
        }
    }

    fn refuse_protected(&mut self, argument: u8, protected: &[i32]) {
        self.load(argument);
        for number in protected {
            self.refuse_equal(number.cast_unsigned());
        }
    }

    fn refuse_others(&mut self, argument: u8) {
        self.load(argument);
        self.push(EQUAL, 0, 1, 0);
        self.push_errno(Errno::PERM);
    }

    fn refuse_equal(&mut self, value: u32) {
        self.push(EQUAL, value, 0, 1);
        self.push_errno(Errno::PERM);
    }

    /// Loads the lower half of an argument. The system reads only this half of a pid.
    fn load(&mut self, argument: u8) {
        self.push(LOAD, 16 + 8 * u32::from(argument), 0, 0);
    }

    fn push_errno(&mut self, errno: Errno) {
        self.push(RETURN, libc::SECCOMP_RET_ERRNO | errno.raw_os_error().cast_unsigned(), 0, 0);
    }

    fn push(&mut self, code: u32, k: u32, jt: u8, jf: u8) {
        match self.steps.get_mut(self.length) {
            Some(place) => {
                *place = libc::sock_filter { code: code as u16, jt, jf, k };
                self.length += 1;
            }
            None => self.has_overflowed = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{WaitOptions, getpgid, getpid, waitpid};
    use rustix::thread::set_no_new_privs;

    use super::*;
    use crate::raw::{ForkMode, any_call, fork};

    const NOBODY: usize = 0x3fff_fff0;
    const NO_FILTER: i32 = 255;

    /// Returns the error of a call in a child whose server is this process and whose client is `client`; 0 if the call
    /// succeeds.
    fn errno(call: c_long, arguments: [usize; 6], client: Pid) -> i32 {
        let server = getpid();
        let child = fork(ForkMode::Plain, || {
            let client = ProtectedClient { pid: client, group: client };
            if set_no_new_privs(true).and_then(|()| install(server, client)).is_err() {
                return NO_FILTER;
            }
            any_call(call, arguments).map_or_else(Errno::raw_os_error, |_| 0)
        });
        let (_, status) = waitpid(Some(child.unwrap()), WaitOptions::empty()).unwrap().unwrap();
        let errno = status.exit_status().unwrap();
        assert_ne!(errno, NO_FILTER);
        errno
    }

    fn number(pid: i32) -> usize {
        // The upper half of a register does not count.
        pid.cast_unsigned() as usize | 7 << 32
    }

    #[test]
    fn the_program_fits_its_buffer() {
        assert!(ProcessFilter::new([1; 5]).unwrap().length < MAX_INSTRUCTIONS - 16);
    }

    #[test]
    fn no_signal_reaches_a_protected_process() {
        let (server, perm) = (getpid().as_raw_pid(), Errno::PERM.raw_os_error());
        let client = Pid::from_raw(getpgid(None).unwrap().as_raw_pid()).unwrap();
        let protected = [server, -server, client.as_raw_pid(), -client.as_raw_pid(), -1];
        for pid in protected.map(number) {
            for call in [libc::SYS_kill, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo] {
                assert_eq!(errno(call, [pid, 0, 0, 0, 0, 0], client), perm, "{call} {pid:x}");
            }
            for call in [libc::SYS_tgkill, libc::SYS_rt_tgsigqueueinfo] {
                assert_eq!(errno(call, [pid, NOBODY, 0, 0, 0, 0], client), perm, "{call} {pid:x}");
                assert_eq!(errno(call, [NOBODY, pid, 0, 0, 0, 0], client), perm, "{call} {pid:x}");
            }
            assert_eq!(errno(libc::SYS_fcntl, [0, F_SETOWN as usize, pid, 0, 0, 0], client), perm);
        }
        assert_eq!(errno(libc::SYS_pidfd_open, [number(server), 0, 0, 0, 0, 0], client), perm);
        assert_eq!(errno(libc::SYS_fcntl, [0, F_SETOWN_EX as usize, 0, 0, 0, 0], client), perm);
        for command in [FIOSETOWN, SIOCSPGRP] {
            assert_eq!(errno(libc::SYS_ioctl, [0, command as usize, 0, 0, 0, 0], client), perm);
        }
        let none = Errno::NOSYS.raw_os_error();
        assert_eq!(errno(libc::SYS_pidfd_send_signal, [BAD, 0, 0, 0, 0, 0], client), none);
    }

    const BAD: usize = usize::MAX;

    #[test]
    fn signals_to_others_pass() {
        let (client, gone) = (Pid::INIT, Errno::SRCH.raw_os_error());
        for call in [libc::SYS_kill, libc::SYS_tkill, libc::SYS_pidfd_open] {
            assert_eq!(errno(call, [NOBODY, 0, 0, 0, 0, 0], client), gone, "{call}");
        }
        assert_eq!(errno(libc::SYS_tgkill, [NOBODY, NOBODY, 0, 0, 0, 0], client), gone);
        assert_eq!(errno(libc::SYS_kill, [0, 0, 0, 0, 0, 0], client), 0);
    }

    #[test]
    fn only_the_callers_priority_and_processors_can_be_changed() {
        let (client, perm) = (Pid::INIT, Errno::PERM.raw_os_error());
        let (own_pid, user) = (number(getpid().as_raw_pid()), USER_PRIORITY as usize);
        for refused in [[0, own_pid, 5, 0, 0, 0], [1, own_pid, 5, 0, 0, 0], [user, 0, 5, 0, 0, 0]] {
            assert_eq!(errno(libc::SYS_setpriority, refused, client), perm, "{refused:x?}");
        }
        assert_eq!(errno(libc::SYS_setpriority, [0, 0, 19, 0, 0, 0], client), 0);
        assert_eq!(errno(libc::SYS_ioprio_set, [3, 0, 0, 0, 0, 0], client), perm);
        assert_eq!(errno(libc::SYS_ioprio_set, [1, own_pid, 0, 0, 0, 0], client), perm);
        for call in [
            libc::SYS_sched_setparam,
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setaffinity,
            libc::SYS_migrate_pages,
            libc::SYS_move_pages,
        ] {
            assert_eq!(errno(call, [own_pid, 0, 0, 0, 0, 0], client), perm, "{call}");
            assert_ne!(errno(call, [0, 0, 0, 0, 0, 0], client), perm, "{call}");
        }
    }
}
