//! Rights of users: threads that access files as an ordinary user, and the files of /proc.

use std::panic::resume_unwind;
use std::path::PathBuf;

use crate::fault_injection::{is_root, skip};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Runs `work` on a thread without the capabilities with which root reads and writes every file, so that the modes of
/// files hold for root too.
pub fn without_root_access<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let of_root = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let restricted = || {
        let mut sets = capabilities(None).expect("the capabilities of the thread");
        sets.effective -= of_root;
        set_capabilities(None, sets).expect("a thread with fewer capabilities");
        work()
    };
    std::thread::scope(|scope| scope.spawn(restricted).join()).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Returns the file that a descriptor of a process is open on. `None`, with the reason printed, for a process that hides
/// itself from the ordinary user who runs the tests.
pub fn descriptor_target(pid: i32, descriptor: u32) -> Option<PathBuf> {
    if !is_root() {
        skip("the descriptors of a process that hides its memory: only root sees them");
        return None;
    }
    let target = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}"));
    Some(target.expect("a process with this descriptor"))
}
