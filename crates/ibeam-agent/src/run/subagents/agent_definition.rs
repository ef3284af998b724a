//! The definitions of sub-agents: Markdown files with a header, of the user and of a trusted project.
//!
//! A definition is text for the model. It chooses a model and narrows tools and mode; it grants nothing. The formats of
//! other agents are read where their meaning is the same. Definitions of a project that is not trusted are not read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_config::parse_time;
use ibeam_files::regular_file;
use ibeam_output::escape_invisible;
use ibeam_protocol::Notice;

use crate::app::AppContext;
use crate::frontmatter::Frontmatter;

/// The directories of a project or of the home directory, those that take precedence first.
pub const DIRECTORIES: [&str; 3] = [".ibeam/agents", ".claude/agents", ".cursor/agents"];
/// The number of entries of a directory that are read.
const MAX_ENTRIES: usize = 256;
/// The number of definitions of a run. Each adds a line to every model request.
const MAX_DEFINITIONS: usize = 64;
/// The maximum size of a definition.
const MAX_BYTES: u64 = 64 * 1024;
/// The number of characters of a description that the model receives with every request.
const MAX_DESCRIPTION_CHARS: usize = 500;

/// The tools of other agents, in lower case, with their names here.
const TOOL_NAMES: [(&str, &str); 9] = [
    ("bash", "shell"),
    ("multiedit", "edit"),
    ("strreplace", "edit"),
    ("applypatch", "edit"),
    ("todowrite", "update_todos"),
    ("webfetch", "web_fetch"),
    ("websearch", "web_search"),
    ("list", "ls"),
    ("agent", "task"),
];

/// A kind of sub-agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AgentDefinition {
    /// When to use it, for the model.
    pub(super) description: String,
    /// The name of its model; `None` for the model of the run.
    pub(super) model: Option<String>,
    /// The only tools that it may use; `None` for all.
    pub(super) tools: Option<Vec<String>>,
    /// Tools that it may not use.
    pub(super) excluded_tools: Vec<String>,
    /// Whether it may only read.
    pub(super) read_only: bool,
    /// The time limit of a task; `None` for that of the run.
    pub(super) timeout: Option<Duration>,
    pub(super) instructions: String,
    pub(super) path: PathBuf,
}

impl AgentDefinition {
    /// Whether the definition lets the sub-agent use the tool.
    pub(super) fn allows_tool(&self, name: &str) -> bool {
        let is_listed = |names: &[String]| names.iter().any(|listed| listed == name);
        self.tools.as_deref().is_none_or(is_listed) && !is_listed(&self.excluded_tools)
    }
}

/// The definitions by name, and the warnings about them.
#[derive(Debug, Default)]
pub(super) struct AgentDefinitions {
    pub(super) agents: BTreeMap<String, AgentDefinition>,
    pub(super) notices: Vec<Notice>,
}

impl AgentDefinitions {
    /// Reads the definitions of the project, if it is trusted, and of the user. The first definition of a name counts.
    pub(super) fn load(app: &AppContext) -> Self {
        let mut found = Self::default();
        if app.workspace != app.dirs.home {
            for directory in DIRECTORIES.map(|name| app.workspace.join(name)) {
                match app.trust.is_trusted() {
                    true => found.add_directory(&directory, Some(&app.workspace)),
                    false if directory.is_dir() => {
                        let path = directory.display().to_string();
                        found.notices.push(Notice::SubagentsUntrusted { path });
                    }
                    false => {}
                }
            }
        }
        found.add_directory(&app.dirs.config_directory().join("agents"), None);
        for name in DIRECTORIES {
            found.add_directory(&app.dirs.home.join(name), None);
        }
        found
    }

    /// Adds the definitions of a directory. Files of a project must lie in its workspace.
    fn add_directory(&mut self, directory: &Path, workspace: Option<&Path>) {
        let Ok(entries) = std::fs::read_dir(directory) else { return };
        let paths = entries.take(MAX_ENTRIES).flatten().map(|entry| entry.path());
        let is_definition = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
        let mut paths: Vec<PathBuf> = paths.filter(is_definition).collect();
        paths.sort();
        for path in paths {
            if let Err(detail) = self.add_file(&path, workspace) {
                let path = path.display().to_string();
                self.notices.push(Notice::SubagentDefinition { path, detail });
            }
        }
    }

    /// Adds the definition of a file.
    ///
    /// # Errors
    /// The reason why the file is not used.
    fn add_file(&mut self, path: &Path, workspace: Option<&Path>) -> Result<(), String> {
        let is_outside = |workspace: &Path| {
            !path
                .canonicalize()
                .is_ok_and(|real| real.starts_with(workspace) && real.extension() == path.extension())
        };
        if workspace.is_some_and(is_outside) {
            return Err("not used: it is a link to another kind of file or out of the workspace".to_owned());
        }
        let bytes = regular_file::read(path, MAX_BYTES).map_err(|error| format!("not used: {error}"))?;
        let text = String::from_utf8(bytes).map_err(|_| "not used: it is not UTF-8".to_owned())?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let (name, definition) = parse(&text, stem, path)?;
        if self.agents.contains_key(&name) {
            return Ok(());
        }
        if self.agents.len() >= MAX_DEFINITIONS {
            return Err(format!("not used: there are {MAX_DEFINITIONS} definitions already"));
        }
        self.agents.insert(name, definition);
        Ok(())
    }
}

