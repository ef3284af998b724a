//! Keeps the requests to an editor and the commands of the model apart.
//!
//! An editor opens a file by its name, outside the sandbox. A command that runs at that moment could put a link in the
//! place of a directory, and so lead the editor to any file of the user. So no request is made while a command runs, and
//! no command starts while a request is open.

use std::sync::Arc;

use tokio::sync::watch;

/// The commands and the requests of all sessions that one editor serves. Clones share them.
#[derive(Clone, Debug)]
pub struct EditorLock(Arc<watch::Sender<Holders>>);

#[derive(Debug, Default)]
struct Holders {
    commands: usize,
    requests: usize,
}

impl Default for EditorLock {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Holders::default())))
    }
}

impl EditorLock {
    /// Waits until no request is open. No request is made until the permit is dropped. Cancel safe.
    pub(crate) async fn begin_command(&self) -> CommandPermit {
        let mut holders = self.0.subscribe();
        let begin = |holders: &mut Holders| {
            let is_free = holders.requests == 0;
            holders.commands += usize::from(is_free);
            is_free
        };
        while !self.0.send_if_modified(begin) {
            // `self` owns the sender, so only the end of the requests ends the wait.
            drop(holders.wait_for(|holders| holders.requests == 0).await);
        }
        CommandPermit(self.clone())
    }

    /// Returns the permit for requests, unless a command runs. No command starts until it is dropped.
    pub(crate) fn try_begin_request(&self) -> Option<RequestPermit> {
        let is_free = self.0.send_if_modified(|holders| {
            let is_free = holders.commands == 0;
            holders.requests += usize::from(is_free);
            is_free
        });
        is_free.then(|| RequestPermit(self.clone()))
    }
}

/// A command that runs, or is about to start.
#[derive(Debug)]
pub(crate) struct CommandPermit(EditorLock);

impl Drop for CommandPermit {
    fn drop(&mut self) {
        self.0.0.send_modify(|holders| holders.commands -= 1);
    }
}

/// A call that makes requests to the editor.
#[derive(Debug)]
pub(crate) struct RequestPermit(EditorLock);

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.0.0.send_modify(|holders| holders.requests -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_command_waits_for_the_requests_and_refuses_new_ones() {
        let lock = EditorLock::default();
        let requests = [lock.try_begin_request().unwrap(), lock.try_begin_request().unwrap()];
        let waiting = tokio::spawn({
            let lock = lock.clone();
            async move { lock.begin_command().await }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!waiting.is_finished());
        drop(requests);
        let command = waiting.await.unwrap();
        assert!(lock.try_begin_request().is_none());
        let second = lock.begin_command().await;
        drop(command);
        assert!(lock.try_begin_request().is_none());
        drop(second);
        assert!(lock.try_begin_request().is_some());
    }
}
