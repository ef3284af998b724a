//! What the target could not say.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Serialize, Serializer};

/// Entries that are kept apart; a stream that makes up keys has the rest in one.
const MOST: usize = 1000;

/// The longest name of a key that is kept, in characters.
const MOST_CHARS: usize = 200;

/// How something was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// The target does not say it.
    Dropped,
    /// The target says something else in its place, which does not lead back to it.
    Changed,
    /// The target says several as one; where one ended and the next began is gone.
    Joined,
}

impl LossKind {
    /// Its word in a report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Changed => "changed",
            Self::Joined => "joined",
        }
    }
}

/// One thing that was lost, however often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Loss {
    /// An event of the source, `assistant/thinking`, or a key in it, `system/init.cwd`; `[]` is any item of a list.
    pub key: String,
    /// The tool whose call it is, by its name in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// In which way.
    #[serde(rename = "how")]
    pub kind: LossKind,
    /// How often.
    pub count: u64,
    /// The first line of the source that it happened on, from 1.
    pub first_line: u64,
}

/// Everything that was lost, sorted by key, tool and way. Serialises as a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    found: BTreeMap<(String, Option<String>, LossKind), (u64, u64)>,
}

impl Losses {
    /// Nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// How many different things were lost.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Each thing that was lost, in order.
    pub fn iter(&self) -> impl Iterator<Item = Loss> + '_ {
        self.found.iter().map(|((key, tool, kind), (count, first_line))| Loss {
            key: key.clone(),
            tool: tool.clone(),
            kind: *kind,
            count: *count,
            first_line: *first_line,
        })
    }

    pub(crate) fn add(&mut self, line: u64, key: &str, tool: Option<&str>, kind: LossKind) {
        let short = |name: &str| name.chars().take(MOST_CHARS).collect::<String>();
        let mut name = (short(key), tool.map(short), kind);
        if self.found.len() >= MOST && !self.found.contains_key(&name) {
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
