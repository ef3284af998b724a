//! Which system calls a command may make: all but those by which sandboxes are left and kernels are broken.
//!
//! A list of what is refused, not of what is allowed. Commands are whatever people build and test: compilers,
//! browsers, languages with runtimes of their own. A list of what is allowed would have to name some 350 calls and
//! break the next program that uses another, and what creates a filter safe, that it leaves out what nobody needs, is
//! the same in both forms as long as nothing *new* passes: numbers beyond those known here are refused, as if
//! the system had none. So are the numbers of other ABIs (x32), by which a list of names is gone around; a
//! program of another machine (i386) is killed at its first call.
//!
//! This layer holds what the others cannot: io_uring, whose sockets and files pass no other filter; namespaces that
//! would give capabilities back; calls with a history of holes (bpf, userfaultfd, perf, keyctl, netlink); and
//! the terminal's input queue. It cannot read paths or addresses, which lie in memory that the caller may change
//! meanwhile: files are held by mounts and Landlock, connections by the network namespace and by the supervisor, which
//! creates those of Unix sockets (`connections.rs`). Many of its calls need a capability that is gone too; each layer is to
//! hold alone.
//!
//! There are two programs. One holds for the fork server and everything below it. In namespaces each command gets a
//! second one, which refuses what supervisors need, and hands its connections to its supervisor.
//!
//! `prctl` and `seccomp` stay whole: a further filter can only take away.
//!
//! The program is made by the parent, since that allocates; the child only hands it to the system.

mod call_lists;
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

/// What holds commands beside this filter, which must hold what that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterContext {
    /// Namespaces: of sockets, those that know the network namespace are free.
    Namespaces,
    /// Landlock alone, which knows neither sockets, but for TCP, nor attributes. There are no sockets but connected
    /// pairs.
    Landlock {
        /// It bounds what cuts files off; before ABI 3 this filter must.
        handles_truncation: bool,
    },
}

/// Whether somebody checks the connections of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    /// Its supervisor creates them.
    Checked,
    /// Nobody does, so there are no Unix sockets.
    Unchecked,
}

/// The filter, ready for [`install`].
pub(crate) struct Program(Vec<libc::sock_filter>);

/// The most instructions of a [`CommandProgram`].
const INSTRUCTIONS: usize = 128;

/// A filter of commands, in memory of a fixed size: the fork server keeps no heap.
#[derive(Clone, Copy)]
pub(crate) struct CommandProgram {
    steps: [libc::sock_filter; INSTRUCTIONS],
    length: usize,
}

/// Compiles the filter for the fork server and everything below it.
///
/// # Errors
/// This machine is neither x86-64 nor 64-bit ARM.
pub(crate) fn program(beside: FilterContext) -> Result<Program, BackendError> {
    let steps = prologue(call_lists::absent(beside)).into_iter().chain(compile(call_lists::refused(beside))?);
    Ok(Program(steps.collect()))
}

/// Compiles the filter that commands in namespaces get in addition.
///
/// # Errors
/// This machine is neither x86-64 nor 64-bit ARM.
pub(crate) fn command_program(connections: Connections) -> Result<CommandProgram, BackendError> {
    let notify = match connections {
        Connections::Checked => vec![
            statement(LOAD, NUMBER),
            unless(libc::BPF_JEQ, libc::SYS_connect as u32),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF),
        ],
        Connections::Unchecked => Vec::new(),
    };
    let mut steps = [statement(0, 0); INSTRUCTIONS];
    let mut length = 0;
    let compiled = notify.into_iter().chain(compile(call_lists::refused_to_commands(connections))?);
    for (place, step) in steps.iter_mut().zip(compiled) {
        *place = step;
        length += 1;
    }
    Ok(CommandProgram { steps, length })
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

/// The filter holds from here on, for this process and all it starts. Needs no_new_privs or CAP_SYS_ADMIN.
///
/// Uses system calls only.
///
/// # Errors
/// What seccomp(2) says; the system has no filters, or no memory.
pub(crate) fn install(program: &Program) -> Result<(), Errno> {
    raw::filter_calls(&program.0)
}

impl CommandProgram {
    /// The filter holds from here on. Uses system calls only.
    ///
    /// # Errors
    /// As [`install`].
    pub(crate) fn install(&self) -> Result<(), Errno> {
        raw::filter_calls(self.steps())
    }

    /// The filter holds from here on. Returns the descriptor on which connections are announced.
    ///
    /// # Errors
    /// As [`install`]; `BUSY` where an outer filter has such a descriptor already.
    pub(crate) fn install_with_listener(&self) -> Result<OwnedFd, Errno> {
        raw::filter_calls_with_listener(self.steps())
    }

    fn steps(&self) -> &[libc::sock_filter] {
        self.steps.get(..self.length).unwrap_or_default()
    }
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
/// Where the number of a call is.
const NUMBER: u32 = 0;

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Skips the next instruction unless the test holds.
fn unless(test: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | test | libc::BPF_K) as u16, jt: 0, jf: 1, k }
}

/// Refuses as if the system had them not: numbers that nobody has looked at, those of x32 among them, and the
/// `absent`.
fn prologue(absent: &[c_long]) -> Vec<libc::sock_filter> {
    const REFUSAL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let refuse = statement(libc::BPF_RET | libc::BPF_K, REFUSAL);
    let mut steps = vec![statement(LOAD, NUMBER), unless(libc::BPF_JGT, NEWEST), refuse];
    steps.extend(absent.iter().flat_map(|call| [unless(libc::BPF_JEQ, *call as u32), refuse]));
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
