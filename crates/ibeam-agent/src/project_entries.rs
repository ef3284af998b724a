//! Settings, hooks, servers and texts of the files of a project, and whether each has an effect without trust.

mod project_texts;

use ibeam_config::{Config, Origin};
use ibeam_protocol::Reason;

use crate::app::AppContext;
use crate::environment::variable;
use crate::hooks;
use crate::mcp::declared_servers;

pub use self::project_texts::project_texts;

/// A setting, hook, server or text of a file of the project.
pub struct ProjectEntry {
    pub kind: ProjectEntryKind,
    /// The path of the file, for a setting with its line.
    pub file: String,
    /// Whether the entry has an effect now.
    pub counts: bool,
}

pub enum ProjectEntryKind {
    Setting {
        text: String,
    },
    Hook {
        event: String,
        command: String,
    },
    Server {
        name: String,
        target: String,
    },
    /// Set-up commands of worktrees.
    Setup,
    /// Instructions for the model.
    Rules,
    Skill {
        name: String,
    },
    /// A definition of a sub-agent.
    Agent {
        name: String,
    },
}

impl ProjectEntryKind {
    /// Returns the entry in one line.
    pub fn text(&self) -> String {
        match self {
            Self::Setting { text } => text.clone(),
            Self::Hook { event, command } => format!("hook {event}: {command}"),
            Self::Server { name, target } => format!("MCP server {name}: {target}"),
            Self::Setup => "set-up commands of worktrees".to_owned(),
            Self::Rules => "instructions for the model".to_owned(),
            Self::Skill { name } => format!("skill {name}"),
            Self::Agent { name } => format!("sub-agent {name}"),
        }
    }
}

/// Returns the settings, hooks and servers of the project's files.
///
/// # Errors
/// `BadConfig` for a file that would not be valid if it were trusted.
pub fn project_entries(app: &AppContext) -> Result<Vec<ProjectEntry>, Reason> {
    let mut entries = Vec::new();
    let trusted =
        Config::load(&app.base.options.settings(), &app.dirs, &app.trust.as_if_trusted(), &variable)?;
    for (path, settings) in trusted.all_settings() {
        if path.first().is_some_and(|first| first == "mcp_servers") {
            continue;
        }
        for setting in settings {
            let Origin::Project { path: file, line } = &setting.origin else { continue };
            let key: Vec<&str> = path.iter().map(String::as_str).collect();
            let counts = app
                .base
                .config
                .all_settings()
                .any(|(other, settings)| other == path && settings.contains(setting));
            let kind = ProjectEntryKind::Setting { text: format!("{} = {}", key.join("."), setting.value) };
            entries.push(ProjectEntry { kind, file: format!("{}:{line}", file.display()), counts });
        }
    }
    for (file, event, command) in hooks::project_hooks(app)? {
        let kind = ProjectEntryKind::Hook { event, command };
        let counts = app.trust.is_trusted();
        entries.push(ProjectEntry { kind, file: file.display().to_string(), counts });
    }
    for server in declared_servers(app)?.servers.into_iter().filter(|server| server.source.is_of_project) {
        let file = server.source.path.display().to_string();
        let target = server.transport.target().to_string();
        let kind = ProjectEntryKind::Server { name: server.name, target };
        let counts = app.trust.is_trusted() || app.base.options.approve_mcps;
        entries.push(ProjectEntry { kind, file, counts });
    }
    Ok(entries)
}
