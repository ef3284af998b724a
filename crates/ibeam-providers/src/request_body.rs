//! Request bodies, built incrementally: a conversation only grows, so that a body reuses the bytes of the one before it.
//!
//! Pure. The bytes are the same as those of a body that is built from scratch; see [`build_request_body`].

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use ibeam_core::{JsonSchema, ModelRequest};
use ibeam_protocol::{Message, ToolSpec};

use crate::wire_protocol::{RequestSettings, StablePrefix, WireProtocol};

/// The end of a body, after the messages.
const BODY_END: &[u8] = b"]}";

/// Returns the JSON body of `request`.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub fn build_request_body(
    protocol: &dyn WireProtocol,
    request: &ModelRequest,
    settings: &RequestSettings<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    RequestBodyBuilder::default().build(protocol, request, settings).map(Vec::from)
}

/// Builds the bodies of one provider. Protocol and settings must be the same for all of them.
#[derive(Default)]
pub(crate) struct RequestBodyBuilder {
    last: Option<CachedBody>,
}

/// The last body, and the parts of the request that it depends on.
struct CachedBody {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    max_output_tokens: Option<u32>,
    answer_schema: Option<Arc<JsonSchema>>,
    messages: Vec<Arc<Message>>,
    stable: StablePrefix,
    body: Bytes,
}

impl RequestBodyBuilder {
    /// Builds the body of `request`. The cost depends on the new messages only.
    ///
    /// # Errors
    /// Errors of the serialiser. A conversation cannot cause them.
    pub(crate) fn build(
        &mut self,
        protocol: &dyn WireProtocol,
        request: &ModelRequest,
        settings: &RequestSettings<'_>,
    ) -> Result<Bytes, serde_json::Error> {
        let writer = protocol.request_writer();
        let mut last = match self.last.take().filter(|last| last.is_prefix_of(request)) {
            Some(last) => last,
            None => CachedBody::from_scratch(request, (writer.write_request)(request, settings)?),
        };
        // Reuses the allocation, unless the last request is still being sent.
        let mut body = Vec::from(last.body);
        body.truncate(last.stable.bytes);
        let messages = request.messages.get(last.stable.messages..).unwrap_or_default();
        let StablePrefix { messages, bytes } = (writer.write_messages)(messages, settings, &mut body)?;
        body.extend_from_slice(BODY_END);
        last.stable = StablePrefix { messages: last.stable.messages + messages, bytes };
        last.messages.extend(request.messages.iter().skip(last.messages.len()).cloned());
        last.body = body.into();
        Ok(self.last.insert(last).body.clone())
    }
}

impl CachedBody {
    /// Starts with a body whose last key is the list of messages, without any message of the conversation.
    fn from_scratch(request: &ModelRequest, mut body: Vec<u8>) -> Self {
        body.truncate(body.len().saturating_sub(BODY_END.len()));
        Self {
            system: Arc::clone(&request.system),
            tools: Arc::clone(&request.tools),
            max_output_tokens: request.max_output_tokens,
            answer_schema: request.answer_schema.clone(),
            messages: Vec::new(),
            stable: StablePrefix { messages: 0, bytes: body.len() },
            body: body.into(),
        }
    }

    fn is_prefix_of(&self, request: &ModelRequest) -> bool {
        let is_same =
            |(cached, new): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(cached, new) || cached == new;
        Arc::ptr_eq(&self.system, &request.system)
            && Arc::ptr_eq(&self.tools, &request.tools)
            && self.max_output_tokens == request.max_output_tokens
            && self.answer_schema.as_ref().map(Arc::as_ptr) == request.answer_schema.as_ref().map(Arc::as_ptr)
            && self.messages.len() <= request.messages.len()
            && self.messages.iter().zip(&request.messages).all(is_same)
    }
}

impl fmt::Debug for RequestBodyBuilder {
    /// Writes the size only, because a conversation is private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestBodyBuilder({} bytes)", self.last.as_ref().map_or(0, |last| last.body.len()))
    }
}

#[cfg(test)]
mod tests {
    use ibeam_protocol::{Block, CallId, ToolCall, ToolResult, UserPart};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::model_traits::{CacheForm, InstructionRole, ModelTraits};
    use crate::protocols::{OPENAI_CHAT, PROTOCOLS};
    use crate::reasoning::{Effort, Reasoning};
    use crate::request_rules::{RequestRule, RequestRules};

