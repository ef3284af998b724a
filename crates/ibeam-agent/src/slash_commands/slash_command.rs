//! A slash command, as lists of commands have it.

use std::path::PathBuf;

use serde::Serialize;

/// A command that the user can write as `/NAME ARGUMENTS`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
    /// The arguments, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    #[serde(flatten)]
    pub source: CommandSource,
}

/// The source of the text of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandSource {
    /// A file with a template.
    File(PathBuf),
    /// The `SKILL.md` of a skill.
    Skill(PathBuf),
    /// The prompt of an MCP server.
    Server(String),
}
