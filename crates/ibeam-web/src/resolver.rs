//! Resolution of host names: the trait, and the resolver of the system.
//!
//! A call of `getaddrinfo` cannot be cancelled. On a thread of the runtime it would delay the end of the program while
//! a name server does not answer. So it runs on its own thread. The program does not wait for this thread when it ends,
//! and the caller limits the wait for the answer.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

/// Resolves names to addresses. It is called once per connection, so that the checked addresses are the ones used.
pub trait Resolver: Send + Sync {
    /// Returns the addresses of `name`, best first. Cancel safe.
    ///
    /// # Errors
    /// The errors of the system, for example for a name that does not exist.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the system, `getaddrinfo`, on its own thread.
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
                // The receiver may have been dropped.
                drop(sender.send(addresses));
            };
            std::thread::Builder::new().name("resolver".to_owned()).spawn(resolve)?;
            receiver.await.map_err(io::Error::other)?
        })
    }
}
