//! Blocking work on another thread, or on this one where the system cannot start a thread.
//!
//! A thread that has done its work waits a while for more: a call needs two, and to start one takes longer than most
//! work. With fewer threads fewer calls run at the same time, but none fails. Neither a runtime nor the end of the
//! process waits for such a thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The longest that [`run_within_time_limit`] waits. A disk responds within milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// The number of threads that wait for work.
const MAX_IDLE_THREADS: usize = 2;
/// The time after which a thread that waits for work ends.
const IDLE_TIME: Duration = Duration::from_secs(30);

/// The threads that wait for work.
static IDLE_THREADS: Mutex<Vec<IdleThread>> = Mutex::new(Vec::new());

type Job = Box<dyn FnOnce() + Send>;

/// A thread that waits for work. The thread that removes it from the list sends it a job.
struct IdleThread {
    id: ThreadId,
    jobs: mpsc::Sender<Job>,
}

fn idle_threads() -> MutexGuard<'static, Vec<IdleThread>> {
    IDLE_THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does this work, and more that arrives while the thread is idle.
fn serve(first: impl FnOnce()) {
    first();
    let (id, (sender, jobs)) = (thread::current().id(), mpsc::channel::<Job>());
    loop {
        {
            let mut idle = idle_threads();
            if idle.len() >= MAX_IDLE_THREADS {
                return;
            }
            idle.push(IdleThread { id, jobs: sender.clone() });
        }
        let job = jobs.recv_timeout(IDLE_TIME).ok().or_else(|| {
            let mut idle = idle_threads();
            match idle.iter().position(|thread| thread.id == id) {
                Some(position) => {
                    idle.swap_remove(position);
                    None
                }
                // The job is on its way.
                None => {
                    drop(idle);
                    jobs.recv().ok()
                }
            }
        });
        match job {
            Some(job) => job(),
            None => return,
        }
    }
}

/// Starts `work` and returns the receiver of its result. Where no thread can be started, `work` has run when this
/// returns.
pub(crate) fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
    let idle = idle_threads().pop();
    let Some(thread) = idle else { return offload_to(thread::Builder::new().name("tool".to_owned()), work) };
    let (sender, receiver) = oneshot::channel();
    // The receiver of the result may have been dropped. The thread waits for a job.
    let job = Box::new(move || drop(sender.send(work())));
    drop(thread.jobs.send(job));
    receiver
}

/// Runs `read` on another thread and returns its result; `None` where it takes longer than about a second.
///
/// Policy checks the target of the path of a call before the call runs, and the loop waits for that. A file system that
/// does not respond, such as one whose server is gone, must not keep the loop from its time limit and from signals.
/// A `read` that does not end in time is left running. Outside of a runtime no loop waits, so `read` runs on this thread.
pub(crate) fn run_within_time_limit<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if Handle::try_current().is_err() {
        return Some(read());
    }
    let (sender, receiver) = mpsc::sync_channel(1);
    drop(offload(move || drop(sender.send(read()))));
    receiver.recv_timeout(TIME_LIMIT).ok()
}

fn offload_to<T: Send + 'static>(
    thread: thread::Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> oneshot::Receiver<T> {
    let (sender, receiver) = oneshot::channel();
    // The receiver may have been dropped.
    let job = move || drop(sender.send(work()));
    // A thread that cannot be started drops its closure, so the job is shared with this thread.
    let own_job = Arc::new(Mutex::new(Some(job)));
    let thread_job = Arc::clone(&own_job);
    if thread.spawn(move || serve(|| run_once(&thread_job))).is_err() {
        run_once(&own_job);
    }
    receiver
}

fn run_once(job: &Mutex<Option<impl FnOnce()>>) {
    let job = job.lock().unwrap_or_else(PoisonError::into_inner).take();
    job.into_iter().for_each(|job| job());
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::fixture::runtime;

    #[test]
    fn work_is_done_on_another_thread() {
        let own_id = thread::current().id();
        let other_id = runtime().block_on(offload(|| thread::current().id()));
        assert_ne!(other_id.unwrap(), own_id);
    }

    #[test]
    fn an_idle_thread_does_the_next_work() {
        let runtime = runtime();
        let first = runtime.block_on(offload(|| thread::current().id())).unwrap();
        // Other tests use such threads too; the thread is idle a moment after its result has arrived.
        let mut later = (0..1000).map(|_| {
            thread::sleep(Duration::from_millis(1));
            runtime.block_on(offload(|| thread::current().id())).unwrap()
        });
        assert!(later.any(|id| id == first));
    }

    /// No system has memory for such a stack.
    #[test]
    fn work_is_done_on_this_thread_where_none_can_be_started() {
        let own_id = thread::current().id();
        let thread = thread::Builder::new().stack_size(1 << 60);
        let other_id = runtime().block_on(offload_to(thread, || thread::current().id()));
        assert_eq!(other_id.unwrap(), own_id);
    }

    #[test]
    fn a_read_that_ends_in_time_returns_its_result() {
        assert_eq!(run_within_time_limit(|| 1), Some(1));
        assert_eq!(runtime().block_on(async { run_within_time_limit(|| 2) }), Some(2));
    }

    #[test]
    fn a_read_that_takes_too_long_is_left_running() {
        let (release, wait) = mpsc::channel::<()>();
        let runtime = runtime();
        let started = Instant::now();
        let found = runtime.block_on(async {
            run_within_time_limit(move || {
                let _ = wait.recv_timeout(Duration::from_secs(60));
            })
        });
        assert_eq!(found, None);
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        drop(release);
        runtime.shutdown_background();
    }
}
