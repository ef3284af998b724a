//! The tracer: one thread that waits until a traced thread stops, inspects its system call and resumes it.

use std::collections::HashMap;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nix::errno::Errno as Code;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::disk::{Disk, PendingSync};
use super::stopped_thread::StoppedThread;
use super::system_call::{ProcessRole, SystemCall};
use super::trace_point::{Errno, StepKind, TraceAction, TracePoint};

/// The time for which a thread stays stopped while the others run.
const HOLD_TIME: Duration = Duration::from_millis(150);

/// The tracer of one program. Only the thread that created a tracer can use it.
pub(super) struct Tracer<'a, F> {
    /// The main thread of the program.
    leader: Pid,
    disk: &'a mut Disk,
    act: F,
    points: Vec<TracePoint>,
    has_acted: bool,
    /// Every known thread and process.
    roles: HashMap<Pid, ProcessRole>,
    /// Threads within a system call that needs an action at its end.
    pending: HashMap<Pid, PendingAction>,
    /// A thread that stays stopped.
    held_thread: Option<Pid>,
    /// Whether all processes are being killed.
    is_killing_all: bool,
}

/// An action at the end of a system call.
enum PendingAction {
    Kill,
    Fail(Errno),
    /// The call was not made, but succeeds.
    Pretend,
    CommitSync(PendingSync),
}

impl<'a, F: FnMut(&TracePoint) -> TraceAction> Tracer<'a, F> {
    /// Attaches to a child of this thread.
    ///
    /// # Errors
    /// The reason why the system refuses.
    pub(super) fn seize(child: &Child, disk: &'a mut Disk, act: F) -> Result<Self, String> {
        let leader = Pid::from_raw(i32::try_from(child.id()).map_err(|error| error.to_string())?);
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACEEXEC;
        ptrace::seize(leader, options).map_err(|code| format!("PTRACE_SEIZE: {code}"))?;
        let (points, roles, pending) = (Vec::new(), HashMap::new(), HashMap::new());
        Ok(Self {
            leader,
            disk,
            act,
            points,
            has_acted: false,
            roles,
            pending,
            held_thread: None,
            is_killing_all: false,
        })
    }

