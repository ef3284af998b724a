//! Reads the configuration files of the Cursor CLI: `cli-config.json` of the user and `.cursor/cli.json` of a project.
//!
//! Reads the permissions, `approvalMode` and `sandbox.mode` from the user's file, and the same keys from a project's
//! file if they allow less. Ignores every other key. Rejects ambiguous files: text that is not JSON, a duplicate key, a
//! value of the wrong type. Never writes these files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use ibeam_protocol::{Sentence, json_fault, sentence};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::keys::Key;
use crate::layer::{Layer, Owner};
use crate::value::one_of;
use crate::{ConfigError, Value};

/// The values of `approvalMode`, each with the value of `approval` that it becomes.
const APPROVAL_MODES: &[(&str, &str)] =
    &[("allowlist", "allowlist"), ("auto-review", "sandboxed"), ("unrestricted", "sandboxed")];

/// Parses a file.
///
/// # Errors
/// `Invalid` with line and column.
pub(crate) fn parse(path: &Path, bytes: &[u8], owner: Owner) -> Result<Layer, ConfigError> {
    let layer = Layer::new(path, bytes)?;
    let text = layer.text().to_owned();
    let root: &RawValue = serde_json::from_str(&text)
        .map_err(|error| ConfigError::at(path, error.line(), error.column(), json_fault(&error)))?;
    let mut reader = Reader { text: &text, layer, is_project: matches!(owner, Owner::Project { .. }) };
    reader.read_root(root)?;
    Ok(reader.layer)
}

struct Reader<'a> {
    text: &'a str,
    layer: Layer,
    is_project: bool,
}

impl<'a> Reader<'a> {
    fn read_root(&mut self, root: &'a RawValue) -> Result<(), ConfigError> {
        for (name, value) in self.members(root)? {
            match name.as_str() {
                "permissions" => self.read_permissions(value)?,
                "approvalMode" => self.read_approval_mode(value)?,
                "sandbox" => self.read_sandbox(value)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_permissions(&mut self, table: &'a RawValue) -> Result<(), ConfigError> {
        for (name, value) in self.members(table)? {
            if !["allow", "ask", "deny"].contains(&name.as_str()) {
                continue;
            }
            let tokens: Vec<&RawValue> = self.deserialize(value, &sentence!("a list of strings"))?;
            if tokens.is_empty() {
                self.add(&["permissions", &name], Value::List(Vec::new()), value);
            }
            for token in tokens {
                let text: String = self.deserialize(token, &sentence!("a string"))?;
                self.add(&["permissions", &name], Value::List(vec![text]), token);
            }
        }
        Ok(())
    }

    fn read_approval_mode(&mut self, value: &'a RawValue) -> Result<(), ConfigError> {
        let mode: String = self.deserialize(value, &sentence!("a string"))?;
        let known = APPROVAL_MODES.iter().find(|(word, _)| *word == mode);
        match known {
            // A project may only choose the stricter value.
            Some((_, own)) if !self.is_project || *own == "allowlist" => {
                self.add(&["approval"], Value::Text((*own).to_owned()), value);
            }
            Some(_) => {}
            None if self.is_project => {}
            None => {
                let words: Vec<&str> = APPROVAL_MODES.iter().map(|(word, _)| *word).collect();
                return Err(self.error(value, should_be("approvalMode", &one_of(&words))));
            }
        }
        Ok(())
    }

    fn read_sandbox(&mut self, table: &'a RawValue) -> Result<(), ConfigError> {
        let Some(value) = self.members(table)?.remove("mode") else { return Ok(()) };
        let mode: String = self.deserialize(value, &sentence!("a string"))?;
        if ["enabled", "disabled"].contains(&mode.as_str()) {
            self.add(&["sandbox", "mode"], Value::Text(mode), value);
        } else if !self.is_project {
            let what = one_of(&["enabled", "disabled"]);
            return Err(self.error(value, should_be("sandbox.mode", &what)));
        }
        Ok(())
    }

    fn add(&mut self, path: &[&str], value: Value, raw: &RawValue) {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        let offset = self.offset(raw);
        if let Some(key) = Key::find(&path) {
            self.layer.add(key, path, value, offset);
        }
    }

    /// Returns the members of an object without duplicate keys.
    fn members(&self, raw: &'a RawValue) -> Result<BTreeMap<String, &'a RawValue>, ConfigError> {
        let Members(all) = self.deserialize(raw, &sentence!("an object"))?;
        let mut members = BTreeMap::new();
        for (name, value) in all {
            if members.contains_key(&name) {
                return Err(self.error(raw, sentence!("`{name}` is there more than once", name)));
            }
            members.insert(name, value);
        }
        Ok(members)
    }

    /// Deserializes a value. `what` describes the expected type in the error.
    fn deserialize<T: Deserialize<'a>>(&self, raw: &'a RawValue, what: &Sentence) -> Result<T, ConfigError> {
        serde_json::from_str(raw.get()).map_err(|error| match error.is_data() {
            true => self.error(raw, should_be(&preview(raw), what)),
            false => self.error(raw, json_fault(&error)),
        })
    }

    fn error(&self, raw: &RawValue, message: Sentence) -> ConfigError {
        self.layer.error_at(self.offset(raw), message)
    }

    /// Returns the byte offset of a value, which borrows from the text.
    fn offset(&self, raw: &RawValue) -> usize {
        raw.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr())
    }
}

/// The members of an object in the order of the text.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(MembersVisitor)
    }
}

fn should_be(text: &str, what: &Sentence) -> Sentence {
    sentence!("`{text}` should be {what}", text, what)
}

/// Returns the start of a value, for messages.
fn preview(raw: &RawValue) -> String {
    const MAX_CHARS: usize = 40;
    let text = raw.get().split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
