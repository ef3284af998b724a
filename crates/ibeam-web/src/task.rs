//! A task that ends with whoever holds it.

use tokio::task::JoinHandle;

/// A spawned task; dropping it aborts the task.
#[derive(Debug)]
pub(crate) struct Task(Option<JoinHandle<()>>);

impl Task {
    /// Starts `work`; what it gives is nobody's concern.
    pub(crate) fn spawn<W>(work: W) -> Self
    where
        W: Future<Output: Send + 'static> + Send + 'static,
    {
        Self(Some(tokio::spawn(async move {
            drop(work.await);
        })))
    }

    /// Leaves the task to its own end.
    pub(crate) fn end_by_itself(mut self) {
        self.0 = None;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
