//! What happens in a stream, between a decoder and an encoder.

use serde_json::Value;

/// A head, a call or an end, in the form of its dialect: an object whose keys are the events that it stands in.
pub(crate) type Card = Value;

/// What a card is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Init,
    Call,
    End,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// The run begins. Once, first.
    Init { session: String, card: Card },
    /// What was asked, in blocks.
    Prompt(Vec<String>),
    /// A piece of the answer.
    Text(Text),
    /// The model thinks.
    Thought(String),
    /// A call begins; its card has no result.
    Started(Call),
    /// A call has ended; its card is whole.
    Ended(Call),
    /// The run is over. Once, last.
    End(Card),
}

/// A piece of the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// Milliseconds since 1970.
    pub(crate) at: Option<u64>,
    /// The model's answer that it is part of.
    pub(crate) answer: Option<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    /// The model's answer that it is part of.
    pub(crate) answer: Option<String>,
    /// Milliseconds since 1970.
    pub(crate) at: Option<u64>,
    pub(crate) card: Card,
}

/// What stands beside the cards. A dialect has a place for it or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aside {
    /// The prompt.
    Prompt,
    /// That the prompt has several blocks.
    Blocks,
    Thought,
    /// When a piece of text came.
    TextAt,
    /// Which answer of the model a text is part of.
    TextAnswer,
    StartAt,
    EndAt,
    /// Which answer of the model a call is part of.
    CallAnswer,
    /// A whole call.
    Call,
    /// Where a piece of text ends and the next begins.
    Pieces,
}
