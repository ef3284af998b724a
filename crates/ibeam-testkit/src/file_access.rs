//! Threads that access files with the rights of an ordinary user.

use std::panic::resume_unwind;

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
