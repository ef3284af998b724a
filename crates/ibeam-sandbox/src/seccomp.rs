//! The system calls that a command may make: all except those that help to escape from sandboxes or attack the kernel.
//!
//! The filter is a deny list. Commands are anything that people build and test: compilers, browsers, language runtimes.
//! An allow list would need some 350 calls and break the next program that uses another one. Both forms are equally
//! safe if no *new* call passes. So numbers above the newest known one fail as if the system did not have them. The
//! same holds for the numbers of other ABIs (x32), which would bypass a list of calls. A program of another machine
//! (i386) is killed at its first call.
//!
//! This layer covers what the others cannot: io_uring, whose files and sockets bypass filters; namespaces, which would
//! return capabilities; calls with a history of vulnerabilities (bpf, userfaultfd, perf, keyctl, netlink); and the
//! input queue of the terminal. It cannot check paths or addresses, because the caller may change that memory
//! meanwhile. Mounts and Landlock cover files; the network namespace and the supervisor, which makes the connections to
//! Unix sockets (`connections.rs`), cover connections. Many of the refused calls also need a dropped capability,
//! because each layer has to be sufficient alone.
//!
//! There are two programs. One applies to the fork server and everything below it. Each command gets a second one, which
//! refuses calls that supervisors need, and announces to its supervisor the calls that change files and, in namespaces,
//! the command's connections.
//!
//! `prctl` and `seccomp` are allowed, because another filter can only restrict further.
//!
//! The parent builds the program, because that allocates. The child only installs it.

mod call_lists;
pub(crate) mod change_calls;
pub(crate) mod process_filter;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use libc::c_long;
use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::raw;
use call_lists::{ArgumentTest, NEWEST};

/// The other layers that confine commands. The filter must cover what they do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterContext {
    /// Namespaces: sockets that the network namespace limits are allowed.
    Namespaces,
    /// Landlock without namespaces, which covers neither attributes nor sockets, except TCP. The only sockets are
    /// connected pairs.
    Landlock {
        /// Landlock restricts truncation; before ABI 3 this filter must.
        handles_truncation: bool,
    },
}

/// Whether connections of a command are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    /// The supervisor makes them.
    Checked,
    /// No check takes place, so Unix sockets are refused.
    Unchecked,
    /// The filter of the server refuses all sockets.
    Refused,
}

/// Whether the files that a command creates or changes are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// The supervisor records them.
    Recorded,
    /// Nobody records them.
    Unrecorded,
}

/// A compiled filter, ready for [`install`].
pub(crate) struct ServerFilter(Vec<libc::sock_filter>);

/// Maximum number of instructions of a [`CommandFilter`].
const MAX_INSTRUCTIONS: usize = 256;

/// A filter for commands, in memory of a fixed size, because the fork server has no heap.
#[derive(Clone, Copy)]
pub(crate) struct CommandFilter {
    steps: [libc::sock_filter; MAX_INSTRUCTIONS],
    length: usize,
}

/// Compiles the filter for the fork server and everything below it.
///
/// # Errors
/// This machine is neither x86-64 nor 64-bit ARM.
pub(crate) fn server_filter(context: FilterContext) -> Result<ServerFilter, BackendError> {
    let steps = prologue(call_lists::absent_calls(context))
        .into_iter()
        .chain(compile(call_lists::refused_calls(context))?);
    Ok(ServerFilter(steps.collect()))
}

/// Compiles the additional filter of commands.
///
/// # Errors
/// This machine is neither x86-64 nor 64-bit ARM.
pub(crate) fn command_filter(
    connections: Connections,
    changes: Changes,
) -> Result<CommandFilter, BackendError> {
    let mut compiled = match connections {
        Connections::Checked => vec![
            statement(LOAD, CALL_NUMBER_OFFSET),
            skip_next_unless(libc::BPF_JEQ, libc::SYS_connect as u32),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF),
        ],
        Connections::Unchecked | Connections::Refused => Vec::new(),
    };
    match changes {
        Changes::Recorded => compiled.extend(change_calls::announcement()),
        Changes::Unrecorded => {}
    }
    compiled.extend(compile(call_lists::calls_refused_to_commands(connections))?);
    let mut steps = [statement(0, 0); MAX_INSTRUCTIONS];
    steps
        .get_mut(..compiled.len())
        .ok_or(BackendError::FilterTooLarge(compiled.len()))?
        .copy_from_slice(&compiled);
    Ok(CommandFilter { steps, length: compiled.len() })
}

