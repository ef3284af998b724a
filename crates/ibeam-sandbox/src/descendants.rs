//! The processes below this one, as /proc tells them, and signals to all of them.
//!
//! Where a pid namespace shares the `/proc` of the system, processes have other numbers there than here, and are
//! translated. Allocates nothing. /proc may miss a process that is being born; callers repeat until no child is left. A
//! tree that forks faster than it is killed is stopped first: what is stopped does not fork.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, wait};

/// Processes looked at in one pass; the next pass finds the others.
const MAX_PROCESSES: usize = 16 * 1024;
/// Passes in which a growing tree is stopped before it is killed all the same.
const MAX_STOPPING_PASSES: usize = 64;
/// Between two passes of [`kill_tree`].
const PASS_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Which of the numbers on a line `NSpid` of /proc/PID/status is the one that this process uses: 0 where `/proc` is
/// that of its own pid namespace. Forked processes inherit it.
static PID_LEVEL: AtomicUsize = AtomicUsize::new(0);
/// The start of the line with all numbers of a process, one for each pid namespace that it is in.
const NSPID_PREFIX: &[u8] = b"NSpid:";

/// Finds out which numbers `/proc` shows. To be called when this process has the `/proc` that it will keep.
pub(crate) fn detect_pid_level() {
    let own = LineNumbers::read(c"/proc/self/status", NSPID_PREFIX, 0);
    PID_LEVEL.store(own.count.saturating_sub(1), Ordering::Relaxed);
}

/// Sends the signals to every process below this one, but not below or to children that are `spared`. Gives
/// how many there were.
pub(crate) fn signal_all(spared: impl Fn(Pid) -> bool, signals: &[Signal]) -> usize {
    let mut found = ProcessList { pids: [0; MAX_PROCESSES], count: 0 };
    found.add_own_children();
    // Only direct children can be spared: all else belongs to somebody.
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

/// Sends the signals to every process below `root`, which is a number that `/proc` shows. Returns how many there were.
pub(crate) fn signal_below(root: Pid, signals: &[Signal]) -> usize {
    let mut found = ProcessList { pids: [0; MAX_PROCESSES], count: 0 };
    found.add_below(root.as_raw_pid());
    found.signal(signals)
}

/// Kills every process below this one but those that are `spared`. They die a moment later; a process that was
/// just being born may be left.
pub(crate) fn kill_all(spared: impl Fn(Pid) -> bool) {
    let mut before = usize::MAX;
    for _ in 0..MAX_STOPPING_PASSES {
        let count = signal_all(&spared, &[Signal::STOP]);
        if count == before {
            break;
        }
        before = count;
    }
    if before > 0 {
        signal_all(spared, &[Signal::KILL]);
    }
}

/// Kills every process below `root`, and then `root`, however often they stop and start one another.
///
/// For a server that does not end by itself. While it exists, nothing below it can leave it.
pub(crate) fn kill_tree(root: Pid) {
    for _ in 0..MAX_STOPPING_PASSES {
        signal_below(root, &[Signal::STOP]);
        signal_below(root, &[Signal::KILL]);
        // It takes what has ended, and ends the rest by itself if it can.
        let _ = kill_process(root, Signal::CONT);
        std::thread::sleep(PASS_PAUSE);
        if signal_below(root, &[]) == 0 {
            break;
        }
    }
    let _ = kill_process(root, Signal::KILL);
}

/// Whether a child exists that is not spared.
pub(crate) fn has_children(spared: impl Fn(Pid) -> bool) -> bool {
    let mut found = ProcessList { pids: [0; MAX_PROCESSES], count: 0 };
    found.add_own_children();
    (0..found.count).filter_map(|index| to_own_pid(found.get(index)?)).any(|pid| !spared(pid))
}

/// Takes the status of every child that has ended. Gives whether children are left.
pub(crate) fn reap(ended: impl FnMut(Pid, WaitStatus)) -> bool {
    reap_with(WaitOptions::NOHANG, ended)
}

/// As [`reap`]; takes the status of stopped children as well.
pub(crate) fn reap_and_notice_stops(changed: impl FnMut(Pid, WaitStatus)) -> bool {
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

    /// Sends the signals to all that were found and to everything below them. Returns how many there were.
    fn signal(&mut self, signals: &[Signal]) -> usize {
        let mut index = 0;
        while let Some(pid) = self.get(index) {
            index += 1;
            if let Some(own) = to_own_pid(pid) {
                for signal in signals {
                    let _ = kill_process(own, *signal);
                }
            }
            self.add_below(pid);
        }
        index
    }

    /// The children of this thread.
    fn add_own_children(&mut self) {
        self.add_children_from(c"/proc/thread-self/children");
    }

    /// The children of all threads of a process.
    fn add_below(&mut self, pid: i32) {
        for_each_thread(pid, |task| self.add_children(pid, task));
    }

    /// The children of one thread.
    fn add_children(&mut self, pid: i32, task: i32) {
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

/// The number by which this process knows the process or thread that `/proc` shows as `pid`; `None` if it is gone.
pub(crate) fn to_own_pid(pid: i32) -> Option<Pid> {
    let level = PID_LEVEL.load(Ordering::Relaxed);
    if level == 0 {
        return Pid::from_raw(pid);
    }
    let mut path = ProcPath::new();
    path.text(b"/proc/").number(pid).text(b"/status");
    LineNumbers::read(path.as_c_str()?, NSPID_PREFIX, level).chosen.and_then(Pid::from_raw)
}

/// The number by which `/proc` shows a process or thread that this process knows as `pid`; `None` if it is gone. The
/// caller has to check that `pid` still means the same afterwards.
pub(crate) fn to_proc_pid(pid: i32) -> Option<i32> {
    if PID_LEVEL.load(Ordering::Relaxed) == 0 {
        return Some(pid);
    }
    let known = Pid::from_raw(pid)?;
    // Before Linux 6.9 only processes have descriptors.
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

/// As [`to_proc_pid`], by looking at all threads below this process.
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
        found.add_below(pid);
    }
    None
}

/// Calls `action` with the number of each thread of a process.
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
    /// The one at the place that was asked for.
    chosen: Option<i32>,
}

impl LineNumbers {
    /// Reads the line that begins with `start`, and chooses the number at `place`.
    fn read(path: &CStr, start: &'static [u8], place: usize) -> Self {
        let mut numbers = Self { count: 0, chosen: None };
        let Ok(file) = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
            return numbers;
        };
        let (mut buffer, mut line) = ([0; 1024], LineReader::new(start));
        while let Ok(count @ 1..) = rustix::io::read(&file, &mut buffer) {
            for byte in buffer.get(..count).unwrap_or_default() {
                if let Some(number) = line.feed(*byte) {
                    if numbers.count == place {
                        numbers.chosen = Some(number);
                    }
                    numbers.count += 1;
                }
            }
        }
        numbers
    }
}

/// Finds a line of numbers byte by byte: the lines before it have no bound.
struct LineReader {
    start: &'static [u8],
    /// How many bytes of the line's start were found.
    matched: usize,
    /// This line is another one.
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

/// A path below /proc, put together without allocation.
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
    fn paths_are_put_together() {
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
