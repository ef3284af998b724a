//! The process of the fork server: forks supervisors, and ends orphaned processes.
//!
//! Every supervisor is a child of the server. Any other child belonged to a supervisor that was killed, and is killed.
//! A stopped supervisor is killed too, with its tree. The server ends when its socket closes, and everything below it
//! ends with it: automatically if the server is the first process of a pid namespace, otherwise because the server
//! kills its descendants.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, IoSliceMut};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitStatus, chdir, getpid, getrlimit, kill_process, set_child_subreaper,
    setrlimit, setsid,
};

use crate::apply_confinement::{self, PreparedConfinement};
use crate::call_answers::CallRules;
use crate::descendants::{detect_pid_level, has_children, kill_descendants, reap, reap_and_report_stops};
use crate::frame::Frame;
use crate::memory::{ArgumentArea, discard_inherited_memory};
use crate::raw::{self, ForkMode, SharedRequest};
use crate::setup_step::SetupStep;
use crate::supervisor::{self, PASS_INTERVAL, SIGNAL_FD, TreeEnd, drain_signals, wait_for_signal};

/// The descriptor of the server's socket.
const CONTROL_FD: i32 = 0;
/// Maximum number of simultaneous commands.
const MAX_SUPERVISORS: usize = 256;
/// Maximum number of passes in which a child that does not end delays new commands.
const MAX_REAP_PASSES: usize = 50;
/// Time until the next attempt to end such a child.
const RETRY_INTERVAL: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The configuration of the server process.
pub(crate) struct ServerSetup<'a> {
    /// Whether it is the first process of a new pid namespace.
    pub(crate) has_pid_namespace: bool,
    /// The confinement; `None` if commands are not confined.
    pub(crate) confined: Option<&'a PreparedConfinement>,
    /// Maximum number of processes of its user.
    pub(crate) processes: Option<u64>,
    /// The pid that counts as the last used one in the new namespace, as text.
    pub(crate) last_pid: String,
    /// The arguments and the environment of the client, which the server overwrites.
    pub(crate) arguments: ArgumentArea,
    /// The way in which the trees of the server are ended.
    pub(crate) end: TreeEnd,
}

/// Handles requests until the socket closes. Returns the exit code of the process. Joins a cgroup first, if its file of
/// members is given.
pub(crate) fn run(
    control: BorrowedFd<'_>,
    setup: &ServerSetup<'_>,
    cgroup_members: Option<BorrowedFd<'_>>,
) -> i32 {
    if let Some(members) = cgroup_members {
        // Without a cgroup there is no limit, as on systems that have none.
        let _ = rustix::io::write(members, b"0");
    }
    // Copied to the stack, because the client's heap is discarded.
    let call_rules = setup.confined.map(|confinement| confinement.call_rules);
    let end = setup.end;
    let has_pid_namespace = setup.has_pid_namespace;
    if let Err((step, errno)) = set_up(control, setup) {
        Frame::SetupFailed(step as u8, errno.raw_os_error()).send(raw::fixed_fd(CONTROL_FD));
        return 1;
    }
    Frame::Started(getpid().as_raw_pid()).send(raw::fixed_fd(CONTROL_FD));
    Server { supervisors: [const { None }; MAX_SUPERVISORS], call_rules, end }.serve();
    // The supervisors see the end of the client too, and give their trees the same time.
    for _ in 0..end.grace_passes() {
        if !reap(|_, _| {}) {
            break;
        }
        wait_for_signal(&PASS_INTERVAL);
    }
    if !has_pid_namespace {
        while reap(|_, _| {}) {
            kill_descendants(|_| false);
            wait_for_signal(&PASS_INTERVAL);
        }
    }
    0
}

fn set_up(control: BorrowedFd<'_>, setup: &ServerSetup<'_>) -> Result<(), (SetupStep, Errno)> {
    raw::dup_to(control, CONTROL_FD).map_err(|errno| (SetupStep::Start, errno))?;
    if let Some(confinement) = setup.confined {
        apply_confinement::enter_namespaces(confinement, raw::fixed_fd(CONTROL_FD), &setup.last_pid)?;
    }
    become_server(setup).map_err(|errno| (SetupStep::Start, errno))?;
    detect_pid_level();
    if let Some(confinement) = setup.confined {
        apply_confinement::drop_privileges(confinement)?;
    }
    // Last, because the steps above read the client's memory.
    discard_inherited_memory(&setup.arguments);
    Ok(())
}

fn become_server(setup: &ServerSetup<'_>) -> Result<(), Errno> {
    if setup.has_pid_namespace && setup.confined.is_none() {
        // Only /proc is private. Mounts that commands make elsewhere stay visible as without ibeam.
        mount_change(c"/proc", MountPropagationFlags::PRIVATE)?;
        mount(c"proc", c"/proc", c"proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?;
        // Programs name files by their process id, so two simultaneous runs must not use the same ones.
        write_to(c"/proc/sys/kernel/ns_last_pid", setup.last_pid.as_bytes());
    }
    if let Some(processes) = setup.processes {
        let Rlimit { current, maximum } = getrlimit(Resource::Nproc);
        let bound = |limit: Option<u64>| Some(limit.map_or(processes, |limit| limit.min(processes)));
        let _ = setrlimit(Resource::Nproc, Rlimit { current: bound(current), maximum: bound(maximum) });
    }
    raw::reset_handlers();
    raw::close_from(1);
    // The descriptors 0 to 2 are occupied from here on, so that no descriptor of a command gets one of these numbers.
    let signals = raw::signal_descriptor()?;
    raw::dup_to(signals.as_fd(), SIGNAL_FD)?;
    raw::dup_to(signals.as_fd(), 2)?;
    // The descriptor already has number 1, or it is a copy that is closed with the process.
    std::mem::forget(signals);
    let _ = setsid();
    chdir(c"/")?;
    set_child_subreaper(Some(getpid()))?;
    let _ = rustix::thread::set_name(c"ibeam-init");
    Ok(())
}

fn write_to(path: &std::ffi::CStr, text: &[u8]) {
    if let Ok(file) = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::io::write(file, text);
    }
}