/// Parses a definition. Without a name in its header, it has the name of the file.
///
/// # Errors
/// The reason why the definition is not used.
fn parse(text: &str, stem: &str, path: &Path) -> Result<(String, AgentDefinition), String> {
    let (header, instructions) = Frontmatter::split(text);
    // The line may be the one that narrows the tools.
    if let Some(fault) = header.faults().first() {
        return Err(format!("not used: {fault}"));
    }
    let name = header.text("name").unwrap_or(stem).to_owned();
    let is_name =
        |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
    if name.is_empty() || name.len() > 64 || !is_name(&name) {
        return Err("not used: its name should have up to 64 letters, digits, `-` and `_`".to_owned());
    }
    let description = header.text("description").unwrap_or_default();
    if description.is_empty() {
        return Err("not used: without a `description` the model cannot choose it".to_owned());
    }
    // The model receives every character of a text that people can review.
    let description: String = escape_invisible(description)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(MAX_DESCRIPTION_CHARS)
        .collect();
    let mode = header.text("mode").or_else(|| header.text("permissionMode")).unwrap_or_default();
    let read_only = header.guard("readonly", true).unwrap_or_default() || matches!(mode, "plan" | "ask");
    let time = |text| {
        let time = parse_time(text).filter(|time| !time.is_zero());
        time.ok_or_else(|| {
            format!("not used: its `timeout` should be a time such as `90s` or `5m`, not `{text}`")
        })
    };
    let timeout = header.text("timeout").map(time).transpose()?;
    let tools = header.list("tools");
    let inherits = |model: &&str| !matches!(*model, "inherit" | "auto" | "default");
    let definition = AgentDefinition {
        description,
        model: header.text("model").filter(inherits).map(str::to_owned),
        tools: (!tools.is_empty() && tools != ["*"])
            .then(|| tools.iter().map(|tool| tool_name(tool)).collect()),
        excluded_tools: header.list("disallowedTools").iter().map(|tool| tool_name(tool)).collect(),
        read_only,
        timeout,
        instructions: escape_invisible(instructions.trim()).into_owned(),
        path: path.to_owned(),
    };
    Ok((name, definition))
}

/// Returns the name here of a tool that a definition names. A rule in parentheses is left out: the tool is narrowed by the
/// rules of the run only.
fn tool_name(named: &str) -> String {
    let named = named.split('(').next().unwrap_or_default().trim();
    if let Some(tool) = named.strip_prefix("mcp__") {
        return format!("mcp_{}", tool.replacen("__", "_", 1));
    }
    let lower = named.to_ascii_lowercase();
    let known = TOOL_NAMES.iter().find(|(other, _)| *other == lower);
    known.map_or(lower.clone(), |(_, own)| (*own).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_other_agents_are_read_where_they_mean_the_same() {
        let text = "---\nname: reviewer\ndescription: Reviews a change\ntools: Read, Grep, Bash(git diff:*), mcp__a__b\n\
                    disallowedTools: [Write]\nmodel: inherit\ncolor: red\n---\nBe strict.\n";
        let (name, found) = parse(text, "file", Path::new("/x/file.md")).unwrap();
        assert_eq!((name.as_str(), found.description.as_str()), ("reviewer", "Reviews a change"));
        assert_eq!(found.tools.as_deref().unwrap(), ["read", "grep", "shell", "mcp_a_b"]);
        assert_eq!(
            (found.excluded_tools.as_slice(), found.model.as_deref()),
            (&["write".to_owned()][..], None)
        );
        assert!(!found.read_only && found.allows_tool("read") && !found.allows_tool("edit"));
        assert_eq!(found.instructions, "Be strict.");
    }

    #[test]
    fn a_definition_can_only_read() {
        for (line, read_only) in [
            ("readonly: true", true),
            ("mode: plan", true),
            ("permissionMode: plan", true),
            ("readonly: false", false),
        ] {
            let text = format!("---\ndescription: x\n{line}\nmodel: haiku\n---\ny");
            let (name, found) = parse(&text, "file", Path::new("/x/file.md")).unwrap();
            assert_eq!((name.as_str(), found.read_only), ("file", read_only), "{line}");
            assert_eq!(found.model.as_deref(), Some("haiku"));
        }
    }

    #[test]
    fn a_definition_can_limit_the_time() {
        let timeout = |line: &str| {
            let text = format!("---\ndescription: x\n{line}\n---\ny");
            parse(&text, "file", Path::new("/x/file.md")).map(|(_, found)| found.timeout)
        };
        assert_eq!(timeout("timeout: 5m"), Ok(Some(Duration::from_secs(300))));
        assert_eq!(timeout("color: red"), Ok(None));
        for invalid in ["timeout: soon", "timeout: 0s"] {
            assert!(timeout(invalid).unwrap_err().contains("its `timeout` should be"), "{invalid}");
        }
    }

    #[test]
    fn a_definition_that_cannot_be_used_has_a_reason() {
        for (text, expect) in [
            ("no header", "without a `description`"),
            ("---\nname: a b\ndescription: x\n---\n", "its name should"),
            ("---\n\tname: x\n---\n", "line 2"),
        ] {
            let error = parse(text, "file", Path::new("/x/file.md")).unwrap_err();
            assert!(error.starts_with("not used: ") && error.contains(expect), "{error}");
        }
    }
}
