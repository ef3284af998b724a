//! A connection between two requests.
//!
//! Tools may run for minutes. Services close connections whose pings are not answered, so a task answers them.

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::socket::Socket;

/// A connection without a request. Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct IdleSocket {
    /// Dropped to end the task.
    stop: oneshot::Sender<()>,
    task: JoinHandle<Option<Socket>>,
}

impl IdleSocket {
    pub(super) fn new(socket: Socket) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(answer_pings(socket, stopped)) }
    }

    /// Returns the connection; `None` if it was closed in the meantime.
    pub(super) async fn take(self) -> Option<Socket> {
        drop(self.stop);
        self.task.await.ok().flatten()
    }
}

/// Answers pings until `stopped` ends, and returns the connection unless it was closed.
async fn answer_pings(mut socket: Socket, mut stopped: oneshot::Receiver<()>) -> Option<Socket> {
    loop {
        tokio::select! {
            biased;
            // An event between two responses belongs to none of them.
            received = socket.receive() => drop(received.ok()?),
            _ = &mut stopped => return Some(socket),
        }
    }
}
