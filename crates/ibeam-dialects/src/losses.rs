//! The losses of a conversion: the parts of a stream that the target cannot represent.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The maximum number of entries of a report. All further losses are one entry, because a stream may have any keys.
const MAX_ENTRIES: usize = 1000;

/// The longest key in a report, in characters.
const MAX_KEY_CHARS: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// The target cannot represent the part of the stream.
    Dropped,
    /// The target has another value, from which the original value cannot be restored.
    Changed,
    /// The target joins several parts into one; the boundaries between the parts are lost.
    Joined,
}

impl LossKind {
    /// Returns the name in a report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Changed => "changed",
            Self::Joined => "joined",
        }
    }
}

/// A part of a stream that was lost, one or more times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Loss {
    /// An event of the source, `assistant/thinking`, or a key in it, `system/init.cwd`; `[]` is any item of a list.
    pub key: String,
    /// The tool of the call, by its name in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(rename = "how")]
    pub kind: LossKind,
    /// The number of times that the part was lost.
    pub count: u64,
    /// The first line of the source with this loss, from 1.
    pub first_line: u64,
}

/// All losses of a conversion, sorted by key, tool and kind. Serializes as a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The number of times and the first line of each loss, by key, tool and kind.
    found: BTreeMap<(String, Option<String>, LossKind), (u64, u64)>,
}

impl Losses {
    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the number of different losses.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Returns the losses in order.
    pub fn iter(&self) -> impl Iterator<Item = Loss> + '_ {
        self.found.iter().map(|((key, tool, kind), (count, first_line))| Loss {
            key: key.clone(),
            tool: tool.clone(),
            kind: *kind,
            count: *count,
            first_line: *first_line,
        })
    }

    fn add(&mut self, line: u64, key: &str, tool: Option<&str>, kind: LossKind) {
        let short = |name: &str| name.chars().take(MAX_KEY_CHARS).collect::<String>();
        let mut name = (short(key), tool.map(short), kind);
        if self.found.len() >= MAX_ENTRIES && !self.found.contains_key(&name) {
            name = ("…".to_owned(), None, kind);
        }
        match self.found.entry(name) {
            Entry::Occupied(mut entry) => entry.get_mut().0 += 1,
            Entry::Vacant(entry) => drop(entry.insert((1, line))),
        }
    }
}

impl Serialize for Losses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Records losses at the present line of the source. A disabled log records nothing.
#[derive(Debug)]
pub(crate) struct LossLog {
    losses: Losses,
    is_enabled: bool,
    /// The number of the present line, from 1.
    pub(crate) line: u64,
    /// The name of the event on that line.
    pub(crate) event: String,
}

impl LossLog {
    pub(crate) fn new(is_enabled: bool) -> Self {
        Self { losses: Losses::default(), is_enabled, line: 0, event: String::new() }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Records the loss of `key`.
    pub(crate) fn add(&mut self, key: &str, tool: Option<&str>, kind: LossKind) {
        if self.is_enabled {
            self.losses.add(self.line, key, tool, kind);
        }
    }

    /// Records the loss of the present event.
    pub(crate) fn record_dropped_event(&mut self) {
        if self.is_enabled {
            self.losses.add(self.line, &self.event, None, LossKind::Dropped);
        }
    }

    pub(crate) fn into_losses(self) -> Losses {
        self.losses
    }
}

/// Calls `report` with the path of each part of `value` that `returned` lacks or has with another value.
///
/// An empty value (`null`, `false`, `0`, an empty text, list or object) may be missing. Keys that only `returned` has
/// are not losses.
pub(crate) fn report_differences(
    value: &Value,
    returned: Option<&Value>,
    path: &mut String,
    report: &mut impl FnMut(&str, LossKind),
) {
    match (value, returned) {
        (value, None) => {
            if !is_empty_value(value) {
                report(path, LossKind::Dropped);
            }
        }
        (Value::Object(object), Some(Value::Object(returned))) => {
            for (key, value) in object {
                let end = path.len();
                if end > 0 {
                    path.push('.');
                }
                path.push_str(key);
                report_differences(value, returned.get(key), path, report);
                path.truncate(end);
            }
        }
        (Value::Array(items), Some(Value::Array(returned))) if items.len() == returned.len() => {
            let end = path.len();
            path.push_str("[]");
            for (item, returned) in items.iter().zip(returned) {
                report_differences(item, Some(returned), path, report);
            }
            path.truncate(end);
        }
        (value, Some(returned)) => {
            if !(is_equal(value, returned) || value.is_null() && is_empty_value(returned)) {
                report(path, LossKind::Changed);
            }
        }
    }
}

/// Whether two values are equal. `1` and `1.0` are equal.
fn is_equal(value: &Value, other: &Value) -> bool {
    let float = |number: &Value| number.is_f64().then(|| number.as_f64()).flatten();
    value == other
        || (float(value).is_some() && float(value) == other.as_f64())
        || (float(other).is_some() && float(other) == value.as_f64())
}

/// Whether a value is equivalent to a missing key.
pub(crate) fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.values().all(is_empty_value),
    }
}
