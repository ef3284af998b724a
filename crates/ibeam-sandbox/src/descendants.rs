//! The descendants of this process, read from /proc, and signals to all of them.
//!
//! Where a pid namespace shares the `/proc` of the system, pids in /proc differ from the pids in the namespace, and are
//! translated. Allocates nothing. /proc may miss a process that is just being forked, so callers repeat until no child
//! is left. A tree may fork faster than it is killed. So it is stopped first, because a stopped process does not fork.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, wait};

/// Maximum number of processes in one pass; the next pass finds the others.
const MAX_PROCESSES: usize = 16 * 1024;
/// Maximum number of passes in which a growing tree is stopped before it is killed.
const MAX_STOPPING_PASSES: usize = 64;
/// Pause between two passes of [`kill_tree`].
const PASS_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Index of the number in the `NSpid` line of /proc/PID/status that this process uses; 0 where `/proc` belongs to its
/// own pid namespace. Forked processes inherit the value.
static PID_LEVEL: AtomicUsize = AtomicUsize::new(0);
/// Prefix of the line with the pids of a process, one for each of its pid namespaces.
const NSPID_PREFIX: &[u8] = b"NSpid:";

/// Detects which pids `/proc` shows. Must be called after the final `/proc` is mounted.
pub(crate) fn detect_pid_level() {
    let own = LineNumbers::read(c"/proc/self/status", NSPID_PREFIX, 0);
    PID_LEVEL.store(own.count.saturating_sub(1), Ordering::Relaxed);
}

/// Sends the signals to every descendant of this process, except `spared` children and their descendants. Returns the
/// number of processes.
pub(crate) fn signal_descendants(spared: impl Fn(Pid) -> bool, signals: &[Signal]) -> usize {
    let mut found = ProcessList { pids: [0; MAX_PROCESSES], count: 0 };
    found.add_own_children();
    // Only direct children can be spared.
    let mut kept = 0;
    for index in 0..found.count {
        let Some(pid) = found.get(index) else { break };
        if !to_own_pid(pid).is_some_and(&spared) {
            found.set(kept, pid);
            kept += 1;
        }
    }
    found.count = kept;
    found.signal(signals)
}

/// Sends the signals to every descendant of `root`, a pid as `/proc` shows it. Returns the number of processes.
pub(crate) fn signal_descendants_of(root: Pid, signals: &[Signal]) -> usize {
    let mut found = ProcessList { pids: [0; MAX_PROCESSES], count: 0 };
    found.add_children_of(root.as_raw_pid());
    found.signal(signals)
}

/// Kills every descendant of this process except the `spared` ones. They end shortly afterwards. A process that is just
/// being forked may survive.
pub(crate) fn kill_descendants(spared: impl Fn(Pid) -> bool) {
    let mut before = usize::MAX;
    for _ in 0..MAX_STOPPING_PASSES {
        let count = signal_descendants(&spared, &[Signal::STOP]);
        if count == before {
            break;
        }
        before = count;
    }
    if before > 0 {
        signal_descendants(spared, &[Signal::KILL]);
    }
}

/// Kills every descendant of `root`, and then `root`, even if they stop and continue one another.
///
/// For a server that does not end by itself. While the server exists, its descendants cannot leave it.
pub(crate) fn kill_tree(root: Pid) {
    for _ in 0..MAX_STOPPING_PASSES {
        signal_descendants_of(root, &[Signal::STOP]);
        signal_descendants_of(root, &[Signal::KILL]);
        // The server reaps ended children and ends the others if it can.
        let _ = kill_process(root, Signal::CONT);
        std::thread::sleep(PASS_PAUSE);
        if signal_descendants_of(root, &[]) == 0 {
            break;
        }
    }
    let _ = kill_process(root, Signal::KILL);
}

/// Whether there is a child that is not spared.
pub(crate) fn has_children(spared: impl Fn(Pid) -> bool) -> bool {
    let mut found = ProcessList { pids: [0; MAX_PROCESSES], count: 0 };
    found.add_own_children();
    (0..found.count).filter_map(|index| to_own_pid(found.get(index)?)).any(|pid| !spared(pid))
}

/// Reaps every child that has ended. Returns whether children are left.
pub(crate) fn reap(ended: impl FnMut(Pid, WaitStatus)) -> bool {
    reap_with(WaitOptions::NOHANG, ended)
}

/// Like [`reap`], but also reports stopped children.
pub(crate) fn reap_and_report_stops(changed: impl FnMut(Pid, WaitStatus)) -> bool {
    reap_with(WaitOptions::NOHANG | WaitOptions::UNTRACED, changed)
}

