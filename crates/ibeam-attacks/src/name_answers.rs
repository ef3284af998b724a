//! The addresses of a name in a case, one after the other.

use std::net::Ipv4Addr;

/// A public address. In the network of a case it belongs to the loopback device, so that connections are detected and
/// nothing leaves the machine.
pub(crate) const PUBLIC_ADDRESS: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
/// A public address on which nothing listens.
const PUBLIC_WITHOUT_LISTENER: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 35);

/// The answers to queries for one name. The last answer is repeated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameAnswers(Vec<Ipv4Addr>);

impl NameAnswers {
    /// Parses `127.0.0.1`, `127.0.0.1:PORT`, `public`, or several of them: `first public, then 127.0.0.1`.
    ///
    /// # Errors
    /// A text of another form.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let unknown = || format!("the runner does not know the resolution `{text}`");
        let words = text.split([',', ' ', ';', '>']).filter(|word| !word.is_empty());
        let mut answers = Vec::new();
        for word in words {
            match word {
                "first" | "then" | "afterwards" | "and" | "-" | "always" => {}
                "public" => answers.push(PUBLIC_WITHOUT_LISTENER),
                "private" | "loopback" | "localhost" => answers.push(Ipv4Addr::LOCALHOST),
                word => {
                    let address = word.split_once(':').map_or(word, |(address, _)| address);
                    answers.push(address.parse().map_err(|_| unknown())?);
                }
            }
        }
        if answers.is_empty() { Err(unknown()) } else { Ok(Self(answers)) }
    }

    /// Returns the answer to the n-th query, from 0.
    pub(crate) fn at(&self, question: usize) -> Ipv4Addr {
        self.0.get(question).or(self.0.last()).copied().unwrap_or(PUBLIC_WITHOUT_LISTENER)
    }

    /// Whether the answers differ over time.
    pub(crate) fn is_changing(&self) -> bool {
        self.0.len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_one_after_the_other() {
        let answers = NameAnswers::parse("first public, then 127.0.0.1").unwrap();
        assert!(answers.is_changing());
        assert_eq!(
            [answers.at(0), answers.at(1), answers.at(7)],
            [PUBLIC_WITHOUT_LISTENER, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST]
        );
        let fixed = NameAnswers::parse("127.0.0.1:4711").unwrap();
        assert!(!fixed.is_changing());
        assert_eq!(fixed.at(3), Ipv4Addr::LOCALHOST);
        assert!(NameAnswers::parse("somewhere").is_err());
        assert!(NameAnswers::parse("").is_err());
    }
}
