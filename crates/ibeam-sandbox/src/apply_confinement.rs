//! Applies the confinement to the fork server, before its first request. Everything that the server starts inherits it.
//!
//! There are two phases. [`enter_namespaces`] enters the namespaces and mounts the view of the files, while that is
//! still allowed. [`drop_privileges`] then drops every remaining privilege. The order follows from the privileges that
//! each step needs: capabilities are dropped before `no_new_privs`; `no_new_privs` comes before Landlock and seccomp,
//! which need it when they are set without privileges; seccomp is last, because it refuses the calls of all other
//! steps.
//!
//! Uses only system calls and the stack. The parent prepares all data; the child only reads it.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrV4, SocketFlags,
    SocketType, bind, listen, sendmsg, socket_with,
};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getpid, getrlimit, set_dumpable_behavior, setrlimit,
};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
};

use crate::call_answers::CallRules;
use crate::frame::Frame;
use crate::mount_plan::MountPlan;
use crate::raw;
use crate::seccomp::process_filter::{self, ProtectedClient};
use crate::setup_step::SetupStep;
use crate::{landlock, mount_view, seccomp};

/// Maximum number of connections to the proxy that wait to be accepted.
const BACKLOG: i32 = 128;

/// Everything that the child needs to confine itself, prepared before the fork.
pub(crate) struct PreparedConfinement {
    /// The uid and gid maps of a new user namespace.
    pub(crate) id_maps: Option<IdMaps>,
    /// The view of the files. `None` without namespaces.
    pub(crate) mount_plan: Option<MountPlan>,
    /// The port of the proxy's socket in the new network namespace; 0 for any port. `None` without a proxy.
    pub(crate) proxy_port: Option<u16>,
    /// Maximum size of a file in bytes; `None` for no limit.
    pub(crate) max_file_size: Option<u64>,
    /// `None` where the system does not have Landlock.
    pub(crate) landlock: Option<landlock::LandlockRules>,
    pub(crate) filter: seccomp::ServerFilter,
    /// The rules by which calls of commands are answered.
    pub(crate) call_rules: CallRules,
    /// The process that commands must not signal. `None` where commands have their own pid namespace.
    pub(crate) client: Option<ProtectedClient>,
}

/// The uid and gid maps, which map user and group to themselves, one line each.
pub(crate) struct IdMaps {
    pub(crate) user: String,
    pub(crate) group: String,
}

/// Enters the namespaces and mounts the view of the files. Sends the socket for the proxy over `control`.
pub(crate) fn enter_namespaces(
    prepared: &PreparedConfinement,
    control: BorrowedFd<'_>,
    last_pid: &str,
) -> Result<(), (SetupStep, Errno)> {
    write_id_maps(prepared.id_maps.as_ref()).map_err(|errno| (SetupStep::Identity, errno))?;
    let Some(plan) = &prepared.mount_plan else { return Ok(()) };
    raw::enable_loopback().map_err(|errno| (SetupStep::Loopback, errno))?;
    if let Some(port) = prepared.proxy_port {
        send_proxy_listener(control, port).map_err(|errno| (SetupStep::Listener, errno))?;
    }
    mount_view::apply(plan, last_pid)
}

/// Writes the uid and gid maps of a new user namespace, and makes this process the first candidate of the out-of-memory
/// killer.
///
/// A process that hides its memory (not dumpable) does not own its files in /proc. So this process is dumpable, but
/// only during these few calls, because its memory is a copy of the client's memory. Afterwards it hides its memory
/// from the commands too, which run as the same user.
fn write_id_maps(identity: Option<&IdMaps>) -> Result<(), Errno> {
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    if let Ok(score) = open_to_write(c"/proc/self/oom_score_adj") {
        let _ = rustix::io::write(score, b"1000");
    }
    if let Some(IdMaps { user, group }) = identity {
        // Otherwise commands could drop a group to which a file denies access.
        rustix::io::write(open_to_write(c"/proc/self/setgroups")?, b"deny")?;
        rustix::io::write(open_to_write(c"/proc/self/uid_map")?, user.as_bytes())?;
        rustix::io::write(open_to_write(c"/proc/self/gid_map")?, group.as_bytes())?;
    }
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

fn open_to_write(path: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
}

fn send_proxy_listener(control: BorrowedFd<'_>, port: u16) -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    listen(&socket, BACKLOG)?;
    let descriptors = [socket.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(control, &[IoSlice::new(&Frame::Listening.encode())], &mut ancillary, SendFlags::NOSIGNAL)
        .map(drop)
}

/// Drops all remaining privileges, as the last step of confinement.
pub(crate) fn drop_privileges(prepared: &PreparedConfinement) -> Result<(), (SetupStep, Errno)> {
    set_limits(prepared.max_file_size).map_err(|errno| (SetupStep::Limits, errno))?;
    drop_capabilities().map_err(|errno| (SetupStep::Capabilities, errno))?;
    set_no_new_privs(true).map_err(|errno| (SetupStep::Privileges, errno))?;
    if let Some(rules) = &prepared.landlock {
        landlock::restrict(rules).map_err(|errno| (SetupStep::Landlock, errno))?;
    }
    if let Some(client) = prepared.client {
        process_filter::install(getpid(), client).map_err(|errno| (SetupStep::Seccomp, errno))?;
    }
    seccomp::install(&prepared.filter).map_err(|errno| (SetupStep::Seccomp, errno))
}

fn set_limits(max_file_size: Option<u64>) -> Result<(), Errno> {
    let set = |resource, most: u64| {
        let Rlimit { current, maximum } = getrlimit(resource);
        let bound = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
        setrlimit(resource, Rlimit { current: bound(current), maximum: bound(maximum) })
    };
    // With a limit of 0 the system pipes a core dump to a program outside; with a limit of 1 it does not. No dump file
    // is that small.
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: maximum, maximum })?;
    set(Resource::Core, 1)?;
    max_file_size.map_or(Ok(()), |most| set(Resource::Fsize, most))
}

/// Empties all five capability sets and removes the special rights of root.
fn drop_capabilities() -> Result<(), Errno> {
    for number in 0..u64::BITS {
        // Fails if the capability is missing, and at the first number that the system does not have.
        if remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)).is_err() {
            break;
        }
    }
    // Without the capability for this call, `no_new_privs` still keeps programs from gaining capabilities.
    let _ = set_capabilities_secure_bits(
        CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
            | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
    );
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let empty = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, empty)?;
    if capabilities(None)? == empty { Ok(()) } else { Err(Errno::PERM) }
}
