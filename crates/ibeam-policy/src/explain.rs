//! Why a verdict is what it is: what was found in an access, and what each rule said of it.
//!
//! For people who write rules (`ibeam policy test`). Decides nothing: it asks the same questions as the decision
//! and keeps the answers.

use crate::access::Access;
use crate::policy::{Policy, Verdict};

/// A verdict with the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What [`Policy::decide`] says.
    pub verdict: Verdict,
    /// Why a command cannot be read, as a noun phrase ("an unclosed quote"); `parts` is empty then.
    pub opaque: Option<&'static str>,
    /// One for a file, an address or a tool; for a command one for each simple command, in the order of the text.
    pub parts: Vec<Part>,
}

/// One thing that an access touches, and what the rules say of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The file, the address, `server:tool`, or the simple command, on one line.
    pub subject: String,
    /// The program that is named and, through wrappers, what that runs; the last one runs in the end. Empty where
    /// no program runs.
    pub programs: Vec<String>,
    /// The arguments of the last program, quotes removed.
    pub arguments: Vec<String>,
    /// Files that the command is connected to.
    pub redirections: Vec<Redirection>,
    /// Deny rules first, then ask, then allow, each in the order they were given, then what is built in.
    pub findings: Vec<Finding>,
}

/// A file that a command reads from or writes to by a redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// The file is opened for writing.
    pub writes: bool,
    /// The file as the command names it.
    pub target: String,
}

/// What one rule said of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where the rule stands.
    pub list: List,
    /// The token, or the name of a built-in rule.
    pub rule: String,
    /// The rule is about this part.
    pub applies: bool,
    /// Why, in one clause.
    pub why: String,
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Narrows, whatever else says yes.
    Deny,
    /// Puts a call to a person.
    Ask,
    /// Widens.
    Allow,
    /// Not written by anybody: protected places, the workspace, the mode, the default.
    BuiltIn,
}

impl Policy {
    /// Decides about one access like [`Policy::decide`], and tells how.
    pub fn explain(&self, access: &Access) -> Explanation {
        Explanation { verdict: self.decide(access), opaque: None, parts: Vec::new() }
    }
}
