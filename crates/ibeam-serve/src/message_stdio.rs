//! stdin and stdout of a process that another program started, as streams of bytes for the connection.
//!
//! Both are read and written on threads of their own: the other program may pass files, for which the system has no
//! readiness.

use std::fs::File;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// The size of one read.
const CHUNK_BYTES: usize = 64 << 10;
/// The number of chunks that wait for the connection.
const WAITING_CHUNKS: usize = 4;
/// Maximum number of lines that one write contains.
const MAX_LINES_PER_WRITE: usize = 64;

/// stdin, read on another thread.
pub(super) struct MessageInput {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// The number of bytes of the chunk that were returned.
    used: usize,
}

impl MessageInput {
    /// Starts the thread, which ends with stdin or with the process.
    ///
    /// # Errors
    /// The system's error when no thread can be started.
    pub(super) fn start() -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(WAITING_CHUNKS);
        thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut chunk = vec![0; CHUNK_BYTES];
                let read = match stdin.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(read) => {
                        chunk.truncate(read);
                        Ok(chunk)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let has_failed = read.is_err();
                if sender.blocking_send(read).is_err() || has_failed {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, chunk: Vec::new(), used: 0 })
    }
}

impl AsyncRead for MessageInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.used == self.chunk.len() {
            match ready!(self.chunks.poll_recv(context)) {
                None => return Poll::Ready(Ok(())),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                Some(Ok(chunk)) => {
                    self.chunk = chunk;
                    self.used = 0;
                }
            }
        }
        let rest = self.chunk.get(self.used..).unwrap_or_default();
        let part = rest.get(..buffer.remaining()).unwrap_or(rest);
        buffer.put_slice(part);
        self.used += part.len();
        Poll::Ready(Ok(()))
    }
}

/// Starts the thread that writes the lines of the connection to `stdout`. Calls `on_failure` when that fails. The returned
/// receiver ends when the last line is written.
///
/// # Errors
/// The system's error when no thread can be started.
pub(super) fn write_stdout(
    mut stdout: File,
    mut lines: mpsc::Receiver<Vec<u8>>,
    on_failure: impl FnOnce(&io::Error) + Send + 'static,
) -> io::Result<mpsc::Receiver<()>> {
    let (written, end) = mpsc::channel(1);
    thread::Builder::new().name("stdout".to_owned()).spawn(move || {
        let _written: mpsc::Sender<()> = written;
        let mut batch = Vec::new();
        while lines.blocking_recv_many(&mut batch, MAX_LINES_PER_WRITE) > 0 {
            if let Err(error) = stdout.write_all(&batch.concat()) {
                return on_failure(&error);
            }
            batch.clear();
        }
    })?;
    Ok(end)
}
