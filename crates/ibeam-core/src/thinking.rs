//! The thinking in a conversation: what is sent back to the model, and what is left out.
//!
//! Pure. Thinking may only be left out from the start of a conversation, and never comes back: a service that checks it
//! accepts neither a gap nor a block that later answers were made without.

use std::sync::Arc;

use ibeam_protocol::{Block, Message};

use crate::history::History;

/// Whether a block is thinking that later requests contain. The writers of requests decide for which services.
pub(crate) fn is_sent_back(block: &Block) -> bool {
    matches!(block, Block::Thinking { original: Some(_), .. })
}

/// Whether a message has thinking that later requests contain.
pub(crate) fn has_thinking(message: &Message) -> bool {
    match message {
        Message::Assistant(blocks) => blocks.iter().any(is_sent_back),
        Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::ToolResults(_) => false,
    }
}

/// Whether a block is nothing but the signature of what follows it, as Google's services send the thinking that led to a
/// call.
fn is_signature(block: &Block) -> bool {
    let fields = match block {
        Block::Opaque(original) => original.raw.as_object(),
        Block::Text(_) | Block::Thinking { .. } | Block::ToolCall(_) => None,
    };
    fields.is_some_and(|fields| {
        fields.len() == 1 && fields.keys().all(|name| name.to_lowercase().ends_with("signature"))
    })
}

/// Whether a message has thinking that later requests contain, or signatures of it.
pub(crate) fn has_signed_thinking(message: &Message) -> bool {
    match message {
        Message::Assistant(blocks) => blocks.iter().any(|block| is_sent_back(block) || is_signature(block)),
        Message::User(_) | Message::ToolResults(_) | Message::Instructions(_) | Message::Update(_) => false,
    }
}

/// Removes the thinking of messages. A message of thinking alone stays, without blocks: no request contains it, and the
/// messages keep their positions.
pub(crate) fn omit_thinking<'a>(messages: impl Iterator<Item = &'a mut Arc<Message>>) {
    for message in messages {
        if let Message::Assistant(blocks) = message.as_ref()
            && has_signed_thinking(message)
        {
            let is_kept = |block: &&Block| !is_sent_back(block) && !is_signature(block);
            let rest = blocks.iter().filter(is_kept).cloned().collect();
            *message = Arc::new(Message::Assistant(rest));
        }
    }
}

/// Whether the recorded blocks of an answer differ from the received ones up to its last thinking.
pub(crate) fn changes_before_thinking(received: &[Block], recorded: &[Block]) -> bool {
    let is_same = |(received, recorded): &(&Block, &Block)| match (received, recorded) {
        // The readable text is not sent back.
        (Block::Thinking { original: received, .. }, Block::Thinking { original: recorded, .. }) => {
            received == recorded
        }
        (received, recorded) => received == recorded,
    };
    let same = received.iter().zip(recorded).take_while(is_same).count();
    received.iter().rposition(is_sent_back).is_some_and(|last| same <= last)
}

/// Returns how many messages, from the oldest, have thinking that its service would refuse: all up to the last answer
/// whose thinking was made after another prefix. `prefixes` are the fingerprints before each of the messages.
pub(crate) fn refused_messages(history: &History, prefixes: &[u64]) -> usize {
    let answers = history.messages().iter().zip(prefixes).enumerate();
    let refused = answers
        .rev()
        .find(|(index, (message, prefix))| has_thinking(message) && history.prefix(*index) != Some(**prefix));
    refused.map_or(0, |(index, _)| index + 1)
}
