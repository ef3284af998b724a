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

mod lists;

use std::collections::BTreeMap;

use libc::c_long;
use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::raw;
use lists::{NEWEST, Test};

/// What holds commands beside this filter, which must hold what that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Namespaces: of sockets, those that know the network namespace are free.
    Namespaces,
    /// Landlock alone, which knows neither sockets, but for TCP, nor attributes. There are no sockets but connected
    /// pairs.
    Landlock {
        /// It bounds what cuts files off; before ABI 3 this filter must.
        truncates: bool,
    },
}

/// The filter, ready for [`install`].
pub(crate) struct Program(Vec<libc::sock_filter>);

/// Compiles the filter.
///
/// # Errors
/// This machine is neither x86-64 nor 64-bit ARM.
pub(crate) fn program(beside: Beside) -> Result<Program, BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    for (call, refused) in lists::refused(beside) {
        let groups = rules.entry(call).or_default();
        for tests in refused {
            groups.push(rule(tests)?);
        }
    }
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    let refusal = SeccompAction::Errno(Errno::PERM.raw_os_error().cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, machine)?;
    let program = BpfProgram::try_from(filter)?;
    Ok(Program(prologue(lists::absent(beside)).into_iter().chain(program.iter().map(instruction)).collect()))
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

/// Refuses as if the system had them not: numbers that nobody has looked at, those of x32 among them, and the
/// `absent`.
fn prologue(absent: &[c_long]) -> Vec<libc::sock_filter> {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const NUMBER: u32 = 0;
    const REFUSAL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let unless =
        |test, k| libc::sock_filter { code: (libc::BPF_JMP | test | libc::BPF_K) as u16, jt: 0, jf: 1, k };
    let plain = |code, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let refuse = plain(libc::BPF_RET | libc::BPF_K, REFUSAL);
    let mut steps = vec![plain(LOAD, NUMBER), unless(libc::BPF_JGT, NEWEST), refuse];
    steps.extend(absent.iter().flat_map(|call| [unless(libc::BPF_JEQ, *call as u32), refuse]));
    steps
}

fn instruction(made: &seccompiler::sock_filter) -> libc::sock_filter {
    libc::sock_filter { code: made.code, jt: made.jt, jf: made.jf, k: made.k }
}

fn rule(tests: &[Test]) -> Result<SeccompRule, BackendError> {
    let conditions = tests.iter().map(|test| {
        let (argument, compared, value) = match *test {
            Test::Is(argument, value) => (argument, SeccompCmpOp::Eq, value),
            Test::IsNot(argument, value) => (argument, SeccompCmpOp::Ne, value),
            Test::Has(argument, bits) => {
                (argument, SeccompCmpOp::MaskedEq(bits.cast_unsigned().into()), bits)
            }
            Test::Masked(argument, mask, bits) => {
                (argument, SeccompCmpOp::MaskedEq(mask.cast_unsigned().into()), bits)
            }
        };
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compared, value.cast_unsigned().into())
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