    /// A model for which every protocol sets cache breakpoints.
    const SETTINGS: RequestSettings<'static> = RequestSettings {
        max_output_tokens: Some(100),
        reasoning: Reasoning { effort: Some(Effort::High), budget: None },
        traits: ModelTraits {
            cache: Some(CacheForm::Points),
            rules: RequestRules::NONE.with(RequestRule::ResultStatus).with(RequestRule::SignedCalls),
            ..ModelTraits::UNKNOWN
        },
        ..RequestSettings::for_unknown_model("anthropic.claude-sonnet-5-5")
    };

    /// The forms of later instructions.
    const ROLES: [Option<InstructionRole>; 3] =
        [None, Some(InstructionRole::System), Some(InstructionRole::Developer)];

    fn request() -> ModelRequest {
        let parameters = json!({ "type": "object" });
        let tool =
            ToolSpec { name: "read".into(), description: "Reads.".into(), parameters: parameters.into() };
        ModelRequest {
            system: "Be brief.".into(),
            tools: Arc::new([tool]),
            messages: Vec::new(),
            max_output_tokens: None,
            answer_schema: None,
            effort: None,
        }
    }

    fn from_scratch(protocol: &dyn WireProtocol, request: &ModelRequest) -> Bytes {
        RequestBodyBuilder::default().build(protocol, request, &SETTINGS).unwrap()
    }

    fn message() -> impl Strategy<Value = Message> {
        let call = |id: String| {
            let id = CallId(id);
            Block::ToolCall(ToolCall { id, name: "read".into(), arguments: json!({ "path": "a\"b" }) })
        };
        let result = |text: String| ToolResult {
            media: Vec::new(),
            call_id: CallId("t".into()),
            name: "read".into(),
            text: text.into(),
            is_error: false,
        };
        let block = prop_oneof![".{0,9}".prop_map(Block::Text), "[a-z:]{0,3}".prop_map(call)];
        prop_oneof![
            prop::collection::vec(".{0,9}".prop_map(UserPart::Text), 0..3).prop_map(Message::User),
            prop::collection::vec(".{0,9}".prop_map(UserPart::Text), 0..3).prop_map(Message::Instructions),
            prop::collection::vec(block, 0..3).prop_map(Message::Assistant),
            prop::collection::vec(".{0,9}".prop_map(result), 0..3).prop_map(Message::ToolResults),
        ]
    }

    proptest! {
        #[test]
        fn an_incremental_body_equals_one_from_scratch(
            steps in prop::collection::vec((prop::collection::vec(message(), 0..4), 0..9_usize), 1..9),
            protocol in prop::sample::select(PROTOCOLS),
            instruction_role in prop::sample::select(ROLES.as_slice()),
        ) {
            let traits = ModelTraits { instruction_role, ..SETTINGS.traits };
            let settings = RequestSettings { traits, ..SETTINGS };
            let mut request = request();
            let mut body = RequestBodyBuilder::default();
            for (new, cut) in steps {
                if cut == 0 {
                    request.messages.truncate(1);
                }
                request.messages.extend(new.into_iter().map(Arc::new));
                if let Some(first) = request.messages.first_mut() {
                    // An equal message at another address.
                    *first = Arc::new(Message::clone(first));
                }
                let expect = RequestBodyBuilder::default().build(protocol, &request, &settings).unwrap();
                prop_assert_eq!(body.build(protocol, &request, &settings).unwrap(), expect);
            }
        }
    }

    /// Earlier messages are neither serialised nor copied again.
    #[track_caller]
    fn check_unmoved(protocol: &dyn WireProtocol) {
        let (mut request, mut body) = (request(), RequestBodyBuilder::default());
        let add_messages = |request: &mut ModelRequest, text: &str| {
            request.messages.push(Arc::new(Message::User(vec![text.into()])));
            request.messages.push(Arc::new(Message::Assistant(vec![Block::Text(text.into())])));
        };
        add_messages(&mut request, &"long ".repeat(1000));
        drop(body.build(protocol, &request, &SETTINGS).unwrap());
        add_messages(&mut request, &"longer ".repeat(1000));
        let before = body.build(protocol, &request, &SETTINGS).unwrap().as_ptr();
        for _ in 0..10 {
            add_messages(&mut request, "short");
            let stable = body.last.as_ref().unwrap().stable.messages;
            assert_eq!(
                body.build(protocol, &request, &SETTINGS).unwrap().as_ptr(),
                before,
                "the same memory"
            );
            assert_eq!(body.last.as_ref().unwrap().stable.messages, stable + 2);
        }
    }

    #[test]
    fn a_turn_costs_only_its_new_messages() {
        for protocol in PROTOCOLS {
            check_unmoved(*protocol);
        }
    }

    #[test]
    fn other_instructions_rebuild_the_body() {
        let mut body = RequestBodyBuilder::default();
        let mut request = request();
        request.messages.push(Arc::new(Message::User(vec!["hi".into()])));
        drop(body.build(OPENAI_CHAT, &request, &SETTINGS).unwrap());
        request.system = "Be long.".into();
        assert_eq!(
            body.build(OPENAI_CHAT, &request, &SETTINGS).unwrap(),
            from_scratch(OPENAI_CHAT, &request)
        );
        request.max_output_tokens = Some(7);
        assert_eq!(
            body.build(OPENAI_CHAT, &request, &SETTINGS).unwrap(),
            from_scratch(OPENAI_CHAT, &request)
        );
    }
}
