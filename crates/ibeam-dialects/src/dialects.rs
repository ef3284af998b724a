//! The dialects and their names.
//!
//! To add a dialect: implement [`Dialect`] in a new folder, declare the folder here, and add a variant and its row.

pub(crate) mod claude;
mod codex;
mod cursor;
mod gemini;
mod opencode;

use std::fmt;
use std::str::FromStr;

use crate::dialect::Dialect;

/// The output format of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DialectName {
    /// Contract 1, and the output of later releases of the Cursor CLI.
    Cursor,
    /// `claude -p --output-format stream-json --verbose`.
    Claude,
    /// `codex exec --json`.
    Codex,
    /// `gemini --output-format stream-json`.
    Gemini,
    /// `opencode run --format json`.
    Opencode,
}

/// A name that is not the name of a dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of {list}", list = names().join(", "))]
pub struct UnknownDialect(pub String);

fn names() -> Vec<&'static str> {
    DialectName::ALL.iter().map(|dialect| dialect.as_str()).collect()
}

impl DialectName {
    /// Every dialect; contract 1 first.
    pub const ALL: &[Self] = &[Self::Cursor, Self::Claude, Self::Codex, Self::Gemini, Self::Opencode];

    /// Returns the name on the command line.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    pub(crate) fn dialect(self) -> &'static dyn Dialect {
        self.row().1
    }

    /// Returns the name on the command line and the implementation.
    fn row(self) -> (&'static str, &'static dyn Dialect) {
        match self {
            Self::Cursor => ("cursor", &cursor::Cursor),
            Self::Claude => ("claude", &claude::Claude),
            Self::Codex => ("codex", &codex::Codex),
            Self::Gemini => ("gemini", &gemini::Gemini),
            Self::Opencode => ("opencode", &opencode::Opencode),
        }
    }
}

impl fmt::Display for DialectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for DialectName {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.iter().copied().find(|dialect| dialect.as_str() == name);
        found.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}
