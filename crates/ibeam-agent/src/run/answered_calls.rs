//! Which calls an answer of a person applies to, where the answer lasts.

use ibeam_core::Access;
use ibeam_protocol::ToolCall;

/// The prefix of the rule of a hook's question. A hook decides on each call anew, so no answer to it lasts.
pub const HOOK_RULE: &str = "hook: ";

/// The calls to which an answer applies: those that the same rule asks about for the same subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AnsweredCalls {
    rule: String,
    tool: String,
    subject: String,
}

impl AnsweredCalls {
    /// Returns the calls like `call`; `None` if each needs an answer of its own.
    pub fn like(call: &ToolCall, access: &Access, rule: &str) -> Option<Self> {
        if rule.starts_with(HOOK_RULE) {
            return None;
        }
        let subject = match access {
            // Other arguments may do anything else.
            Access::Command { text, directory: None } => text.clone(),
            Access::Command { text, directory: Some(directory) } => {
                format!("{}$ {text}", directory.display())
            }
            Access::Read(path) | Access::Write(path) => path.display().to_string(),
            Access::Nothing => String::new(),
            Access::Fetch { url } => url.split('/').take(3).collect::<Vec<_>>().join("/"),
            Access::Mcp { server, tool, .. } => format!("{server}:{tool}"),
            Access::Task { read_only } => format!("read-only: {read_only}"),
        };
        Some(Self { rule: rule.to_owned(), tool: call.name.clone(), subject })
    }
}
