//! The fork server as its client holds it.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};

use crate::apply_confinement::PreparedConfinement;
use crate::backend::PrivateTmp;
use crate::cgroup::Cgroup;
use crate::confinement::SandboxUnavailable;
use crate::descendants::kill_tree;
use crate::frame::{FRAME_LENGTH, Frame};
use crate::launch_request::{self, LaunchSpec};
use crate::memory::ArgumentArea;
use crate::raw::{self, ForkMode, SignalsBlocked};
use crate::server_process::{self, ServerSetup};
use crate::setup_step::SetupStep;
use crate::supervised_tree::SupervisedTree;

/// Longer than a loaded system takes to fork.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How far apart the process ids begin in two namespaces of ours.
const PID_STRIDE: u32 = 1000;
/// Servers that were started, or should have been.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// How long the end of everything is waited for when the server is dropped.
const DROP_TIMEOUT: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// Why a command does not run.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The server cannot be made, or this command cannot begin; the number tells which of many causes.
    #[error("the system refuses: {0}")]
    Refused(#[source] Errno),
    /// A text holds a NUL byte.
    #[error("a NUL byte cannot be part of a command")]
    NulByte,
    /// The server has ended, killed by force. A new one may be started.
    #[error("the fork server has ended")]
    ServerLost,
    /// Its commands are to be confined, and cannot be.
    #[error("commands cannot be confined here: {0}")]
    Sandbox(#[source] SandboxUnavailable),
}

/// The process from which commands are forked. Dropping it ends all of them. A server that is in order has two seconds
/// for that, another one is ended by force.
#[derive(Debug)]
pub struct ForkServer {
    pid: Pid,
    layers: Vec<&'static str>,
    control: Mutex<Option<UnixStream>>,
    cgroup: Option<Cgroup>,
    private_tmp: Option<PrivateTmp>,
    trees: Arc<()>,
}

impl ForkServer {
    /// Starts it, in a pid namespace where the system lets us. Its commands together may have so many `processes`
    /// and threads, where the system can count them. They are not confined.
    ///
    /// # Errors
    /// `Refused`: the system has no processes or descriptors left.
    pub fn start(processes: u32) -> Result<Self, SpawnError> {
        let bound = ProcessLimit::new(processes);
        // Whatever refuses the namespace, the system or its guards, refuses it for good.
        let namespaces = ForkMode::Namespaces(libc::CLONE_NEWPID | libc::CLONE_NEWNS);
        let (layers, begun) = match fork_server(namespaces, &bound, None) {
            Ok(begun) => (vec!["pid-namespace"], Ok(begun)),
            Err(_refused) => (Vec::new(), fork_server(ForkMode::Plain, &bound, None)),
        };
        let begun = begun.map_err(|(_, errno)| SpawnError::Refused(errno))?;
        Ok(Self::new(begun.pid, begun.control, bound, layers))
    }

    pub(crate) fn new(pid: Pid, control: UnixStream, bound: ProcessLimit, layers: Vec<&'static str>) -> Self {
        let cgroup = bound.cgroup.filter(Cgroup::has_members);
        Self {
            pid,
            layers,
            control: Mutex::new(Some(control)),
            cgroup,
            private_tmp: None,
            trees: Arc::default(),
        }
    }

    /// Commands are told of the directory, which is removed with the server.
    pub(crate) fn set_private_tmp(&mut self, temporary: PrivateTmp) {
        self.private_tmp = Some(temporary);
    }

    /// Nobody holds a tree of it any more.
    pub(crate) fn is_idle(&self) -> bool {
        Arc::strong_count(&self.trees) == 1
    }

    /// What holds the processes: `pid-namespace` where there is one, and always `subreaper`; `pids-cgroup` where
    /// their number is bound by one. And every layer that confines them, where one does.
    pub fn layers(&self) -> Vec<&'static str> {
        let cgroup = self.cgroup.is_some().then_some("pids-cgroup");
        self.layers.iter().copied().chain(["subreaper"]).chain(cgroup).collect()
    }

    /// Starts a command. Returns when its program runs; waits at most some seconds for that.
    ///
    /// # Errors
    /// `Refused` with what exec(2) or chdir(2) said, `Nul`, or `Lost`.
    pub fn spawn(&self, launch: &LaunchSpec<'_>) -> Result<SupervisedTree, SpawnError> {
        let request = launch_request::encode(launch, self.private_tmp.as_ref().map(PrivateTmp::path))
            .map_err(|launch_request::ContainsNul| SpawnError::NulByte)?;
        let (ours, theirs) = UnixStream::pair().map_err(refused)?;
        {
            let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
            let mut control = control.as_ref().ok_or(SpawnError::ServerLost)?;
            let [stdin, stdout, stderr] = launch.stdio;
            let descriptors = [theirs.as_fd(), stdin, stdout, stderr];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
            let length = request.len().to_ne_bytes();
            sendmsg(control, &[IoSlice::new(&length)], &mut ancillary, SendFlags::NOSIGNAL)
                .map_err(|_ended| SpawnError::ServerLost)?;
            control.write_all(&request).map_err(|_ended| SpawnError::ServerLost)?;
        }
        drop(theirs);
        match read_first_frame(&ours) {
            Ok(Some(Frame::Started(pid))) => SupervisedTree::new(pid, ours, &self.trees).map_err(refused),
            Ok(Some(Frame::Failed(errno))) => Err(SpawnError::Refused(Errno::from_raw_os_error(errno))),
            // Its first act was to kill its supervisor: a tree that has ended, as any other.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                SupervisedTree::new(0, ours, &self.trees).map_err(refused)
            }
            Ok(Some(Frame::Ended(_) | Frame::Refused(..) | Frame::Listening) | None) | Err(_) => {
                Err(SpawnError::ServerLost)
            }
        }
    }
}

