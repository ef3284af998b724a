//! The chain of requests on one connection: which part of the next request the service already has.

use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Answer, Block, Message, StopReason};

/// The last response on a connection, which the next request may continue.
#[derive(Debug)]
pub(super) struct Chain {
    request: Arc<ModelRequest>,
    answer: Vec<Block>,
    response_id: String,
}

impl Chain {
    /// Returns the chain after a complete answer; `None` if the service and the conversation may differ in the answer.
    pub(super) fn new(request: Arc<ModelRequest>, answer: &Answer) -> Option<Self> {
        let is_whole = match answer.stop {
            StopReason::EndTurn | StopReason::ToolUse => true,
            // The conversation leaves out incomplete calls.
            StopReason::MaxTokens | StopReason::Refusal | StopReason::Paused | StopReason::Unknown(_) => {
                false
            }
        };
        let response_id = answer.request_id.clone().filter(|_| is_whole && !answer.blocks.is_empty())?;
        Some(Self { request, answer: answer.blocks.clone(), response_id })
    }

    /// Returns the id of the last response and the messages after it, if `request` continues the conversation.
    pub(super) fn continuation<'a>(&self, request: &'a ModelRequest) -> Option<(&str, &'a [Arc<Message>])> {
        let ModelRequest { system, tools, messages, max_output_tokens, answer_schema, effort } =
            self.request.as_ref();
        let (earlier, later) = request.messages.split_at_checked(messages.len())?;
        let (answer, new) = later.split_first()?;
        let is_same = |(old, new): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(old, new) || old == new;
        let continues = Arc::ptr_eq(system, &request.system)
            && Arc::ptr_eq(tools, &request.tools)
            && *max_output_tokens == request.max_output_tokens
            && *effort == request.effort
            && answer_schema.as_ref().map(Arc::as_ptr) == request.answer_schema.as_ref().map(Arc::as_ptr)
            && messages.iter().zip(earlier).all(is_same)
            // The answer in the conversation may have been redacted.
            && matches!(answer.as_ref(), Message::Assistant(blocks) if *blocks == self.answer)
            && !new.is_empty();
        continues.then_some((self.response_id.as_str(), new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: Vec<Message>) -> ModelRequest {
        ModelRequest {
            system: "".into(),
            tools: Arc::new([]),
            messages: messages.into_iter().map(Arc::new).collect(),
            max_output_tokens: None,
            answer_schema: None,
            effort: None,
        }
    }

    fn answer(stop: StopReason) -> Answer {
        let blocks = vec![Block::Text("two".into())];
        Answer { blocks, stop, refusal: None, usage: None, request_id: Some("resp_1".into()) }
    }

    fn user(text: &str) -> Message {
        Message::User(vec![text.into()])
    }

    /// Returns a request with the settings of `first` and these messages.
    fn later(first: &ModelRequest, messages: Vec<Message>) -> ModelRequest {
        ModelRequest { messages: messages.into_iter().map(Arc::new).collect(), ..first.clone() }
    }

    #[test]
    fn only_a_request_that_repeats_everything_before_is_a_continuation() {
        let first = Arc::new(request(vec![user("one")]));
        let chain = Chain::new(Arc::clone(&first), &answer(StopReason::EndTurn)).unwrap();
        let two = || Message::Assistant(vec![Block::Text("two".into())]);
        let next = later(&first, vec![user("one"), two(), user("three")]);
        let (id, new) = chain.continuation(&next).unwrap();
        assert_eq!((id, new.len(), new[0].as_ref()), ("resp_1", 1, &user("three")));
        for messages in [
            vec![user("one")],
            vec![user("one"), two()],
            vec![user("another"), two(), user("three")],
            vec![user("one"), Message::Assistant(vec![Block::Text("t**".into())]), user("three")],
            vec![user("one"), user("two"), user("three")],
        ] {
            assert!(chain.continuation(&later(&first, messages.clone())).is_none(), "{messages:?}");
        }
        let limited = ModelRequest { max_output_tokens: Some(1), ..next.clone() };
        let instructed = ModelRequest { system: "Be brief.".into(), ..next };
        assert!(chain.continuation(&limited).is_none() && chain.continuation(&instructed).is_none());
    }

    #[test]
    fn an_answer_that_was_cut_is_not_continued() {
        let request = Arc::new(request(vec![user("one")]));
        assert!(Chain::new(Arc::clone(&request), &answer(StopReason::MaxTokens)).is_none());
        let without_id = Answer { request_id: None, ..answer(StopReason::EndTurn) };
        assert!(Chain::new(request, &without_id).is_none());
    }
}
