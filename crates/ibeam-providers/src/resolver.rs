//! Names to addresses, by the system's resolver on a thread of its own.
//!
//! The system's call cannot be ended: on a thread of the runtime's it would hold up the end of the program for as
//! long as a name server is silent. Nobody waits for a thread of ours; `timeouts.connect` bounds the wait for it.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::oneshot;

/// The system's resolver.
#[derive(Debug)]
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses = resolved(name.as_str().to_owned()).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

async fn resolved(name: String) -> io::Result<Vec<SocketAddr>> {
    let (sender, receiver) = oneshot::channel();
    let resolve = move || {
        let addresses = (name.as_str(), 0).to_socket_addrs().map(Iterator::collect);
        // Nobody may wait any more.
        drop(sender.send(addresses));
    };
    std::thread::Builder::new().name("resolver".to_owned()).spawn(resolve)?;
    receiver.await.map_err(io::Error::other)?
}
