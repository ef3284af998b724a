//! A name server for the network of a case: every name of `.test` leads to the listener, no other name exists.
//!
//! Supports the part of the protocol that the C library uses: one question, IPv4 addresses, UDP.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::name_answers::{NameAnswers, PUBLIC_ADDRESS};

/// The address of the server; no other name server has it.
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 53);
const PORT: u16 = 53;

/// A running name server.
pub(crate) struct NameServer {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<String>>,
}

impl NameServer {
    /// Starts a server with these answers.
    pub(crate) fn start(answers: BTreeMap<String, NameAnswers>) -> io::Result<Self> {
        let socket = UdpSocket::bind((ADDRESS, PORT))?;
        socket.set_read_timeout(Some(Duration::from_millis(20)))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serve = move || {
            let mut zone = Zone { answers, query_counts: BTreeMap::new() };
            let mut names = Vec::new();
            let mut question = [0; 1500];
            loop {
                let is_last = stopped.load(Ordering::SeqCst);
                while let Ok((length, from)) = socket.recv_from(&mut question) {
                    let question = question.get(..length).unwrap_or_default();
                    let Some((name, answer)) = zone.answer(question) else { continue };
                    names.push(name);
                    // The client may be gone.
                    drop(socket.send_to(&answer, from));
                }
                if is_last {
                    return names;
                }
            }
        };
        let thread = std::thread::Builder::new().name("names".to_owned()).spawn(serve)?;
        Ok(Self { stop, thread })
    }

    /// Stops the server and returns the names that were queried.
    pub(crate) fn finish(self) -> Vec<String> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap_or_default()
    }
}

/// The names that the server answers.
struct Zone {
    answers: BTreeMap<String, NameAnswers>,
    /// The number of queries for each name.
    query_counts: BTreeMap<String, usize>,
}

impl Zone {
    /// Returns the queried name and the complete answer, or `None` if the message is not a query.
    fn answer(&mut self, question: &[u8]) -> Option<(String, Vec<u8>)> {
        const HEADER: usize = 12;
        const ADDRESS_RECORD: u16 = 1;
        let (name, kind_at) = parse_name(question, HEADER)?;
        let kind = u16::from_be_bytes([*question.get(kind_at)?, *question.get(kind_at + 1)?]);
        let query = question.get(HEADER..kind_at + 4)?;
        let address = (kind == ADDRESS_RECORD).then(|| self.address(&name)).flatten();
        let is_known = address.is_some() || self.exists(&name);
        let mut answer = question.get(..2)?.to_vec();
        answer.extend([0x81, if is_known { 0x80 } else { 0x83 }]);
        answer.extend([0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
        answer.extend(query);
        if let Some(address) = address {
            // The name of the question; class IN, no lifetime, four bytes.
            answer.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
            answer.extend(address.octets());
        }
        Some((name, answer))
    }

    fn exists(&self, name: &str) -> bool {
        self.answers.contains_key(name) || name.ends_with(".test")
    }

    /// Returns the answer to the next query for a name.
    fn address(&mut self, name: &str) -> Option<Ipv4Addr> {
        let count = self.query_counts.entry(name.to_owned()).or_default();
        let question = *count;
        *count += 1;
        let address = self.answers.get(name).map(|answers| answers.at(question));
        address.or_else(|| name.ends_with(".test").then_some(PUBLIC_ADDRESS))
    }
}

/// Parses the name at offset `at`. Returns it in lower case, and the offset of its end.
fn parse_name(message: &[u8], mut at: usize) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            return Some((labels.join("."), at));
        }
        if length > 63 {
            return None;
        }
        labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_lowercase());
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str, kind: u8) -> Vec<u8> {
        let mut question = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            question.push(u8::try_from(label.len()).unwrap());
            question.extend(label.bytes());
        }
        question.extend([0, 0, kind, 0, 1]);
        question
    }

    #[track_caller]
    fn check(zone: &mut Zone, name: &str, kind: u8, code: u8, address: Option<[u8; 4]>) {
        let (queried, answer) = zone.answer(&question(name, kind)).unwrap();
        assert_eq!(queried, name.to_lowercase());
        assert_eq!((&answer[..2], answer[3] & 15), (&[0xab, 0xcd][..], code), "{answer:?}");
        let answered_address = (answer[7] == 1).then(|| answer[answer.len() - 4..].try_into().unwrap());
        assert_eq!(answered_address, address, "{answer:?}");
    }

    #[test]
    fn only_names_of_test_exist() {
        let answers = [("a.test".to_owned(), NameAnswers::parse("public, then 127.0.0.1").unwrap())];
        let mut zone = Zone { answers: answers.into(), query_counts: BTreeMap::new() };
        check(&mut zone, "Evil.test", 1, 0, Some(PUBLIC_ADDRESS.octets()));
        check(&mut zone, "evil.test", 28, 0, None);
        check(&mut zone, "leak.example.invalid", 1, 3, None);
        check(&mut zone, "a.test", 28, 0, None);
        check(&mut zone, "a.test", 1, 0, Some([93, 184, 216, 35]));
        check(&mut zone, "a.test", 1, 0, Some([127, 0, 0, 1]));
        assert!(zone.answer(b"no question").is_none());
    }
}