fn reap_with(options: WaitOptions, mut ended: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match wait(options) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) => return true,
            Err(_no_child) => return false,
        }
    }
}

/// Pids as `/proc` shows them, in memory of a fixed size.
struct ProcessList {
    pids: [i32; MAX_PROCESSES],
    count: usize,
}

impl ProcessList {
    fn get(&self, index: usize) -> Option<i32> {
        self.pids.get(..self.count)?.get(index).copied()
    }

    fn set(&mut self, index: usize, pid: i32) {
        if let Some(place) = self.pids.get_mut(index) {
            *place = pid;
        }
    }

    fn add(&mut self, pid: i32) {
        if self.count < MAX_PROCESSES {
            self.set(self.count, pid);
            self.count += 1;
        }
    }

    /// Sends the signals to all listed processes and their descendants. Returns the number of processes.
    fn signal(&mut self, signals: &[Signal]) -> usize {
        let mut index = 0;
        while let Some(pid) = self.get(index) {
            index += 1;
            if let Some(own) = to_own_pid(pid) {
                for signal in signals {
                    let _ = kill_process(own, *signal);
                }
            }
            self.add_children_of(pid);
        }
        index
    }

    /// Adds the children of this thread.
    fn add_own_children(&mut self) {
        self.add_children_from(c"/proc/thread-self/children");
    }

    /// Adds the children of all threads of a process.
    fn add_children_of(&mut self, pid: i32) {
        for_each_thread(pid, |task| self.add_thread_children(pid, task));
    }

    fn add_thread_children(&mut self, pid: i32, task: i32) {
        let mut path = ProcPath::new();
        path.text(b"/proc/").number(pid).text(b"/task/").number(task).text(b"/children");
        if let Some(path) = path.as_c_str() {
            self.add_children_from(path);
        }
    }

    fn add_children_from(&mut self, path: &CStr) {
        let Ok(file) = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { return };
        let mut buffer = [0; 4096];
        let mut pid = 0;
        while let Ok(count @ 1..) = rustix::io::read(&file, &mut buffer) {
            for byte in buffer.get(..count).unwrap_or_default() {
                match byte {
                    b'0'..=b'9' => pid = pid * 10 + i32::from(byte - b'0'),
                    _ => {
                        self.add(pid);
                        pid = 0;
                    }
                }
            }
        }
    }
}

/// Translates a process or thread id from `/proc` to the pid namespace of this process. Returns `None` if the process
/// has ended.
pub(crate) fn to_own_pid(pid: i32) -> Option<Pid> {
    let level = PID_LEVEL.load(Ordering::Relaxed);
    if level == 0 {
        return Pid::from_raw(pid);
    }
    let mut path = ProcPath::new();
    path.text(b"/proc/").number(pid).text(b"/status");
    LineNumbers::read(path.as_c_str()?, NSPID_PREFIX, level).chosen.and_then(Pid::from_raw)
}

/// Translates a process or thread id of this process's namespace to the id in `/proc`. Returns `None` if the process
/// has ended. The caller must check afterwards that `pid` still refers to the same process.
pub(crate) fn to_proc_pid(pid: i32) -> Option<i32> {
    if PID_LEVEL.load(Ordering::Relaxed) == 0 {
        return Some(pid);
    }
    let known = Pid::from_raw(pid)?;
    // Before Linux 6.9 only processes have pidfds, threads do not.
    let thread = PidfdFlags::from_bits_retain(libc::PIDFD_THREAD);
    match pidfd_open(known, thread).or_else(|_| pidfd_open(known, PidfdFlags::empty())) {
        Ok(descriptor) => {
            let mut path = ProcPath::new();
            path.text(b"/proc/self/fdinfo/").number(descriptor.as_raw_fd());
            LineNumbers::read(path.as_c_str()?, b"Pid:", 0).chosen
        }
        Err(_) => find_proc_thread(known),
    }
}

/// Like [`to_proc_pid`], by searching all threads of the descendants.
fn find_proc_thread(thread: Pid) -> Option<i32> {
    let mut found = ProcessList { pids: [0; MAX_PROCESSES], count: 0 };
    found.add_own_children();
    let mut index = 0;
    while let Some(pid) = found.get(index) {
        index += 1;
        let mut shown = None;
        for_each_thread(pid, |task| {
            if to_own_pid(task) == Some(thread) {
                shown = Some(task);
            }
        });
        if shown.is_some() {
            return shown;
        }
        found.add_children_of(pid);
    }
    None
}

