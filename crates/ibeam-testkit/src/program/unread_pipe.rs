//! Waiting for a program whose output nothing reads.

use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;

use super::RunningProgram;

/// Half of the bytes that a pipe can hold. A pipe is full with more than these: each of its pages has a part of one line, and
/// the lines of these tests are longer than a page.
const FULL: u64 = 32 << 10;

impl RunningProgram {
    /// Waits until a pipe that is not read is full. A program with more output then waits for the reader.
    ///
    /// # Panics
    /// The program did not write so much before its timeout.
    #[track_caller]
    pub fn wait_for_full_pipe(&self) {
        let started = Instant::now();
        let is_full = || {
            let mut waiting = self.unread.iter().filter_map(|pipe| ioctl_fionread(pipe).ok());
            waiting.any(|bytes| bytes >= FULL)
        };
        while !is_full() {
            assert!(started.elapsed() < self.timeout, "no pipe is full after {:?}", self.timeout);
            thread::sleep(Duration::from_millis(10));
        }
    }
}
