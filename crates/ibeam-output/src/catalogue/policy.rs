//! The lines that tell how a policy decides.

use super::message::Message;

/// What `policy test` and `policy list` say, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field's name and its variant's sentence say it all")]
pub enum PolicyLine<'a> {
    /// The access may happen.
    Allowed { rule: &'a str },
    /// It must not.
    Denied { rule: &'a str, reason: &'a str },
    /// A person decides.
    NeedsApproval { rule: &'a str, reason: &'a str },
    /// A command that cannot be taken apart.
    Unanalyzable { what: &'a str },
    /// What a command runs in the end, and what it names first.
    RunsProgram { program: &'a str, wrappers: &'a str },
    /// A file that a command reads by a redirection.
    ReadsFile { path: &'a str },
    /// A file that a command writes by a redirection.
    WritesFile { path: &'a str },
    /// A rule is about this access.
    RuleApplies { rule: &'a str, why: &'a str },
    /// A rule is not.
    RuleDoesNotApply { rule: &'a str, why: &'a str },
    /// Nobody has set a rule.
    NoRules,
    /// Rules about paths have bounds where commands are concerned.
    PathRuleLimits,
}

pub(crate) fn message_for(line: &PolicyLine<'_>) -> Message {
    match *line {
        PolicyLine::Allowed { rule } => Message::new("policy-allowed").text("rule", rule),
        PolicyLine::Denied { rule, reason } => {
            Message::new("policy-denied").text("rule", rule).text("reason", reason)
        }
        PolicyLine::NeedsApproval { rule, reason } => {
            Message::new("policy-asked").text("rule", rule).text("reason", reason)
        }
        PolicyLine::Unanalyzable { what } => Message::new("policy-opaque").text("what", what),
        PolicyLine::RunsProgram { program, wrappers } => {
            Message::new("policy-runs").text("program", program).text("wrappers", wrappers)
        }
        PolicyLine::ReadsFile { path } => Message::new("policy-reads").text("path", path),
        PolicyLine::WritesFile { path } => Message::new("policy-writes").text("path", path),
        PolicyLine::RuleApplies { rule, why } => {
            Message::new("policy-applies").text("rule", rule).text("why", why)
        }
        PolicyLine::RuleDoesNotApply { rule, why } => {
            Message::new("policy-passes").text("rule", rule).text("why", why)
        }
        PolicyLine::NoRules => Message::new("policy-no-rules"),
        PolicyLine::PathRuleLimits => Message::new("policy-path-bounds"),
    }
}
