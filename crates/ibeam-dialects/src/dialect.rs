//! The dialects by name.

use std::fmt;
use std::str::FromStr;

/// What an agent prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DialectName {
    /// Contract 1, and what later releases of the original print.
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

/// A word that names no dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of cursor, claude, codex, gemini, opencode")]
pub struct UnknownDialect(pub String);

impl DialectName {
    /// Every dialect, ours first.
    pub const ALL: &[Self] = &[Self::Cursor, Self::Claude, Self::Codex, Self::Gemini, Self::Opencode];

    /// Its word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cursor => "cursor",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
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

    fn from_str(word: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.iter().copied().find(|dialect| dialect.as_str() == word);
        found.ok_or_else(|| UnknownDialect(word.to_owned()))
    }
}
