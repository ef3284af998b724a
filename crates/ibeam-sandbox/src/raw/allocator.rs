//! The allocator of the program: that of the system, which reports refused memory before the process ends.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use rustix::thread::gettid;

/// Ends the process with a report.
static REPORT: OnceLock<fn()> = OnceLock::new();
/// The time that the report may take; longer than its own limit.
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// The thread that reports; 0 before.
static REPORTING_THREAD: AtomicI32 = AtomicI32::new(0);

/// The allocator of the system. If it refuses memory, the process ends with the report that
/// [`report_refused_memory`](crate::report_refused_memory) sets. Without one, refused memory aborts the process as usual.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportingAllocator;

/// Sets what reports refused memory and ends the process. Later calls change nothing.
pub(crate) fn set_report(report: fn()) {
    let _ = REPORT.set(report);
}

/// Returns `memory`. Does not return if it was refused and there is a report.
fn checked(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        report();
    }
    memory
}

#[cold]
fn report() {
    let Some(report) = REPORT.get() else { return };
    let own = gettid().as_raw_pid();
    match REPORTING_THREAD.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => report(),
        // The report itself needs more memory than there is.
        Err(reporting) if reporting == own => exit_without_report(),
        // The other thread ends the process, unless it waits for a lock of this one.
        Err(_) => {
            std::thread::sleep(REPORT_TIMEOUT);
            exit_without_report();
        }
    }
}

/// Ends the process with a line that needs no memory.
fn exit_without_report() -> ! {
    let _ = rustix::io::write(rustix::stdio::stderr(), b"error: out of memory\n");
    // SAFETY: ends the process, without the handlers of `exit`, which may need memory.
    unsafe { libc::_exit(71) }
}

// SAFETY: every call goes to the allocator of the system with the same arguments.
unsafe impl GlobalAlloc for ReportingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}
