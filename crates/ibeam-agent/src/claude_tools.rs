//! The tools of Claude Code that correspond to tools of ibeam.

/// The tools of Claude Code, each with the tools of ibeam that have the same effect.
pub const TOOLS: &[(&str, &[&str])] = &[
    ("Bash", &["shell"]),
    ("Read", &["read"]),
    ("Edit", &["edit", "delete"]),
    ("MultiEdit", &["edit", "delete"]),
    ("Write", &["write", "delete"]),
    ("Grep", &["grep"]),
    ("Glob", &["glob", "ls"]),
    ("LS", &["ls"]),
    ("TodoWrite", &["update_todos"]),
    ("WebFetch", &["web_fetch"]),
    ("WebSearch", &["web_search"]),
];

/// Returns the tools of Claude Code that correspond to a tool of ibeam.
pub(crate) fn tool_names_for(tool: &str) -> impl Iterator<Item = &'static str> {
    TOOLS.iter().filter(move |(_, own)| own.contains(&tool)).map(|(claude, _)| *claude)
}
