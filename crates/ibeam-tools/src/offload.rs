//! Blocking work on a thread of its own, or on this one where the system has none to give.
//!
//! Fewer threads mean less at a time, not failure. Neither a runtime nor the end of the process waits for such a thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

/// Begins `work`, whose result the receiver gets. Where no thread can be started, `work` is done when this returns.
pub(crate) fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
    offload_to(thread::Builder::new().name("tool".to_owned()), work)
}

fn offload_to<T: Send + 'static>(
    thread: thread::Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> oneshot::Receiver<T> {
    let (sender, receiver) = oneshot::channel();
    // Whoever waited for the result may have given up.
    let job = move || drop(sender.send(work()));
    // A thread that cannot be started drops what it was to do.
    let here = Arc::new(Mutex::new(Some(job)));
    let there = Arc::clone(&here);
    if thread.spawn(move || carry_out(&there)).is_err() {
        carry_out(&here);
    }
    receiver
}

fn carry_out(job: &Mutex<Option<impl FnOnce()>>) {
    let job = job.lock().unwrap_or_else(PoisonError::into_inner).take();
    job.into_iter().for_each(|job| job());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::runtime;

    #[test]
    fn work_is_done_on_another_thread() {
        let here = thread::current().id();
        let there = runtime().block_on(offload(|| thread::current().id()));
        assert_ne!(there.unwrap(), here);
    }

    /// No system has room for such a stack.
    #[test]
    fn work_is_done_here_where_no_thread_can_be_started() {
        let here = thread::current().id();
        let thread = thread::Builder::new().stack_size(1 << 60);
        let there = runtime().block_on(offload_to(thread, || thread::current().id()));
        assert_eq!(there.unwrap(), here);
    }
}
