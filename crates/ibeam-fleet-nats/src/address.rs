//! The address of a queue: servers and the name of a fleet.

/// The name of a fleet whose address has none.
const DEFAULT_FLEET: &str = "default";
/// The number of characters of the longest name of a fleet.
const MAX_NAME_CHARS: usize = 64;

/// The address of a queue, such as `tls://a.example.com:4222,b.example.com:4222/evals`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueAddress {
    /// The URLs of servers of one cluster.
    pub(crate) servers: Vec<String>,
    pub(crate) fleet: String,
}

/// The reason for which a text is not the address of a queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// The scheme is neither `nats` nor `tls`.
    #[error("a queue should begin with `nats://` or `tls://`")]
    Scheme,
    /// The address has a user or a password, which other processes could read on the command line.
    #[error("a queue should have no user and no password; use a credentials file or an nkey file")]
    Secret,
    /// A server is missing.
    #[error("a queue should name a server")]
    NoServer,
    /// The name of the fleet has other characters than letters, digits, `-` and `_`.
    #[error("the name of a fleet should have at most {MAX_NAME_CHARS} letters, digits, `-` and `_`")]
    Fleet,
}

impl QueueAddress {
    /// Parses an address.
    ///
    /// # Errors
    /// The reason for which it is invalid.
    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        let (scheme, rest) = text.split_once("://").ok_or(InvalidAddress::Scheme)?;
        if scheme != "nats" && scheme != "tls" {
            return Err(InvalidAddress::Scheme);
        }
        if rest.contains('@') {
            return Err(InvalidAddress::Secret);
        }
        let (hosts, fleet) = rest.split_once('/').unwrap_or((rest, ""));
        let fleet = if fleet.is_empty() { DEFAULT_FLEET } else { fleet };
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if fleet.len() > MAX_NAME_CHARS || !fleet.chars().all(is_allowed) {
            return Err(InvalidAddress::Fleet);
        }
        if hosts.split(',').any(str::is_empty) {
            return Err(InvalidAddress::NoServer);
        }
        let servers = hosts.split(',').map(|host| format!("{scheme}://{host}")).collect();
        Ok(Self { servers, fleet: fleet.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_servers_and_a_fleet() {
        let address = QueueAddress::parse("tls://a.example.com:4222,b.example.com/evals").unwrap();
        assert_eq!(address.servers, ["tls://a.example.com:4222", "tls://b.example.com"]);
        assert_eq!(address.fleet, "evals");
        assert_eq!(QueueAddress::parse("nats://a:1").unwrap().fleet, "default");
    }

    #[test]
    fn an_invalid_address_has_a_reason() {
        for (text, reason) in [
            ("a:4222", InvalidAddress::Scheme),
            ("http://a", InvalidAddress::Scheme),
            ("nats://user:secret@a", InvalidAddress::Secret),
            ("nats:///evals", InvalidAddress::NoServer),
            ("nats://a,,b", InvalidAddress::NoServer),
            ("nats://a/x/y", InvalidAddress::Fleet),
            ("nats://a/x.y", InvalidAddress::Fleet),
        ] {
            assert_eq!(QueueAddress::parse(text), Err(reason), "{text}");
        }
    }
}