/// What bounds the processes of a server.
pub(crate) struct ProcessLimit {
    cgroup: Option<Cgroup>,
    processes: u32,
}

impl ProcessLimit {
    /// Commands together may have so many processes and threads.
    pub(crate) fn new(processes: u32) -> Self {
        Self { cgroup: Cgroup::new(processes), processes }
    }
}

/// A server that has begun.
pub(crate) struct StartedServer {
    pub(crate) pid: Pid,
    pub(crate) control: UnixStream,
    /// The socket for the proxy, in the network of the commands.
    pub(crate) listener: Option<OwnedFd>,
}

/// Forks the server and waits until it is ready.
pub(crate) fn fork_server(
    how: ForkMode,
    bound: &ProcessLimit,
    confined: Option<&PreparedConfinement>,
) -> Result<StartedServer, (SetupStep, Errno)> {
    let failed = |errno| (SetupStep::Start, errno);
    let (ours, theirs) = UnixStream::pair().map_err(|error| failed(errno(&error)))?;
    let setup = ServerSetup {
        has_pid_namespace: how.creates(libc::CLONE_NEWPID),
        confined,
        cgroup_members: bound.cgroup.as_ref().map(|cgroup| cgroup.members().as_fd()),
        // In a user namespace only what is inside counts.
        processes: match how.creates(libc::CLONE_NEWUSER) {
            true => Some(bound.processes.into()),
            false => nproc_limit(bound.processes),
        },
        last_pid: (std::process::id() + STARTED.fetch_add(1, Ordering::Relaxed) * PID_STRIDE).to_string(),
        arguments: ArgumentArea::locate(),
    };
    let pid = {
        // The child begins with them blocked, and no handler of ours runs in it.
        let _blocked = SignalsBlocked::new();
        raw::fork(how, || server_process::run(theirs.as_fd(), &setup)).map_err(failed)?
    };
    drop(theirs);
    let refusal = match handshake(&ours) {
        Ok((Frame::Started(_), listener)) => {
            ours.set_read_timeout(None)
                .and(ours.set_write_timeout(Some(START_TIMEOUT)))
                .map_err(|error| failed(errno(&error)))?;
            return Ok(StartedServer { pid, control: ours, listener });
        }
        Ok((Frame::Refused(step, number), _)) => {
            (SetupStep::from_number(step).unwrap_or(SetupStep::Start), Errno::from_raw_os_error(number))
        }
        Ok((Frame::Failed(_) | Frame::Ended(_) | Frame::Listening, _)) | Err(_) => failed(Errno::CHILD),
    };
    let _ = kill_process(pid, Signal::KILL);
    let _ = waitpid(Some(pid), WaitOptions::empty());
    Err(refusal)
}

/// The first words of a server, and what it sends with them.
fn handshake(socket: &UnixStream) -> io::Result<(Frame, Option<OwnedFd>)> {
    socket.set_read_timeout(Some(START_TIMEOUT))?;
    let mut given = None;
    loop {
        let mut bytes = [0; FRAME_LENGTH];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut whole = [IoSliceMut::new(&mut bytes)];
        let got = match recvmsg(socket, &mut whole, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => continue,
            got => got?,
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                given = descriptors.last().or(given);
            }
        }
        match (got.bytes, Frame::decode(bytes)) {
            (FRAME_LENGTH, Some(Frame::Listening)) => {}
            (FRAME_LENGTH, Some(frame)) => return Ok((frame, given)),
            (_, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// All tasks of the system, which are no fewer than those of our user, and as many as the commands may have.
fn nproc_limit(processes: u32) -> Option<u64> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    let all: u64 = load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()?;
    Some(all + u64::from(processes))
}

/// The first word from the other side. `UnexpectedEof` when it has ended; another error when it takes too long.
fn read_first_frame(mut socket: &UnixStream) -> io::Result<Option<Frame>> {
    let mut bytes = [0; FRAME_LENGTH];
    socket.set_read_timeout(Some(START_TIMEOUT))?;
    socket.read_exact(&mut bytes)?;
    Ok(Frame::decode(bytes))
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn refused(error: io::Error) -> SpawnError {
    SpawnError::Refused(errno(&error))
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        // The end of the socket is the server's end.
        drop(self.control.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        if let Ok(server) = pidfd_open(self.pid, PidfdFlags::empty()) {
            let ends = |time| poll(&mut [PollFd::new(&server, PollFlags::IN)], Some(time)) != Ok(0);
            if !ends(&DROP_TIMEOUT) {
                // It may be stopped.
                kill_tree(self.pid);
                ends(&DROP_TIMEOUT);
            }
        }
        let _ = waitpid(Some(self.pid), WaitOptions::NOHANG);
    }
}
