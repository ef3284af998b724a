//! The processes below this one, as /proc tells them, and signals to all of them.
//!
//! Allocates nothing. /proc may miss a process that is being born; callers repeat until no child is left. A
//! tree that forks faster than it is killed is stopped first: what is stopped does not fork.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

/// Processes looked at in one pass; the next pass finds the others.
const ROOM: usize = 16 * 1024;
/// Passes in which a growing tree is stopped before it is killed all the same.
const STOPPING_PASSES: usize = 64;

/// Sends the signals to every process below this one, but not below or to children that are `spared`. Gives
/// how many there were.
pub(crate) fn signal_all(spared: impl Fn(Pid) -> bool, signals: &[Signal]) -> usize {
    let mut found = Found { pids: [0; ROOM], count: 0 };
    let ours = getpid().as_raw_pid();
    found.add_children(ours, ours);
    // Only direct children can be spared: all else belongs to somebody.
    let mut kept = 0;
    for index in 0..found.count {
        let Some(pid) = found.get(index) else { break };
        if !Pid::from_raw(pid).is_some_and(&spared) {
            found.set(kept, pid);
            kept += 1;
        }
    }
    found.count = kept;
    let mut index = 0;
    while let Some(pid) = found.get(index) {
        index += 1;
        if let Some(pid) = Pid::from_raw(pid) {
            for signal in signals {
                let _ = kill_process(pid, *signal);
            }
        }
        found.add_below(pid);
    }
    index
}

/// Kills every process below this one but those that are `spared`. They die a moment later; a process that was
/// just being born may be left.
pub(crate) fn kill_all(spared: impl Fn(Pid) -> bool) {
    let mut before = usize::MAX;
    for _ in 0..STOPPING_PASSES {
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

/// Whether a child exists that is not spared.
pub(crate) fn any(spared: impl Fn(Pid) -> bool) -> bool {
    let mut found = Found { pids: [0; ROOM], count: 0 };
    let ours = getpid().as_raw_pid();
    found.add_children(ours, ours);
    (0..found.count).filter_map(|index| Pid::from_raw(found.get(index)?)).any(|pid| !spared(pid))
}

/// Takes the status of every child that has ended. Gives whether children are left.
pub(crate) fn reap(mut ended: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) => return true,
            Err(_no_child) => return false,
        }
    }
}

struct Found {
    pids: [i32; ROOM],
    count: usize,
}

impl Found {
    fn get(&self, index: usize) -> Option<i32> {
        self.pids.get(..self.count)?.get(index).copied()
    }

    fn set(&mut self, index: usize, pid: i32) {
        if let Some(place) = self.pids.get_mut(index) {
            *place = pid;
        }
    }

    fn add(&mut self, pid: i32) {
        if self.count < ROOM {
            self.set(self.count, pid);
            self.count += 1;
        }
    }

    /// The children of all threads of a process.
    fn add_below(&mut self, pid: i32) {
        let mut path = ProcPath::new();
        path.text(b"/proc/").number(pid).text(b"/task");
        let Some(path) = path.as_c_str() else { return };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(directory) = openat(CWD, path, flags, Mode::empty()) else { return };
        let mut buffer = [const { MaybeUninit::uninit() }; 2048];
        let mut entries = RawDir::new(directory, &mut buffer);
        while let Some(Ok(entry)) = entries.next() {
            if let Some(task) = number(entry.file_name().to_bytes()) {
                self.add_children(pid, task);
            }
        }
    }

    /// The children of one thread.
    fn add_children(&mut self, pid: i32, task: i32) {
        let mut path = ProcPath::new();
        path.text(b"/proc/").number(pid).text(b"/task/").number(task).text(b"/children");
        let Some(path) = path.as_c_str() else { return };
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

pub(crate) fn number(digits: &[u8]) -> Option<i32> {
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
    fn only_digits_are_a_number() {
        assert_eq!([number(b"42"), number(b"."), number(b"99999999999")], [Some(42), None, None]);
    }
}