    /// Traces the program to its end. Returns the steps, whether an action was carried out, and the exit code.
    ///
    /// # Panics
    /// If the program does not end before `timeout`. The program is killed first.
    pub(super) fn run_to_end(mut self, timeout: Duration) -> (Vec<TracePoint>, bool, Option<i32>) {
        let leader = self.leader;
        let (done, watched) = channel::<()>();
        let watchdog = std::thread::spawn(move || {
            let is_late = watched.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout);
            // The process still exists only if it is late, since no other thread waits for it.
            is_late && kill(leader, Signal::SIGKILL).is_ok()
        });
        let code = self.run();
        drop(done);
        let is_late = watchdog.join().expect("the watchdog");
        assert!(!is_late, "the traced program did not end within {timeout:?}; its steps: {:#?}", self.points);
        (self.points, self.has_acted, code)
    }

    fn run(&mut self) -> Option<i32> {
        let mut end = None;
        loop {
            // Waits only for processes of this thread, since other threads may trace too.
            match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.leader => end = Some(Some(code)),
                Ok(WaitStatus::Signaled(pid, ..)) if pid == self.leader => end = Some(None),
                Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) => {
                    self.roles.remove(&pid);
                    self.pending.remove(&pid);
                }
                Ok(WaitStatus::PtraceSyscall(pid)) => {
                    self.on_system_call(pid);
                    if self.held_thread != Some(pid) {
                        resume(pid, None);
                    }
                }
                Ok(WaitStatus::PtraceEvent(pid, _, event)) => {
                    if event == libc::PTRACE_EVENT_EXEC && pid != self.leader {
                        self.roles.insert(pid, ProcessRole::Other);
                    }
                    self.role(pid);
                    if self.is_killing_all {
                        self.kill_all();
                    }
                    resume(pid, None);
                }
                Ok(WaitStatus::Stopped(pid, signal)) => resume(pid, Some(signal)),
                Ok(WaitStatus::Continued(_) | WaitStatus::StillAlive) => {}
                // `EINVAL`: a real-time signal, which the library cannot represent. The program uses none.
                Err(Code::EINTR | Code::EINVAL) => {}
                Err(_) => return end.flatten(),
            }
            // After `KillAll` the loop waits for the last process.
            if !self.is_killing_all
                && let Some(code) = end
            {
                return code;
            }
        }
    }

    fn on_system_call(&mut self, pid: Pid) {
        let role = self.role(pid);
        if self.is_killing_all {
            self.kill_all();
            return;
        }
        let Ok(info) = ptrace::syscall_info(pid) else { return };
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => self.on_entry(pid, role),
            libc::PTRACE_SYSCALL_INFO_EXIT => {
                if let Some(pending) = self.pending.remove(&pid) {
                    self.on_exit(pid, pending);
                }
            }
            _ => {}
        }
    }

    fn on_entry(&mut self, pid: Pid, role: ProcessRole) {
        let Ok(mut registers) = ptrace::getregs(pid) else { return };
        let entry = SystemCall {
            number: registers.orig_rax as i64,
            arguments: [
                registers.rdi,
                registers.rsi,
                registers.rdx,
                registers.r10,
                registers.r8,
                registers.r9,
            ],
        };
        // Only root could see the descriptors of a process that hides its memory.
        if entry.hides_memory() {
            registers.orig_rax = u64::MAX;
            ptrace::setregs(pid, registers).expect("registers to set");
            self.pending.insert(pid, PendingAction::Pretend);
            return;
        }
        let thread = StoppedThread(pid.as_raw());
        if let Some((kind, path)) = entry.lasting_step(thread, role, self.disk.root()) {
            let path = path.strip_prefix(self.disk.root()).map(Path::to_owned).unwrap_or(path);
            let nth = self.points.iter().filter(|point| point.kind == kind).count();
            let point = TracePoint { number: self.points.len(), kind, nth, path };
            let act = (self.act)(&point);
            self.points.push(point);
            self.has_acted |= act != TraceAction::Pass;
            match act {
                TraceAction::Pass => {}
                // A thread that is killed at the entry of a call does not make the call.
                TraceAction::KillBefore => return self.kill(),
                TraceAction::HoldThenKill => {
                    self.held_thread = Some(pid);
                    let leader = self.leader;
                    std::thread::spawn(move || {
                        std::thread::sleep(HOLD_TIME);
                        kill(leader, Signal::SIGKILL)
                    });
                    return;
                }
                TraceAction::KillAll => {
                    self.is_killing_all = true;
                    return self.kill_all();
                }
                TraceAction::KillAfter => drop(self.pending.insert(pid, PendingAction::Kill)),
                TraceAction::Tear => {
                    if kind == StepKind::Write && matches!(entry.number, libc::SYS_write | libc::SYS_pwrite64)
                    {
                        registers.rdx /= 2;
                        ptrace::setregs(pid, registers).expect("registers to set");
                    }
                    self.pending.insert(pid, PendingAction::Kill);
                    return;
                }
                TraceAction::Fail(errno) => {
                    // An invalid call number, so that nothing is done.
                    registers.orig_rax = u64::MAX;
                    ptrace::setregs(pid, registers).expect("registers to set");
                    self.pending.insert(pid, PendingAction::Fail(errno));
                    return;
                }
            }
        }
        if let Some(descriptor) = entry.synced_descriptor()
            && let Ok(pending_sync) = self.disk.read_for_sync(&thread.descriptor_link(descriptor))
        {
            self.pending.entry(pid).or_insert(PendingAction::CommitSync(pending_sync));
        }
    }

    fn on_exit(&mut self, pid: Pid, pending: PendingAction) {
        match pending {
            PendingAction::Kill => self.kill(),
            PendingAction::CommitSync(pending_sync) => {
                if ptrace::getregs(pid).is_ok_and(|registers| registers.rax == 0) {
                    self.disk.commit_sync(pending_sync);
                }
            }
            PendingAction::Pretend => set_result(pid, 0),
            PendingAction::Fail(errno) => {
                let code = match errno {
                    Errno::Again => Code::EAGAIN,
                    Errno::Io => Code::EIO,
                    Errno::NoSpace => Code::ENOSPC,
                    Errno::ReadOnly => Code::EROFS,
                };
                set_result(pid, i64::from(-(code as i32)));
            }
        }
    }

    fn role(&mut self, pid: Pid) -> ProcessRole {
        let leader = self.leader.as_raw();
        *self.roles.entry(pid).or_insert_with(|| {
            let thread = StoppedThread(pid.as_raw());
            if thread.process() == Some(leader) {
                ProcessRole::Program
            } else if thread.program() == StoppedThread(leader).program() {
                ProcessRole::ForkedCopy
            } else {
                ProcessRole::Other
            }
        })
    }

    fn kill(&self) {
        // The program may have ended meanwhile.
        let _ = kill(self.leader, Signal::SIGKILL);
    }

    fn kill_all(&self) {
        self.kill();
        for (pid, role) in &self.roles {
            if *role != ProcessRole::Program {
                let _ = kill(*pid, Signal::SIGKILL);
            }
        }
    }
}

/// Sets what the system call of a thread returns, at its end.
fn set_result(pid: Pid, result: i64) {
    let mut registers = ptrace::getregs(pid).expect("registers");
    registers.rax = result as u64;
    ptrace::setregs(pid, registers).expect("registers to set");
}

/// Resumes a stopped thread until its next system call. A killed thread cannot be resumed.
fn resume(pid: Pid, signal: Option<Signal>) {
    let _ = ptrace::syscall(pid, signal);
}
