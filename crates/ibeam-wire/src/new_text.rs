//! What an `assistant` event adds to the answer, whichever contract its stream keeps.

use crate::digest::TextDigest;
use crate::event::AssistantEvent;

/// Tells new text from text that is said again.
///
/// Under contract 2 with partial output the deltas of a segment are followed by the segment itself. Everywhere else
/// every text is new.
///
/// ```
/// use ibeam_wire::{Event, NewText, ReadError, Reader};
///
/// fn answer(stream: impl std::io::BufRead) -> Result<String, ReadError> {
///     let (mut answer, mut new_text) = (String::new(), NewText::default());
///     for event in Reader::new(stream) {
///         if let Event::Assistant(said) = event? {
///             answer.extend(new_text.of(&said));
///         }
///     }
///     Ok(answer)
/// }
/// # let stream = include_bytes!("../../ibeam-output/tests/samples/es.ndjson");
/// # assert!(answer(&stream[..]).unwrap().starts_with("Voy a le"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct NewText {
    /// The deltas since the last event that was none.
    deltas: TextDigest,
}

impl NewText {
    /// The text of the next `assistant` event; `None` where it repeats the deltas before it.
    pub fn extract(&mut self, event: &AssistantEvent) -> Option<String> {
        let text = event.message.text();
        if event.is_delta() {
            self.deltas.push(&text);
            return Some(text);
        }
        let deltas = std::mem::take(&mut self.deltas);
        (deltas.is_empty() || deltas != TextDigest::from_text(&text)).then_some(text)
    }
}