fn compile(
    refused: impl Iterator<Item = call_lists::RefusedCall>,
) -> Result<Vec<libc::sock_filter>, BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    for (call, refused) in refused {
        let groups = rules.entry(call).or_default();
        for tests in refused {
            groups.push(rule(tests)?);
        }
    }
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    let refusal = SeccompAction::Errno(Errno::PERM.raw_os_error().cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, machine)?;
    Ok(BpfProgram::try_from(filter)?.iter().map(instruction).collect())
}

/// Installs the filter for this process and everything that it starts. Needs no_new_privs or CAP_SYS_ADMIN. Uses only
/// system calls.
///
/// # Errors
/// Errors of seccomp(2): the system does not have filters, or has no memory.
pub(crate) fn install(program: &ServerFilter) -> Result<(), Errno> {
    raw::install_seccomp_filter(&program.0)
}

impl CommandFilter {
    /// Installs the filter. Uses only system calls.
    ///
    /// # Errors
    /// The errors of [`install`].
    pub(crate) fn install(&self) -> Result<(), Errno> {
        raw::install_seccomp_filter(self.steps())
    }

    /// Installs the filter. Returns the descriptor on which calls are announced.
    ///
    /// # Errors
    /// The errors of [`install`]; `BUSY` if an outer filter already has such a descriptor.
    pub(crate) fn install_with_listener(&self) -> Result<OwnedFd, Errno> {
        raw::install_seccomp_filter_with_listener(self.steps())
    }

    fn steps(&self) -> &[libc::sock_filter] {
        self.steps.get(..self.length).unwrap_or_default()
    }
}

/// Loads a word of the call's data at an offset.
const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
/// Offset of the call's number in the call's data.
const CALL_NUMBER_OFFSET: u32 = 0;

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Returns an instruction that skips the next one unless the test holds.
fn skip_next_unless(test: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | test | libc::BPF_K) as u16, jt: 0, jf: 1, k }
}

/// Returns instructions that refuse calls as if the system did not have them: unknown numbers, including those of x32,
/// and the `absent` ones.
fn prologue(absent: &[c_long]) -> Vec<libc::sock_filter> {
    const REFUSAL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let refuse = statement(libc::BPF_RET | libc::BPF_K, REFUSAL);
    let mut steps =
        vec![statement(LOAD, CALL_NUMBER_OFFSET), skip_next_unless(libc::BPF_JGT, NEWEST), refuse];
    steps.extend(absent.iter().flat_map(|call| [skip_next_unless(libc::BPF_JEQ, *call as u32), refuse]));
    steps
}

fn instruction(made: &seccompiler::sock_filter) -> libc::sock_filter {
    libc::sock_filter { code: made.code, jt: made.jt, jf: made.jf, k: made.k }
}

fn rule(tests: &[ArgumentTest]) -> Result<SeccompRule, BackendError> {
    let conditions = tests.iter().map(|test| {
        let (argument, compared, value) = match *test {
            ArgumentTest::Is(argument, value) => (argument, SeccompCmpOp::Eq, value),
            ArgumentTest::IsNot(argument, value) => (argument, SeccompCmpOp::Ne, value),
            ArgumentTest::Has(argument, bits) => {
                (argument, SeccompCmpOp::MaskedEq(bits.cast_unsigned().into()), bits)
            }
            ArgumentTest::Masked(argument, mask, bits) => {
                (argument, SeccompCmpOp::MaskedEq(mask.cast_unsigned().into()), bits)
            }
        };
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compared, value.cast_unsigned().into())
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
