//! What the schemas of contract 2 say otherwise.

use serde_json::Value;

use super::{Document, SchemaTarget, tagged, text};
use crate::wire::Segment;
use ibeam_wire::Contract;

const TEXT: &str = "What `--output-format text` prints, for people; do not parse it: the final message and nothing else. A \
    run that failed prints nothing. Control characters are shown as escapes, but for line ends and tabs.";

const RESULT: &str = "The texts of all segments, in order, with nothing in between.";

/// Makes a schema of contract 1 one of contract 2.
pub(super) fn revise(of: SchemaTarget, document: &mut Document) {
    match of {
        SchemaTarget::Text => document.body = text(TEXT),
        SchemaTarget::StreamJson => {
            let segment = Document::new("AssistantEvent", tagged::<Segment>("assistant"));
            document.definitions.extend(segment.definitions);
            document.definitions.insert("AssistantEvent".to_owned(), segment.body);
            document.say("InitExtras", "contract", "const", Contract::Two.as_str());
            document.say("ResultEvent", "result", "description", RESULT);
        }
        SchemaTarget::Json | SchemaTarget::Error => {}
    }
}

impl Document {
    /// Sets a keyword of a key.
    fn say(&mut self, definition: &str, key: &str, keyword: &str, word: &str) {
        let properties = self.definitions.get_mut(definition).and_then(|it| it.get_mut("properties"));
        if let Some(Value::Object(key)) = properties.and_then(|properties| properties.get_mut(key)) {
            key.insert(keyword.to_owned(), Value::from(word));
        }
    }
}
