//! A look at the process before the standard library starts, which opens `/dev/null` for closed standard streams.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::stdio::raw_stdout;

static WAS_STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the loader before the standard library starts.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static AT_START: extern "C" fn() = look_at_stdout;

extern "C" fn look_at_stdout() {
    // SAFETY: only reads the flags of a descriptor, which may be closed.
    let flags = unsafe { libc::fcntl(raw_stdout(), libc::F_GETFD) };
    WAS_STDOUT_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether stdout was closed when the process started.
pub(crate) fn was_stdout_closed() -> bool {
    // The linker keeps the function above together with this one.
    std::hint::black_box(AT_START);
    WAS_STDOUT_CLOSED.load(Ordering::Relaxed)
}
