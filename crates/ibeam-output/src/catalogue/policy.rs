//! The lines that tell how a policy decides.

use super::words::Words;

/// What `policy test` and `policy list` say, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field's name and its variant's sentence say it all")]
pub enum PolicyLine<'a> {
    /// The access may happen.
    Allowed { rule: &'a str },
    /// It must not.
    Denied { rule: &'a str, reason: &'a str },
    /// A person decides.
    Asked { rule: &'a str, reason: &'a str },
    /// A command that cannot be taken apart.
    Opaque { what: &'a str },
    /// What a command runs in the end, and what it names first.
    Runs { program: &'a str, wrappers: &'a str },
    /// A file that a command reads by a redirection.
    Reads { path: &'a str },
    /// A file that a command writes by a redirection.
    Writes { path: &'a str },
    /// A rule is about this access.
    Applies { rule: &'a str, why: &'a str },
    /// A rule is not.
    Passes { rule: &'a str, why: &'a str },
    /// Nobody has set a rule.
    NoRules,
    /// Rules about paths have bounds where commands are concerned.
    PathBounds,
}

pub(crate) fn words(line: &PolicyLine<'_>) -> Words {
    match *line {
        PolicyLine::Allowed { rule } => Words::new("policy-allowed").text("rule", rule),
        PolicyLine::Denied { rule, reason } => {
            Words::new("policy-denied").text("rule", rule).text("reason", reason)
        }
        PolicyLine::Asked { rule, reason } => {
            Words::new("policy-asked").text("rule", rule).text("reason", reason)
        }
        PolicyLine::Opaque { what } => Words::new("policy-opaque").text("what", what),
        PolicyLine::Runs { program, wrappers } => {
            Words::new("policy-runs").text("program", program).text("wrappers", wrappers)
        }
        PolicyLine::Reads { path } => Words::new("policy-reads").text("path", path),
        PolicyLine::Writes { path } => Words::new("policy-writes").text("path", path),
        PolicyLine::Applies { rule, why } => Words::new("policy-applies").text("rule", rule).text("why", why),
        PolicyLine::Passes { rule, why } => Words::new("policy-passes").text("rule", rule).text("why", why),
        PolicyLine::NoRules => Words::new("policy-no-rules"),
        PolicyLine::PathBounds => Words::new("policy-path-bounds"),
    }
}
