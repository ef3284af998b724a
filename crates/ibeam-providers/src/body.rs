//! The body of a request, made from that of the request before: a conversation only grows, and what was said is not
//! written again.
//!
//! Pure. The bytes are those that a body made anew would have; see `Wire::request_body`.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use ibeam_core::ModelRequest;
use ibeam_protocol::{Message, ToolSpec};

use crate::wire::{RequestSettings, Wire};

/// What stands after the messages, on every wire.
const END: &[u8] = b"]}";

/// The body of the last request of a provider, whose wire and settings stay the same.
#[derive(Default)]
pub(crate) struct RequestBody {
    last: Option<Last>,
}

/// How much of some messages is written as it will stay, whatever follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    /// So many of them.
    pub(crate) messages: usize,
    /// Up to this length of the body.
    pub(crate) bytes: usize,
}

struct Last {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    max_output_tokens: Option<u32>,
    said: Vec<Arc<Message>>,
    settled: Settled,
    body: Bytes,
}

impl RequestBody {
    /// The body of `request`. Costs what is new in it.
    ///
    /// # Errors
    /// The serializer's; none that a conversation can cause.
    pub(crate) fn of(
        &mut self,
        wire: Wire,
        request: &ModelRequest,
        settings: &RequestSettings<'_>,
    ) -> Result<Bytes, serde_json::Error> {
        let mut last = match self.last.take().filter(|last| last.goes_on_in(request)) {
            Some(last) => last,
            None => Last::begin(request, wire.body_without_messages(request, settings)?),
        };
        // The very same bytes, once nobody sends them any more.
        let mut body = Vec::from(last.body);
        body.truncate(last.settled.bytes);
        let unsettled = request.messages.get(last.settled.messages..).unwrap_or_default();
        let Settled { messages, bytes } = wire.write_messages(unsettled, settings, &mut body)?;
        body.extend_from_slice(END);
        last.settled = Settled { messages: last.settled.messages + messages, bytes };
        last.said.extend(request.messages.iter().skip(last.said.len()).cloned());
        last.body = body.into();
        Ok(self.last.insert(last).body.clone())
    }
}

impl Last {
    /// A body whose list of messages, its last key, is still empty or holds the instructions.
    fn begin(request: &ModelRequest, mut body: Vec<u8>) -> Self {
        body.truncate(body.len().saturating_sub(END.len()));
        Self {
            system: Arc::clone(&request.system),
            tools: Arc::clone(&request.tools),
            max_output_tokens: request.max_output_tokens,
            said: Vec::new(),
            settled: Settled { messages: 0, bytes: body.len() },
            body: body.into(),
        }
    }

    fn goes_on_in(&self, request: &ModelRequest) -> bool {
        let same =
            |(ours, theirs): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(ours, theirs) || ours == theirs;
        Arc::ptr_eq(&self.system, &request.system)
            && Arc::ptr_eq(&self.tools, &request.tools)
            && self.max_output_tokens == request.max_output_tokens
            && self.said.len() <= request.messages.len()
            && self.said.iter().zip(&request.messages).all(same)
    }
}

impl fmt::Debug for RequestBody {
    /// Tells its size; a conversation is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestBody({} bytes)", self.last.as_ref().map_or(0, |last| last.body.len()))
    }
}

#[cfg(test)]
mod tests {
    use ibeam_protocol::{Block, CallId, ToolCall, ToolResult};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::provider_table::DEFAULT_QUIRKS;

    const SETTINGS: RequestSettings<'static> =
        RequestSettings { model: "m", max_output_tokens: Some(100), quirks: DEFAULT_QUIRKS };

    fn request() -> ModelRequest {
        let parameters = json!({ "type": "object" });
        let tool = ToolSpec { name: "read".into(), description: "Reads.".into(), parameters };
        ModelRequest {
            system: "Be brief.".into(),
            tools: Arc::new([tool]),
            messages: Vec::new(),
            max_output_tokens: None,
        }
    }

    fn anew(wire: Wire, request: &ModelRequest) -> Bytes {
        RequestBody::default().of(wire, request, &SETTINGS).unwrap()
    }

    fn message() -> impl Strategy<Value = Message> {
        let call = |id: String| {
            let id = CallId(id);
            Block::ToolCall(ToolCall { id, name: "read".into(), arguments: json!({ "path": "a\"b" }) })
        };
        let result = |text: String| ToolResult {
            call_id: CallId("t".into()),
            name: "read".into(),
            text: text.into(),
            is_error: false,
        };
        let block = prop_oneof![".{0,9}".prop_map(Block::Text), "[a-z:]{0,3}".prop_map(call)];
        prop_oneof![
            prop::collection::vec(".{0,9}", 0..3).prop_map(Message::User),
            prop::collection::vec(block, 0..3).prop_map(Message::Assistant),
            prop::collection::vec(".{0,9}".prop_map(result), 0..3).prop_map(Message::ToolResults),
        ]
    }

    proptest! {
        /// However a conversation grows, and when it is cut: each body is as if there had been none before it.
        #[test]
        fn a_body_is_what_it_would_be_anew(
            steps in prop::collection::vec((prop::collection::vec(message(), 0..4), 0..9_usize), 1..9),
            wire in prop_oneof![Just(Wire::OpenAi), Just(Wire::Anthropic)],
        ) {
            let mut request = request();
            let mut body = RequestBody::default();
            for (new, cut) in steps {
                if cut == 0 {
                    request.messages.truncate(1);
                }
                request.messages.extend(new.into_iter().map(Arc::new));
                if let Some(first) = request.messages.first_mut() {
                    // Another copy of the same message, as that with the preface is.
                    *first = Arc::new(Message::clone(first));
                }
                prop_assert_eq!(body.of(wire, &request, &SETTINGS).unwrap(), anew(wire, &request));
            }
        }
    }

    /// What was said is neither written nor copied again.
    #[track_caller]
    fn check_unmoved(wire: Wire) {
        let (mut request, mut body) = (request(), RequestBody::default());
        let say = |request: &mut ModelRequest, text: &str| {
            request.messages.push(Arc::new(Message::User(vec![text.into()])));
            request.messages.push(Arc::new(Message::Assistant(vec![Block::Text(text.into())])));
        };
        say(&mut request, &"long ".repeat(1000));
        drop(body.of(wire, &request, &SETTINGS).unwrap());
        say(&mut request, &"longer ".repeat(1000));
        let before = body.of(wire, &request, &SETTINGS).unwrap().as_ptr();
        for _ in 0..10 {
            say(&mut request, "short");
            let settled = body.last.as_ref().unwrap().settled.messages;
            assert_eq!(body.of(wire, &request, &SETTINGS).unwrap().as_ptr(), before, "the same memory");
            assert_eq!(body.last.as_ref().unwrap().settled.messages, settled + 2);
        }
    }

    #[test]
    fn a_turn_costs_what_is_new_in_it() {
        check_unmoved(Wire::OpenAi);
        check_unmoved(Wire::Anthropic);
    }

    #[test]
    fn other_instructions_make_another_body() {
        let mut body = RequestBody::default();
        let mut request = request();
        request.messages.push(Arc::new(Message::User(vec!["hi".into()])));
        drop(body.of(Wire::OpenAi, &request, &SETTINGS).unwrap());
        request.system = "Be long.".into();
        assert_eq!(body.of(Wire::OpenAi, &request, &SETTINGS).unwrap(), anew(Wire::OpenAi, &request));
        request.max_output_tokens = Some(7);
        assert_eq!(body.of(Wire::OpenAi, &request, &SETTINGS).unwrap(), anew(Wire::OpenAi, &request));
    }
}
