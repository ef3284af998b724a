//! The client's side of the fork server.

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
use crate::raw::{self, BlockedSignalsGuard, ForkMode};
use crate::server_process::{self, ServerSetup};
use crate::setup_step::SetupStep;
use crate::supervised_tree::SupervisedTree;
use crate::supervisor::TreeEnd;

/// Maximum time until a server or command has started. Long enough for a loaded system.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Distance between the first pids of two namespaces.
const PID_STRIDE: u32 = 1000;
/// Number of servers that were started, successfully or not.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// Maximum time to wait for the end of the server when it is dropped.
const DROP_TIMEOUT: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// The reason why a command does not run.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The server or the command could not be started.
    #[error("the system refuses: {0}")]
    System(#[source] Errno),
    /// A text contains a NUL byte.
    #[error("a NUL byte cannot be part of a command")]
    NulByte,
    /// The server was killed. A new one can be started.
    #[error("the fork server has ended")]
    ServerLost,
    /// The sandbox that the commands need could not be set up.
    #[error("commands cannot be confined here: {0}")]
    Sandbox(#[source] SandboxUnavailable),
}

/// The process from which commands are forked. Dropping it ends all of them. The server gets two seconds to end them
/// and is then killed.
#[derive(Debug)]
pub struct ForkServer {
    pid: Pid,
    layers: Vec<&'static str>,
    control: Mutex<Option<UnixStream>>,
    cgroup: Option<Cgroup>,
    private_tmp: Option<PrivateTmp>,
    /// Each tree of this server has a clone, so the reference count is the number of trees plus 1.
    trees: Arc<()>,
}

impl ForkServer {
    /// Starts an unconfined server, in a pid namespace where the system allows that. Its commands together may have up
    /// to `processes` processes and threads, where the system can count them.
    ///
    /// # Errors
    /// `System`: the system has no processes or descriptors left.
    pub fn start(processes: u32) -> Result<Self, SpawnError> {
        Self::start_with(processes, TreeEnd::Kill)
    }

    /// Like [`Self::start`], with the way in which its trees are ended.
    pub(crate) fn start_with(processes: u32, end: TreeEnd) -> Result<Self, SpawnError> {
        let limit = ProcessLimit { end, ..ProcessLimit::new(processes) };
        // If the namespace is refused, by the system or by an outer sandbox, it is refused every time.
        let namespaces = ForkMode::Namespaces(libc::CLONE_NEWPID | libc::CLONE_NEWNS);
        let (layers, started) = match fork_server(namespaces, &limit, None) {
            Ok(started) => (vec!["pid-namespace"], Ok(started)),
            Err(_refused) => (Vec::new(), fork_server(ForkMode::Plain, &limit, None)),
        };
        let started = started.map_err(|(_, errno)| SpawnError::System(errno))?;
        Ok(Self::new(started.pid, started.control, limit, layers))
    }

    pub(crate) fn new(pid: Pid, control: UnixStream, limit: ProcessLimit, layers: Vec<&'static str>) -> Self {
        let cgroup = limit.cgroup.filter(|cgroup| cgroup.has_only(pid));
        Self {
            pid,
            layers,
            control: Mutex::new(Some(control)),
            cgroup,
            private_tmp: None,
            trees: Arc::default(),
        }
    }

    /// Sets the directory for temporary files of commands, which is removed with the server.
    pub(crate) fn set_private_tmp(&mut self, temporary: PrivateTmp) {
        self.private_tmp = Some(temporary);
    }

    /// Whether all trees of this server were dropped.
    pub(crate) fn is_idle(&self) -> bool {
        Arc::strong_count(&self.trees) == 1
    }

    /// Returns the active layers: `pid-namespace` where there is one, always `subreaper`, `pids-cgroup` where one
    /// limits the number of processes, and every confinement layer.
    pub fn layers(&self) -> Vec<&'static str> {
        let cgroup = self.cgroup.is_some().then_some("pids-cgroup");
        self.layers.iter().copied().chain(["subreaper"]).chain(cgroup).collect()
    }

    /// Starts a command. Returns when its program runs; waits at most 10 seconds.
    ///
    /// # Errors
    /// `System` with the error of execve(2) or chdir(2), `NulByte`, or `ServerLost`.
    pub fn spawn(&self, launch: &LaunchSpec<'_>) -> Result<SupervisedTree, SpawnError> {
        let request = launch_request::encode(launch, self.private_tmp.as_ref().map(PrivateTmp::path))
            .map_err(|launch_request::NulByteError| SpawnError::NulByte)?;
        let (socket, child_socket) = UnixStream::pair().map_err(system_error)?;
        {
            let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
            let mut control = control.as_ref().ok_or(SpawnError::ServerLost)?;
            let [stdin, stdout, stderr] = launch.stdio;
            let descriptors = [child_socket.as_fd(), stdin, stdout, stderr];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
            let length = request.len().to_ne_bytes();
            sendmsg(control, &[IoSlice::new(&length)], &mut ancillary, SendFlags::NOSIGNAL)
                .map_err(|_ended| SpawnError::ServerLost)?;
            control.write_all(&request).map_err(|_ended| SpawnError::ServerLost)?;
        }
        drop(child_socket);
        match read_first_frame(&socket) {
            Ok(Some(Frame::Started(pid))) => {
                SupervisedTree::new(pid, socket, &self.trees).map_err(system_error)
            }
            Ok(Some(Frame::SpawnFailed(errno))) => Err(SpawnError::System(Errno::from_raw_os_error(errno))),
            // The command killed its supervisor at once: a tree that has ended.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                SupervisedTree::new(0, socket, &self.trees).map_err(system_error)
            }
            Ok(Some(Frame::Ended(_) | Frame::SetupFailed(..) | Frame::Listening) | None) | Err(_) => {
                Err(SpawnError::ServerLost)
            }
        }
    }
}

