//! What the fork server gives up before it takes the first request, for itself and for all that it will start.
//!
//! In two writable_parts: [`enter`] goes into the namespaces and builds the view of the files, while that is still allowed;
//! [`close`] takes away, as the last thing, every power that is left. The order in `close` is that of the
//! powers that each step needs: capabilities go before `no_new_privs`, that before Landlock and seccomp, which may
//! be set without privileges only with it, and seccomp is last, since it refuses the calls of all the others.
//!
//! Only system calls and the stack; the preparation was made by the parent and is only read.

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

use crate::connections::ConnectionRules;
use crate::frame::Frame;
use crate::mount_plan::MountPlan;
use crate::raw;
use crate::seccomp::process_filter::{self, ProtectedClient};
use crate::setup_step::SetupStep;
use crate::{landlock, mount_view, seccomp};

/// Connections to the proxy that wait to be taken.
const BACKLOG: i32 = 128;

/// All that is needed to be confined, made before the fork.
pub(crate) struct PreparedConfinement {
    /// The lines of the two maps of a new user namespace.
    pub(crate) id_maps: Option<IdMaps>,
    /// The files, in new namespaces; none where there are no namespaces.
    pub(crate) mount_plan: Option<MountPlan>,
    /// A socket is made for the proxy in the new network, with this port, or any if it is 0.
    pub(crate) proxy_port: Option<u16>,
    pub(crate) largest_file: Option<u64>,
    /// None where the system has no Landlock.
    pub(crate) landlock: Option<landlock::LandlockRules>,
    pub(crate) filter: seccomp::Program,
    /// By which supervisors make the connections of commands; none where commands have no sockets.
    pub(crate) connections: Option<ConnectionRules>,
    /// The process that commands must not signal, where they share their process ids with the system.
    pub(crate) client: Option<ProtectedClient>,
}

/// The user and the group that we are, each as a line that says that they are the same inside and outside.
pub(crate) struct IdMaps {
    pub(crate) user: String,
    pub(crate) group: String,
}

/// Into the namespaces. What is told over `control` is the socket for the proxy.
pub(crate) fn enter_namespaces(
    given: &PreparedConfinement,
    control: BorrowedFd<'_>,
    last_pid: &str,
) -> Result<(), (SetupStep, Errno)> {
    write_id_maps(given.id_maps.as_ref()).map_err(|errno| (SetupStep::Identity, errno))?;
    let Some(plan) = &given.mount_plan else { return Ok(()) };
    raw::raise_loopback().map_err(|errno| (SetupStep::Loopback, errno))?;
    if let Some(port) = given.proxy_port {
        send_proxy_listener(control, port).map_err(|errno| (SetupStep::Listener, errno))?;
    }
    mount_view::apply(plan, last_pid)
}

/// Who we are in a new user namespace; and that we go first when memory runs out.
///
/// A process that hides its memory does not own its files in /proc. It shows itself for these few calls only: its
/// memory is a copy of our client's. From here on it hides from the commands too, which are of the same user.
fn write_id_maps(identity: Option<&IdMaps>) -> Result<(), Errno> {
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    if let Ok(score) = open_to_write(c"/proc/self/oom_score_adj") {
        let _ = rustix::io::write(score, b"1000");
    }
    if let Some(IdMaps { user, group }) = identity {
        // Groups of the user that would be dropped may be what denies something.
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

/// Gives up what is left.
pub(crate) fn drop_privileges(given: &PreparedConfinement) -> Result<(), (SetupStep, Errno)> {
    set_limits(given.largest_file).map_err(|errno| (SetupStep::Limits, errno))?;
    drop_capabilities().map_err(|errno| (SetupStep::Capabilities, errno))?;
    set_no_new_privs(true).map_err(|errno| (SetupStep::Privileges, errno))?;
    if let Some(rules) = &given.landlock {
        landlock::restrict(rules).map_err(|errno| (SetupStep::Landlock, errno))?;
    }
    if let Some(client) = given.client {
        process_filter::install(getpid(), client).map_err(|errno| (SetupStep::Seccomp, errno))?;
    }
    seccomp::install(&given.filter).map_err(|errno| (SetupStep::Seccomp, errno))
}

fn set_limits(largest_file: Option<u64>) -> Result<(), Errno> {
    let set = |resource, most: u64| {
        let Rlimit { current, maximum } = getrlimit(resource);
        let bound = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
        setrlimit(resource, Rlimit { current: bound(current), maximum: bound(maximum) })
    };
    // With this limit the system pipes no dump to a program outside, as it does with that of zero; and no file has so
    // few bytes.
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: maximum, maximum })?;
    set(Resource::Core, 1)?;
    largest_file.map_or(Ok(()), |most| set(Resource::Fsize, most))
}

/// All five sets become empty, and root is a user as others.
fn drop_capabilities() -> Result<(), Errno> {
    for number in 0..u64::BITS {
        // Refused to whoever has none, and at the first that the system does not know.
        if remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)).is_err() {
            break;
        }
    }
    // Without the capability for it, `no_new_privs` keeps programs from getting what they have not.
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
