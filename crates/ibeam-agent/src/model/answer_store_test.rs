use std::sync::Arc;

use ibeam_protocol::StopReason;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// The place at which a process is killed, in the order in which an answer passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KillPoint {
    InFlight,
    Stored,
    Recorded,
}

fn kill_point() -> impl Strategy<Value = KillPoint> {
    prop_oneof![Just(KillPoint::InFlight), Just(KillPoint::Stored), Just(KillPoint::Recorded)]
}

fn request(messages: &[Message]) -> ModelRequest {
    ModelRequest {
        system: "be good".into(),
        tools: Arc::default(),
        messages: messages.iter().cloned().map(Arc::new).collect(),
        max_output_tokens: None,
        answer_schema: None,
        effort: None,
    }
}

fn answer(text: &str) -> Answer {
    let blocks = vec![Block::Text(text.to_owned())];
    Answer { blocks, stop: StopReason::EndTurn, refusal: None, usage: None, request_id: None }
}

proptest! {
    /// Each process continues with what is recorded, and is killed at a point of some step. Answers have texts that no
    /// other has; with `is_repetitive` all are the same.
    #[test]
    fn no_answer_that_arrived_whole_is_requested_again(
        kills in vec((0_usize..3, kill_point()), 0..8),
        is_repetitive: bool,
    ) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("answers.ndjson");
        let redactor = Redactor::default();
        let (mut requested, mut in_flight) = (0, 0);
        let mut recorded = vec![Message::User(vec!["do it".into()])];
        let steps = 6;
        let mut kills = kills.into_iter();
        while recorded.len() <= steps {
            let store = AnswerStore::open(&path);
            let mut kill = kills.next();
            while recorded.len() <= steps {
                let point = match &mut kill {
                    Some((0, point)) => Some(*point),
                    Some((left, _)) => { *left -= 1; None }
                    None => None,
                };
                let request = request(&recorded);
                let key = request_key("m", &request);
                let answer = match store.take(&key, &request) {
                    Some(answer) => answer,
                    None => {
                        requested += 1;
                        if point == Some(KillPoint::InFlight) {
                            in_flight += 1;
                            break;
                        }
                        let answer = answer(&if is_repetitive { "again".to_owned() } else { requested.to_string() });
                        store.store(key, &answer, &redactor).unwrap();
                        answer
                    }
                };
                if point == Some(KillPoint::Stored) {
                    break;
                }
                recorded.push(Message::Assistant(answer.blocks));
                if point == Some(KillPoint::Recorded) {
                    break;
                }
            }
        }
        prop_assert_eq!(requested, steps + in_flight);
    }
}

#[test]
fn a_process_gets_other_answers_to_its_own_requests_and_each_earlier_answer_once() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("answers.ndjson");
    let request = request(&[Message::User(vec!["vote".into()])]);
    let key = || request_key("m", &request);
    let first = AnswerStore::open(&path);
    for text in ["yes", "no"] {
        assert_eq!(first.take(&key(), &request), None);
        first.store(key(), &answer(text), &Redactor::default()).unwrap();
    }
    // A line that a full disk cut spoils no other.
    OpenOptions::new().append(true).open(&path).unwrap().write_all(br#"{"request":"x"#).unwrap();
    let secret = Redactor::new(["sk-0123456789abcdef".to_owned()]);
    first.store(key(), &answer("it is sk-0123456789abcdef"), &secret).unwrap();
    first.store(key(), &Answer { blocks: Vec::new(), ..answer("") }, &secret).unwrap();
    first.store(key(), &answer("maybe"), &secret).unwrap();
    let next = AnswerStore::open(&path);
    assert_eq!(next.take(&request_key("other", &request), &request), None);
    for text in ["yes", "no", "maybe"] {
        assert_eq!(next.take(&key(), &request), Some(answer(text)));
    }
    assert_eq!(next.take(&key(), &request), None);
}
