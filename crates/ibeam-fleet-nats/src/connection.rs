//! The connection to the servers: credentials, TLS, and the thread that moves the bytes.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use ibeam_fleet::QueueError;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::address::QueueAddress;
use crate::error::service;
use crate::store::RETRY_TIMEOUT;

/// The time in which the server should answer a request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause between two attempts to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The proof of who a client is. Files are read when it connects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum QueueCredentials {
    /// No proof.
    #[default]
    None,
    /// A credentials file: a user's JWT and its key.
    File(PathBuf),
    /// A file with the seed of an nkey.
    Nkey(PathBuf),
}

#[derive(Clone, Debug, Default)]
pub struct QueueOptions {
    /// The proof of who the client is.
    pub credentials: QueueCredentials,
    /// A file with further certificates of authorities.
    pub ca_file: Option<PathBuf>,
}

/// A connection, and the thread that serves it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    handle: Handle,
    /// Ends the thread when it is dropped.
    _end: oneshot::Sender<()>,
}

impl Connection {
    /// Connects to one of the servers.
    pub(crate) fn open(address: &QueueAddress, options: &QueueOptions) -> Result<Self, QueueError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| service("runtime", &error))?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("queue".to_owned());
        let started = thread.spawn(move || {
            // The sender sends nothing; it is dropped.
            let _ = runtime.block_on(ended);
        });
        started.map_err(|error| service("thread", &error))?;
        let options = connect_options(options).map_err(|error| service("credentials", &error))?;
        let client = handle.block_on(connect(address, options))?;
        Ok(Self { client, handle, _end: end })
    }

    /// Returns the means to execute requests while the queue itself is borrowed.
    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Executes requests on the connection.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.handle.block_on(future)
    }
}

/// Connects to one of the servers. A cluster whose servers do not answer may be about to come back.
async fn connect(address: &QueueAddress, options: ConnectOptions) -> Result<Client, QueueError> {
    let what = address.servers.join(",");
    let start = Instant::now();
    loop {
        let connecting = options.clone().connect(address.servers.clone());
        let (error, may_pass) = match tokio::time::timeout(REQUEST_TIMEOUT * 2, connecting).await {
            Ok(Ok(client)) => return Ok(client),
            Ok(Err(error)) => {
                let may_pass = matches!(error.kind(), ConnectErrorKind::Io | ConnectErrorKind::TimedOut);
                (service(&what, &error), may_pass)
            }
            Err(error) => (service(&what, &error), true),
        };
        if address.servers.len() == 1 || !may_pass || start.elapsed() > RETRY_TIMEOUT {
            return Err(error);
        }
        tokio::time::sleep(LONGEST_PAUSE / 4).await;
    }
}

fn connect_options(options: &QueueOptions) -> io::Result<ConnectOptions> {
    let mut connect = ConnectOptions::new()
        .name("ibeam")
        .request_timeout(Some(REQUEST_TIMEOUT))
        .connection_timeout(REQUEST_TIMEOUT)
        .max_reconnects(None)
        .reconnect_delay_callback(|attempts| {
            let attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
            LONGEST_PAUSE.min(Duration::from_millis(50).saturating_mul(attempts))
        });
    connect = match &options.credentials {
        QueueCredentials::None => connect,
        QueueCredentials::File(path) => connect.credentials(&std::fs::read_to_string(path)?)?,
        QueueCredentials::Nkey(path) => connect.nkey(std::fs::read_to_string(path)?.trim().to_owned()),
    };
    if let Some(path) = &options.ca_file {
        connect = connect.add_root_certificates(path.clone());
    }
    Ok(connect)
}
