//! Lines that people read: reports of sub-commands, headings of a page, texts of the screen.
//!
//! The types are made of the headings and messages of `locales/en.ftl` by `build/line_types.rs`. The tag of a variant is the
//! end of its message id, and its fields are the arguments, as [`variant_message`](super::message::variant_message) derives
//! them. A new line is one message in each locale.

use serde::Serialize;

/// The lines of one report. The message id of a line starts with `PREFIX`.
pub trait CatalogueLine: Serialize {
    /// The message id without the tag of the variant.
    const PREFIX: &'static str;
}

include!(concat!(env!("OUT_DIR"), "/line_types.rs"));
