//! The tracer itself: one thread that waits for stops, looks at system calls and lets go on.

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

use super::disk::{Disk, Seen};
use super::memory::Thread;
use super::system_call::{Entry, Who};
use super::trace_point::{CallKind, TracePoint};
use super::{Errno, TraceAction};

/// How long a thread is held while the others go on.
const HOLD: Duration = Duration::from_millis(150);

/// Traces one program; belongs to the thread that made it.
pub(super) struct Engine<'a, F> {
    leader: Pid,
    disk: &'a mut Disk,
    act: F,
    points: Vec<TracePoint>,
    has_acted: bool,
    /// Every thread and process met.
    met: HashMap<Pid, Who>,
    /// Threads within a system call whose end matters.
    pending: HashMap<Pid, Pending>,
    /// A thread that is not let go on.
    held: Option<Pid>,
    /// Everything is being killed.
    over: bool,
}

/// What to do at the end of a system call.
enum Pending {
    Kill,
    Fail(Errno),
    Synced(Seen),
}

impl<'a, F: FnMut(&TracePoint) -> TraceAction> Engine<'a, F> {
    /// Takes hold of a child of this thread, which is traced from its next exec on.
    ///
    /// # Errors
    /// Why the system refuses.
    pub(super) fn seize(child: &Child, disk: &'a mut Disk, act: F) -> Result<Self, String> {
        let leader = Pid::from_raw(i32::try_from(child.id()).map_err(|error| error.to_string())?);
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACEEXEC;
        ptrace::seize(leader, options).map_err(|code| format!("PTRACE_SEIZE: {code}"))?;
        let (points, met, pending) = (Vec::new(), HashMap::new(), HashMap::new());
        Ok(Self { leader, disk, act, points, has_acted: false, met, pending, held: None, over: false })
    }

    /// Follows it to its end: the points, whether anything was done about them, and the exit code.
    ///
    /// # Panics
    /// When that takes longer than `guard`; it is killed then.
    pub(super) fn follow(mut self, guard: Duration) -> (Vec<TracePoint>, bool, Option<i32>) {
        let leader = self.leader;
        let (done, watched) = channel::<()>();
        let watchdog = std::thread::spawn(move || {
            let late = watched.recv_timeout(guard) == Err(RecvTimeoutError::Timeout);
            // Only while it is late is it surely still there: nobody else waits for it.
            late && kill(leader, Signal::SIGKILL).is_ok()
        });
        let code = self.run();
        drop(done);
        let late = watchdog.join().expect("the watchdog");
        assert!(!late, "the traced program did not end within {guard:?}; its steps: {:#?}", self.points);
        (self.points, self.has_acted, code)
    }

