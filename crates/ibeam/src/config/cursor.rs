//! The forms of the original: `cli-config.json` of the user and `.cursor/cli.json` of a project.
//!
//! Of the user's, the permissions, `approvalMode` and `sandbox.mode` are read; of a project's the same as far as
//! it narrows. Everything else is passed over, a missing key is none. What could be read in two ways is refused:
//! text that is not JSON, a key that stands twice, a value of another kind. The files are never written.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use ibeam_protocol::Reason;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::keys::Key;
use super::layer::{Layer, Owner};
use super::source;
use super::value::Value;

/// The words of `approvalMode`, and what each is here.
const APPROVAL_MODES: &[(&str, &str)] =
    &[("allowlist", "allowlist"), ("auto-review", "sandboxed"), ("unrestricted", "sandboxed")];

/// The values of a file.
///
/// # Errors
/// `BadConfig` with line and column.
pub(super) fn parse(path: &Path, bytes: &[u8], owner: Owner) -> Result<Layer, Reason> {
    let layer = Layer::of(path, bytes)?;
    let text = layer.text().to_owned();
    let whole: &RawValue = serde_json::from_str(&text).map_err(|error| bad_json(path, &error))?;
    let mut reader = Reader { text: &text, layer, of_project: matches!(owner, Owner::Project { .. }) };
    reader.document(whole)?;
    Ok(reader.layer)
}

struct Reader<'a> {
    text: &'a str,
    layer: Layer,
    of_project: bool,
}

impl<'a> Reader<'a> {
    fn document(&mut self, whole: &'a RawValue) -> Result<(), Reason> {
        for (name, value) in self.members(whole)? {
            match name.as_str() {
                "permissions" => self.permissions(value)?,
                "approvalMode" => self.approval(value)?,
                "sandbox" => self.sandbox(value)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn permissions(&mut self, table: &'a RawValue) -> Result<(), Reason> {
        for (name, value) in self.members(table)? {
            if !["allow", "ask", "deny"].contains(&name.as_str()) {
                continue;
            }
            let tokens: Vec<&RawValue> = self.typed(value, "a list of strings")?;
            if tokens.is_empty() {
                self.add(&["permissions", &name], Value::List(Vec::new()), value);
            }
            for token in tokens {
                let text: String = self.typed(token, "a string")?;
                self.add(&["permissions", &name], Value::List(vec![text]), token);
            }
        }
        Ok(())
    }

    fn approval(&mut self, value: &'a RawValue) -> Result<(), Reason> {
        let mode: String = self.typed(value, "a string")?;
        let known = APPROVAL_MODES.iter().find(|(word, _)| *word == mode);
        match known {
            // A project may ask for less; what else it says is not its to say.
            Some((_, ours)) if !self.of_project || *ours == "allowlist" => {
                self.add(&["approval"], Value::Text((*ours).to_owned()), value);
            }
            Some(_) => {}
            None if self.of_project => {}
            None => {
                let words = words(APPROVAL_MODES.iter().map(|(word, _)| *word));
                return Err(self.bad(value, format!("`approvalMode` should be {words}")));
            }
        }
        Ok(())
    }

    fn sandbox(&mut self, table: &'a RawValue) -> Result<(), Reason> {
        let Some(value) = self.members(table)?.remove("mode") else { return Ok(()) };
        let mode: String = self.typed(value, "a string")?;
        if ["enabled", "disabled"].contains(&mode.as_str()) {
            self.add(&["sandbox", "mode"], Value::Text(mode), value);
        } else if !self.of_project {
            let words = words(["enabled", "disabled"].into_iter());
            return Err(self.bad(value, format!("`sandbox.mode` should be {words}")));
        }
        Ok(())
    }

    fn add(&mut self, path: &[&str], value: Value, raw: &RawValue) {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        let offset = self.offset(raw);
        if let Some(key) = Key::named(&path) {
            self.layer.add(key, path, value, offset);
        }
    }

    /// The members of an object, none of them twice.
    fn members(&self, raw: &'a RawValue) -> Result<BTreeMap<String, &'a RawValue>, Reason> {
        self.typed(raw, "an object").map(|Members(members)| members)
    }

    fn typed<T: Deserialize<'a>>(&self, raw: &'a RawValue, what: &str) -> Result<T, Reason> {
        serde_json::from_str(raw.get()).map_err(|error| match error.is_data() {
            // A key that stands twice says so itself.
            true if error.to_string().contains(TWICE) => self.bad(raw, said(&error)),
            true => self.bad(raw, format!("{} should be {what}", shown(raw))),
            false => self.bad(raw, said(&error)),
        })
    }

    fn bad(&self, raw: &RawValue, said: String) -> Reason {
        self.layer.bad(self.offset(raw), said)
    }

    /// Where a value stands: it is a part of the text.
    fn offset(&self, raw: &RawValue) -> usize {
        raw.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr())
    }
}

const TWICE: &str = "stands there twice";

/// The members of an object.
struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    if members.contains_key(&name) {
                        return Err(A::Error::custom(format!("`{name}` {TWICE}")));
                    }
                    members.insert(name, map.next_value()?);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Object)
    }
}

fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

/// The beginning of a value, for messages.
fn shown(raw: &RawValue) -> String {
    const LONGEST: usize = 40;
    let text = raw.get().split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}

fn said(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said).to_owned()
}

fn bad_json(path: &Path, error: &serde_json::Error) -> Reason {
    source::bad_at(path, error.line(), error.column(), said(error))
}
