//! The connection to the servers: credentials, TLS, and the thread that moves the bytes.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use ibeam_fleet::QueueError;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::address::QueueAddress;
use crate::error::service;

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

/// The options of a connection.
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
    ///
    /// # Errors
    /// `Service`.
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
        let servers = address.servers.clone();
        let connect =
            async move { tokio::time::timeout(REQUEST_TIMEOUT * 2, options.connect(servers)).await };
        let client = match handle.block_on(connect) {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(service(&address.servers.join(","), &error)),
            Err(error) => return Err(service(&address.servers.join(","), &error)),
        };
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