/// The limit on the number of a server's processes.
pub(crate) struct ProcessLimit {
    cgroup: Option<Cgroup>,
    processes: u32,
    /// The way in which the processes are ended.
    end: TreeEnd,
}

impl ProcessLimit {
    /// Creates a limit of `processes` processes and threads for all commands together.
    pub(crate) fn new(processes: u32) -> Self {
        Self { cgroup: Cgroup::new(processes), processes, end: TreeEnd::Kill }
    }
}

pub(crate) struct StartedServer {
    pub(crate) pid: Pid,
    pub(crate) control: UnixStream,
    /// The socket for the proxy, in the network namespace of the commands.
    pub(crate) listener: Option<OwnedFd>,
}

/// Forks the server and waits until it is ready.
pub(crate) fn fork_server(
    mode: ForkMode,
    limit: &ProcessLimit,
    confined: Option<&PreparedConfinement>,
) -> Result<StartedServer, (SetupStep, Errno)> {
    let failed = |errno| (SetupStep::Start, errno);
    let (socket, child_socket) = UnixStream::pair().map_err(|error| failed(errno(&error)))?;
    let setup = ServerSetup {
        has_pid_namespace: mode.creates(libc::CLONE_NEWPID),
        confined,
        // In a user namespace only processes inside are counted.
        processes: match mode.creates(libc::CLONE_NEWUSER) {
            true => Some(limit.processes.into()),
            false => nproc_limit(limit.processes),
        },
        last_pid: (std::process::id() + STARTED.fetch_add(1, Ordering::Relaxed) * PID_STRIDE).to_string(),
        arguments: ArgumentArea::locate(),
        end: limit.end,
    };
    let pid = {
        // The child starts with blocked signals, so that no handler of this process runs in it.
        let _guard = BlockedSignalsGuard::new();
        let run = |members| server_process::run(child_socket.as_fd(), &setup, members);
        let directory = limit.cgroup.as_ref().and_then(Cgroup::directory);
        let created = directory.and_then(|cgroup| raw::fork_into_cgroup(mode, cgroup, || run(None)).ok());
        let members = limit.cgroup.as_ref().map(Cgroup::members_file);
        created.map_or_else(|| raw::fork(mode, || run(members)), Ok).map_err(failed)?
    };
    drop(child_socket);
    let refusal = match handshake(&socket) {
        Ok((Frame::Started(_), listener)) => {
            socket
                .set_read_timeout(None)
                .and(socket.set_write_timeout(Some(START_TIMEOUT)))
                .map_err(|error| failed(errno(&error)))?;
            return Ok(StartedServer { pid, control: socket, listener });
        }
        Ok((Frame::SetupFailed(step, number), _)) => {
            (SetupStep::from_number(step).unwrap_or(SetupStep::Start), Errno::from_raw_os_error(number))
        }
        Ok((Frame::SpawnFailed(_) | Frame::Ended(_) | Frame::Listening, _)) | Err(_) => failed(Errno::CHILD),
    };
    let _ = kill_process(pid, Signal::KILL);
    let _ = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
    Err(refusal)
}

/// Reads the first messages of a server, and the descriptor that comes with them.
fn handshake(socket: &UnixStream) -> io::Result<(Frame, Option<OwnedFd>)> {
    socket.set_read_timeout(Some(START_TIMEOUT))?;
    let mut received = None;
    loop {
        let mut bytes = [0; FRAME_LENGTH];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut buffer = [IoSliceMut::new(&mut bytes)];
        let message_info = match recvmsg(socket, &mut buffer, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => continue,
            message_info => message_info?,
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                received = descriptors.last().or(received);
            }
        }
        match (message_info.bytes, Frame::decode(bytes)) {
            (FRAME_LENGTH, Some(Frame::Listening)) => {}
            (FRAME_LENGTH, Some(frame)) => return Ok((frame, received)),
            (_, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Returns the number of all tasks of the system, which includes those of the user, plus `processes`.
fn nproc_limit(processes: u32) -> Option<u64> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    let all: u64 = load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()?;
    Some(all + u64::from(processes))
}

/// Reads the first message. `UnexpectedEof`: the peer has ended. Other errors: the time is up.
fn read_first_frame(mut socket: &UnixStream) -> io::Result<Option<Frame>> {
    let mut bytes = [0; FRAME_LENGTH];
    socket.set_read_timeout(Some(START_TIMEOUT))?;
    socket.read_exact(&mut bytes)?;
    Ok(Frame::decode(bytes))
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn system_error(error: io::Error) -> SpawnError {
    SpawnError::System(errno(&error))
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        // The server ends when the socket closes.
        drop(self.control.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        if let Ok(server) = pidfd_open(self.pid, PidfdFlags::empty()) {
            let ends = |time| {
                rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(&server, PollFlags::IN)], Some(time)))
                    != Ok(0)
            };
            if !ends(&DROP_TIMEOUT) {
                // The server may be stopped.
                kill_tree(self.pid);
                ends(&DROP_TIMEOUT);
            }
        }
        let _ = waitpid(Some(self.pid), WaitOptions::NOHANG);
    }
}