    fn run(&mut self) -> Option<i32> {
        let mut end = None;
        loop {
            // This thread's own: other tracers of this process wait for theirs.
            match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.leader => end = Some(Some(code)),
                Ok(WaitStatus::Signaled(pid, ..)) if pid == self.leader => end = Some(None),
                Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) => {
                    self.met.remove(&pid);
                    self.pending.remove(&pid);
                }
                Ok(WaitStatus::PtraceSyscall(pid)) => {
                    self.stopped_at_call(pid);
                    if self.held != Some(pid) {
                        go_on(pid, None);
                    }
                }
                Ok(WaitStatus::PtraceEvent(pid, _, event)) => {
                    if event == libc::PTRACE_EVENT_EXEC && pid != self.leader {
                        self.met.insert(pid, Who::Other);
                    }
                    self.who(pid);
                    if self.over {
                        self.kill_all();
                    }
                    go_on(pid, None);
                }
                Ok(WaitStatus::Stopped(pid, signal)) => go_on(pid, Some(signal)),
                Ok(WaitStatus::Continued(_) | WaitStatus::StillAlive) => {}
                // A real-time signal, which the wrapper has no name for: nothing here uses one.
                Err(Code::EINTR | Code::EINVAL) => {}
                Err(_) => return end.flatten(),
            }
            // A power cut waits for the last one.
            if !self.over
                && let Some(code) = end
            {
                return code;
            }
        }
    }

    fn stopped_at_call(&mut self, pid: Pid) {
        let who = self.who(pid);
        if self.over {
            self.kill_all();
            return;
        }
        let Ok(info) = ptrace::syscall_info(pid) else { return };
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => self.enters(pid, who),
            libc::PTRACE_SYSCALL_INFO_EXIT => {
                if let Some(pending) = self.pending.remove(&pid) {
                    self.leaves(pid, pending);
                }
            }
            _ => {}
        }
    }

    fn enters(&mut self, pid: Pid, who: Who) {
        let Ok(mut registers) = ptrace::getregs(pid) else { return };
        let entry = Entry {
            call: registers.orig_rax as i64,
            arguments: [
                registers.rdi,
                registers.rsi,
                registers.rdx,
                registers.r10,
                registers.r8,
                registers.r9,
            ],
        };
        let thread = Thread(pid.as_raw());
        if let Some((call, path)) = entry.step(thread, who, self.disk.root()) {
            let path = path.strip_prefix(self.disk.root()).map(Path::to_owned).unwrap_or(path);
            let nth = self.points.iter().filter(|point| point.call == call).count();
            let point = TracePoint { number: self.points.len(), call, nth, path };
            let act = (self.act)(&point);
            self.points.push(point);
            self.has_acted |= act != TraceAction::Pass;
            match act {
                TraceAction::Pass => {}
                // A call is not made by a thread that is killed at its entry.
                TraceAction::KillBefore => return self.kill(),
                TraceAction::HoldThenKill => {
                    self.held = Some(pid);
                    let leader = self.leader;
                    std::thread::spawn(move || {
                        std::thread::sleep(HOLD);
                        kill(leader, Signal::SIGKILL)
                    });
                    return;
                }
                TraceAction::KillAll => {
                    self.over = true;
                    return self.kill_all();
                }
                TraceAction::KillAfter => drop(self.pending.insert(pid, Pending::Kill)),
                TraceAction::Tear => {
                    if call == CallKind::Write && matches!(entry.call, libc::SYS_write | libc::SYS_pwrite64) {
                        registers.rdx /= 2;
                        ptrace::setregs(pid, registers).expect("registers to set");
                    }
                    self.pending.insert(pid, Pending::Kill);
                    return;
                }
                TraceAction::Fail(errno) => {
                    // There is no such call, so nothing is done.
                    registers.orig_rax = u64::MAX;
                    ptrace::setregs(pid, registers).expect("registers to set");
                    self.pending.insert(pid, Pending::Fail(errno));
                    return;
                }
            }
        }
        if let Some(descriptor) = entry.synced()
            && let Ok(seen) = self.disk.look(&thread.descriptor_link(descriptor))
        {
            self.pending.entry(pid).or_insert(Pending::Synced(seen));
        }
    }

    fn leaves(&mut self, pid: Pid, pending: Pending) {
        match pending {
            Pending::Kill => self.kill(),
            Pending::Synced(seen) => {
                if ptrace::getregs(pid).is_ok_and(|registers| registers.rax == 0) {
                    self.disk.keep(seen);
                }
            }
            Pending::Fail(errno) => {
                let code = match errno {
                    Errno::Again => Code::EAGAIN,
                    Errno::Io => Code::EIO,
                    Errno::NoSpace => Code::ENOSPC,
                    Errno::ReadOnly => Code::EROFS,
                };
                let mut registers = ptrace::getregs(pid).expect("registers");
                registers.rax = i64::from(-(code as i32)) as u64;
                ptrace::setregs(pid, registers).expect("registers to set");
            }
        }
    }

    fn who(&mut self, pid: Pid) -> Who {
        let leader = self.leader.as_raw();
        *self.met.entry(pid).or_insert_with(|| {
            let thread = Thread(pid.as_raw());
            if thread.process() == Some(leader) {
                Who::Program
            } else if thread.program() == Thread(leader).program() {
                Who::Copy
            } else {
                Who::Other
            }
        })
    }

    fn kill(&self) {
        // It may have ended by itself meanwhile.
        let _ = kill(self.leader, Signal::SIGKILL);
    }

    fn kill_all(&self) {
        self.kill();
        for (pid, who) in &self.met {
            if *who != Who::Program {
                let _ = kill(*pid, Signal::SIGKILL);
            }
        }
    }
}

/// Lets a stopped thread run to its next system call; a killed one needs no leave.
fn go_on(pid: Pid, signal: Option<Signal>) {
    let _ = ptrace::syscall(pid, signal);
}