/// Calls `action` with the id of each thread of a process.
fn for_each_thread(pid: i32, mut action: impl FnMut(i32)) {
    let mut path = ProcPath::new();
    path.text(b"/proc/").number(pid).text(b"/task");
    let Some(path) = path.as_c_str() else { return };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(directory) = openat(CWD, path, flags, Mode::empty()) else { return };
    let mut buffer = [const { MaybeUninit::uninit() }; 2048];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        if let Some(task) = parse_number(entry.file_name().to_bytes()) {
            action(task);
        }
    }
}

/// The numbers on one line of a file in `/proc`.
struct LineNumbers {
    count: usize,
    /// The number at the requested index.
    chosen: Option<i32>,
}

impl LineNumbers {
    /// Reads the line that begins with `start` and selects the number at `index`.
    fn read(path: &CStr, start: &'static [u8], index: usize) -> Self {
        let mut numbers = Self { count: 0, chosen: None };
        let Ok(file) = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
            return numbers;
        };
        let (mut buffer, mut line) = ([0; 1024], LineReader::new(start));
        while let Ok(count @ 1..) = rustix::io::read(&file, &mut buffer) {
            for byte in buffer.get(..count).unwrap_or_default() {
                if let Some(number) = line.feed(*byte) {
                    if numbers.count == index {
                        numbers.chosen = Some(number);
                    }
                    numbers.count += 1;
                }
            }
        }
        numbers
    }
}

/// Finds a line of numbers byte by byte, because the lines before it have no maximum length.
struct LineReader {
    start: &'static [u8],
    /// Number of bytes of `start` that have matched.
    matched: usize,
    /// Whether the current line does not begin with `start`.
    is_other: bool,
    number: Option<i32>,
}

impl LineReader {
    fn new(start: &'static [u8]) -> Self {
        Self { start, matched: 0, is_other: false, number: None }
    }

    /// Takes the next byte; returns a number when it is complete.
    fn feed(&mut self, byte: u8) -> Option<i32> {
        if byte == b'\n' {
            let number = self.number;
            *self = Self::new(self.start);
            return number;
        }
        if self.is_other {
            return None;
        }
        if let Some(wanted) = self.start.get(self.matched) {
            self.matched += 1;
            self.is_other = byte != *wanted;
            return None;
        }
        match byte {
            b'0'..=b'9' => {
                let number = self.number.unwrap_or(0);
                self.number = Some(number.saturating_mul(10).saturating_add(i32::from(byte - b'0')));
                None
            }
            // A process that has ended is shown as -1.
            b'-' => {
                self.is_other = true;
                None
            }
            _ => self.number.take(),
        }
    }
}

pub(crate) fn parse_number(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0_i32, |number, byte| match byte {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(i32::from(byte - b'0')),
        _ => None,
    })
}

/// A path below /proc, built without allocation.
pub(crate) struct ProcPath {
    bytes: [u8; 64],
    length: usize,
}

impl ProcPath {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; 64], length: 0 }
    }

    pub(crate) fn text(&mut self, text: &[u8]) -> &mut Self {
        for byte in text {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
        self
    }

    pub(crate) fn number(&mut self, number: i32) -> &mut Self {
        let mut unit = 1_000_000_000;
        while unit > 1 && number / unit == 0 {
            unit /= 10;
        }
        while unit > 0 {
            self.text(&[b'0' + (number / unit % 10) as u8]);
            unit /= 10;
        }
        self
    }

    pub(crate) fn as_c_str(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_from_parts() {
        let mut path = ProcPath::new();
        path.text(b"/proc/").number(0).text(b"/").number(4_194_304).text(b"/").number(i32::MAX);
        assert_eq!(path.as_c_str().unwrap().to_str().unwrap(), "/proc/0/4194304/2147483647");
    }

    #[test]
    fn the_numbers_of_a_process_are_read_from_its_status() {
        let status = "Name:\tNSpid:\t7\nGroups:\t1 2 3 \nNStgid:\t41\t9\nNSpid:\t4123\t17\nNSpgid:\t41\t9\n";
        let mut line = LineReader::new(NSPID_PREFIX);
        assert_eq!(status.bytes().filter_map(|byte| line.feed(byte)).collect::<Vec<_>>(), [4123, 17]);
        let own = LineNumbers::read(c"/proc/self/status", NSPID_PREFIX, 0);
        assert_eq!((own.count, own.chosen), (1, Some(std::process::id().cast_signed())));
    }

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(
            [parse_number(b"42"), parse_number(b"."), parse_number(b"99999999999")],
            [Some(42), None, None]
        );
    }
}
