//! What a name leads to in a case: addresses, one after the other.

use std::net::Ipv4Addr;

/// An address of the kind that anybody may connect to. It is one of the loopback device in the network of a case, so
/// that what reaches it is seen, and nothing leaves the machine.
pub(crate) const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
/// The same for what nobody listens on.
const PUBLIC_WITHOUT_LISTENER: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 35);

/// The answers to questions for one name; the last one stays.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameAnswers(Vec<Ipv4Addr>);

impl NameAnswers {
    /// Reads `127.0.0.1`, `127.0.0.1:PORT`, `public`, or several of them: `first public, then 127.0.0.1`.
    ///
    /// # Errors
    /// When it is none of them.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let unknown = || format!("the runner does not know how a name resolves to `{text}`");
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

    /// The answer to the n-th question, from 0.
    pub(crate) fn at(&self, question: usize) -> Ipv4Addr {
        self.0.get(question).or(self.0.last()).copied().unwrap_or(PUBLIC_WITHOUT_LISTENER)
    }

    /// Whether it is not always the same.
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
