//! The port to name servers, and the system's own resolver.
//!
//! The system's call cannot be ended: on a thread of the runtime's it would hold up the end of the program for as
//! long as a name server is silent. Nobody waits for a thread of ours; whoever asks bounds the wait for it.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

/// Turns a name into addresses. Called once per connection: what it says is checked, and used, and not asked again.
pub trait Resolver: Send + Sync {
    /// The addresses of `name`, best first. Cancel safe.
    ///
    /// # Errors
    /// The system's, e.g. that there is no such name.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// `getaddrinfo`, on a thread of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let (sender, receiver) = oneshot::channel();
            let name = name.to_owned();
            let resolve = move || {
                let found = (name.as_str(), 0).to_socket_addrs();
                let addresses = found.map(|found| found.map(|address| address.ip()).collect());
                // Nobody may wait any more.
                drop(sender.send(addresses));
            };
            std::thread::Builder::new().name("resolver".to_owned()).spawn(resolve)?;
            receiver.await.map_err(io::Error::other)?
        })
    }
}
