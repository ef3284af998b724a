//! Names that a person has pinned to an address: `network.resolve.NAME = "ADDRESS[:PORT]"`.
//!
//! A pinned name is not resolved, and its address may be private, because a person has chosen it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use url::Host;

use crate::host;

/// A pin that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPin {
    /// The key is not a host name.
    #[error("`{name}` is not the name of a host, such as `docs.example.org`")]
    Name {
        /// The key.
        name: String,
    },
    /// The value is not an address.
    #[error(
        "`{value}` should be an address, or an address and a port: `127.0.0.1`, `127.0.0.1:8080`, `[::1]:8080`"
    )]
    Address { value: String },
}

/// The address of a pinned name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pin {
    address: IpAddr,
    /// The port that replaces the requested one.
    port: Option<u16>,
}

impl Pin {
    /// Returns the socket address for a connection to `port` of the name.
    pub(crate) fn socket_address(self, port: u16) -> SocketAddr {
        SocketAddr::new(self.address, self.port.unwrap_or(port))
    }
}

#[derive(Clone, Debug, Default)]
pub struct PinnedHosts(BTreeMap<String, Pin>);

impl PinnedHosts {
    /// Pins `name` to `value`, which is `ADDRESS` or `ADDRESS:PORT`. Replaces an earlier pin of the same name.
    ///
    /// # Errors
    /// `InvalidPin` for an invalid name or value.
    pub fn insert(&mut self, name: &str, value: &str) -> Result<(), InvalidPin> {
        let host = host::parse_canonical(name).ok_or_else(|| InvalidPin::Name { name: name.to_owned() })?;
        let pin = parse_pin(value.trim()).ok_or_else(|| InvalidPin::Address { value: value.to_owned() })?;
        self.0.insert(host.to_string(), pin);
        Ok(())
    }

    pub(crate) fn get(&self, host: &Host) -> Option<Pin> {
        self.0.get(&host.to_string()).copied()
    }
}

fn parse_pin(value: &str) -> Option<Pin> {
    if let Ok(socket) = value.parse::<SocketAddr>() {
        return (socket.port() != 0).then_some(Pin { address: socket.ip(), port: Some(socket.port()) });
    }
    let bare = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(value);
    bare.parse().ok().map(|address| Pin { address, port: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expect: Option<&str>) {
        let mut pins = PinnedHosts::default();
        let pinned = pins.insert("Docs.Example.test", value).ok().map(|()| {
            pins.get(&host::parse_canonical("docs.example.test").unwrap())
                .unwrap()
                .socket_address(443)
                .to_string()
        });
        assert_eq!(pinned.as_deref(), expect, "{value:?}");
    }

    #[test]
    fn a_pin_is_an_address_with_an_optional_port() {
        check("127.0.0.1", Some("127.0.0.1:443"));
        check("127.0.0.1:8080", Some("127.0.0.1:8080"));
        check(" ::1 ", Some("[::1]:443"));
        check("[::1]", Some("[::1]:443"));
        check("[::1]:8080", Some("[::1]:8080"));
        for wrong in ["", "localhost", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "127.1", "[127.0.0.1"]
        {
            check(wrong, None);
        }
    }

    #[test]
    fn the_error_of_a_pin_names_the_invalid_part() {
        let error =
            |name: &str, value: &str| PinnedHosts::default().insert(name, value).unwrap_err().to_string();
        assert!(error("http://a", "127.0.0.1").starts_with("`http://a` is not the name of a host"));
        assert!(error("a", "b").starts_with("`b` should be an address"));
    }
}
