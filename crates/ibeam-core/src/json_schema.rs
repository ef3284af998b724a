//! JSON Schema 2020-12: reads a schema, and validates the answer of a model against it.
//!
//! Pure and small, because a complete implementation with remote references, formats and other drafts would make the
//! program larger by a tenth. `format` and the `content…` keywords are annotations, as the standard defines them. A
//! keyword that is not supported is an error, so that no keyword is silently without effect: remote references, dynamic
//! references, `$id` below the top level, patterns with look-around or back-references, and other drafts. A schema of
//! draft 7 is accepted where it means the same in 2020-12.

mod json_values;
mod schema_check;
mod schema_validation;

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use ibeam_protocol::{Sentence, json_fault, sentence};
use regex::Regex;
use serde_json::Value;

/// The draft of the validation, and the default of `$schema`.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// An older draft, which many schema generators write. Keywords with another meaning there are rejected.
const DRAFT_7: &str = "http://json-schema.org/draft-07/schema";

/// The number of violations that are reported; more would not help a model or a person.
const MAX_VIOLATIONS: usize = 20;

/// A valid schema.
pub struct JsonSchema {
    document: Value,
    /// The compiled patterns, by their text.
    patterns: BTreeMap<String, Regex>,
    /// The JSON pointers of the anchors, by name.
    anchors: BTreeMap<String, String>,
}

/// A fault of a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {detail}")]
pub struct InvalidSchema {
    /// The JSON pointer of the fault, or its line and column if the text is not JSON.
    pub place: Sentence,
    /// The fault.
    pub detail: Sentence,
}

/// A value that a schema does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The JSON pointer of the value; empty for the whole document.
    pub place: String,
    /// The requirement of the schema.
    pub detail: Sentence,
}

impl Violation {
    /// Returns the place and the requirement as one sentence.
    pub fn sentence(&self) -> Sentence {
        match self.place.as_str() {
            "" => sentence!("the document {what}", what = self.detail),
            place => sentence!("`{place}` {what}", place, what = self.detail),
        }
    }
}

impl Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl JsonSchema {
    /// Parses a schema.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn parse(text: &str) -> Result<Self, InvalidSchema> {
        let document = serde_json::from_str(text).map_err(|error| InvalidSchema {
            place: sentence!("line {line}, column {column}", line = error.line(), column = error.column()),
            detail: json_fault(&error),
        })?;
        Self::new(document)
    }

    /// Checks a schema.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn new(document: Value) -> Result<Self, InvalidSchema> {
        let (patterns, anchors) = schema_check::check(&document)?;
        Ok(Self { document, patterns, anchors })
    }

    /// Returns the schema as JSON.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Returns the violations of a document, at most 20; empty if it is valid.
    pub fn violations(&self, document: &Value) -> Vec<Violation> {
        let mut violations = schema_validation::violations(self, document);
        violations.truncate(MAX_VIOLATIONS);
        violations
    }

    /// Returns the schema that the value of a `$ref` names; `None` if it does not exist.
    pub fn referenced_schema(&self, reference: &str) -> Option<&Value> {
        self.document.pointer(&schema_check::resolve_reference(&self.document, &self.anchors, reference)?)
    }
}

impl fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonSchema({})", self.document)
    }
}

/// Returns the JSON pointer of a key below `pointer`.
fn child_pointer(pointer: &str, key: impl Display) -> String {
    format!("{pointer}/{}", key.to_string().replace('~', "~0").replace('/', "~1"))
}