struct Server {
    /// Living supervisors, each with a copy of its socket, so that the client sees the end of a tree only after the
    /// descendants of a killed supervisor have ended too.
    supervisors: [Option<(Pid, OwnedFd)>; MAX_SUPERVISORS],
    /// The rules by which calls of commands are answered. `None` if commands are not confined.
    call_rules: Option<CallRules>,
    end: TreeEnd,
}

impl Server {
    fn serve(&mut self) {
        let mut has_orphans = false;
        loop {
            let (control, signals) = (raw::fixed_fd(CONTROL_FD), raw::fixed_fd(SIGNAL_FD));
            let mut both = [PollFd::new(&control, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
            let _ = poll(&mut both, has_orphans.then_some(&RETRY_INTERVAL));
            let [has_request, has_signal] = both.map(|descriptor| !descriptor.revents().is_empty());
            if has_signal || has_orphans {
                drain_signals();
                has_orphans = self.reap_children(has_orphans);
            }
            if has_request && !self.handle_request() {
                return;
            }
        }
    }

    /// Reaps ended children. Kills orphans if there may be `orphans` or a supervisor was killed. Returns whether some
    /// orphans did not end.
    fn reap_children(&mut self, mut orphans: bool) -> bool {
        let mut ended = [const { None }; MAX_SUPERVISORS];
        for _ in 0..MAX_REAP_PASSES {
            reap_and_report_stops(|pid, status: WaitStatus| {
                // Only a command stops a supervisor, which then would not end its tree.
                if status.stopped() {
                    let _ = kill_process(pid, Signal::KILL);
                    return;
                }
                for (place, ended) in self.supervisors.iter_mut().zip(&mut ended) {
                    if place.as_ref().is_some_and(|(supervisor, _)| *supervisor == pid) {
                        *ended = place.take();
                        orphans |= status.signaled();
                        return;
                    }
                }
                orphans = true;
            });
            let supervisors = &self.supervisors;
            let is_supervisor = |pid| supervisors.iter().flatten().any(|(supervisor, _)| *supervisor == pid);
            if !orphans || !has_children(is_supervisor) {
                return false;
            }
            kill_descendants(is_supervisor);
            wait_for_signal(&PASS_INTERVAL);
        }
        true
    }

    /// Handles one request. Returns whether the client still exists.
    fn handle_request(&mut self) -> bool {
        match receive_request() {
            Ok(Some(([session, stdin, stdout, stderr], request))) => {
                self.start_supervisor(session, [stdin, stdout, stderr], request);
                true
            }
            Ok(None) => false,
            Err(Errno::INTR | Errno::AGAIN) => true,
            Err(_) => false,
        }
    }

    fn start_supervisor(&mut self, session: OwnedFd, stdio: [OwnedFd; 3], request: SharedRequest) {
        let Some(place) = self.supervisors.iter_mut().find(|place| place.is_none()) else {
            return Frame::SpawnFailed(Errno::AGAIN.raw_os_error()).send(&session);
        };
        let own_pid = getpid();
        let call_rules = self.call_rules.as_ref();
        let end = self.end;
        let mut launch = Some((session, stdio, request));
        let forked = raw::fork(ForkMode::Plain, || {
            launch.take().map_or(1, |(session, stdio, request)| {
                supervisor::run(own_pid, session, stdio, request, call_rules, end)
            })
        });
        let Some((session, ..)) = launch else { return };
        match forked {
            Ok(pid) => *place = Some((pid, session)),
            Err(errno) => Frame::SpawnFailed(errno.raw_os_error()).send(&session),
        }
    }
}

/// Receives one request and its descriptors. Returns `None` when the socket is closed.
fn receive_request() -> Result<Option<([OwnedFd; 4], SharedRequest)>, Errno> {
    let control = raw::fixed_fd(CONTROL_FD);
    let mut length = [0; size_of::<usize>()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut whole = [IoSliceMut::new(&mut length)];
    let got = recvmsg(control, &mut whole, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    if got.bytes == 0 {
        return Ok(None);
    }
    let mut descriptors = [const { None }; 4];
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            for (place, descriptor) in descriptors.iter_mut().zip(received) {
                *place = Some(descriptor);
            }
        }
    }
    let ([Some(session), Some(stdin), Some(stdout), Some(stderr)], true) =
        (descriptors, got.bytes == length.len() && !got.flags.contains(ReturnFlags::CTRUNC))
    else {
        return Err(Errno::PROTO);
    };
    let mut request = SharedRequest::new(usize::from_ne_bytes(length))?;
    let mut left = request.bytes();
    while !left.is_empty() {
        let count = match rustix::io::read(control, &mut *left) {
            Ok(0) => return Ok(None),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        };
        left = left.get_mut(count..).unwrap_or_default();
    }
    Ok(Some(([session, stdin, stdout, stderr], request)))
}
