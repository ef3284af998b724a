//! The texts of a project on which trust has an effect: set-up commands, sub-agents, rule files and skills.

use std::path::{Path, PathBuf};

use super::{ProjectEntry, ProjectEntryKind};
use crate::app::AppContext;
use crate::instructions::Instructions;
use crate::run::{AGENT_DIRECTORIES, build_policy, permission_mode};
use crate::skills::Skills;
use crate::text_sources::{TextOwner, TextSources};

/// The number of definitions of sub-agents that are listed of a directory.
const MAX_AGENTS: usize = 1000;
/// The files with set-up commands of worktrees.
const WORKTREE_FILES: [&str; 2] = [".ibeam/worktrees.json", ".cursor/worktrees.json"];

/// Returns the texts of the project's files. Those in the home directory are the user's, but for set-up commands.
pub fn project_texts(app: &AppContext) -> Vec<ProjectEntry> {
    let setups = WORKTREE_FILES.into_iter().map(|name| app.workspace.join(name));
    let setups =
        setups.filter(|path| app.trust.files.exists(path)).map(|path| (ProjectEntryKind::Setup, path));
    let mut found: Vec<(ProjectEntryKind, PathBuf)> = setups.collect();
    if app.workspace != app.dirs.home {
        found.extend(AGENT_DIRECTORIES.iter().flat_map(|name| agents(&app.workspace.join(name))));
        found.extend(rules_and_skills(app));
    }
    let counts = app.trust.is_trusted();
    let entry = |(kind, path): (ProjectEntryKind, PathBuf)| ProjectEntry {
        kind,
        file: path.display().to_string(),
        counts,
    };
    found.into_iter().map(entry).collect()
}

fn agents(directory: &Path) -> Vec<(ProjectEntryKind, PathBuf)> {
    let Ok(found) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = found.take(MAX_AGENTS).flatten().map(|entry| entry.path());
    let definitions = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let named = |path: PathBuf| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        Some((ProjectEntryKind::Agent { name }, path))
    };
    let mut agents: Vec<_> = definitions.filter_map(named).collect();
    agents.sort_by(|(_, one), (_, other)| one.cmp(other));
    agents
}

fn rules_and_skills(app: &AppContext) -> Vec<(ProjectEntryKind, PathBuf)> {
    // A policy that cannot be built is the error of the opening.
    let Ok(policy) = build_policy(app, permission_mode(app)) else { return Vec::new() };
    let sources = TextSources::new(app, policy.path_policy());
    let instructions = Instructions::load(&sources);
    let rules = instructions.project_names().map(|name| (ProjectEntryKind::Rules, PathBuf::from(name)));
    let skills = Skills::load(&sources);
    let of_project = skills.iter().filter(|skill| skill.owner == TextOwner::Project);
    let skills = of_project.map(|skill| {
        let name = skill.name.clone();
        (ProjectEntryKind::Skill { name }, skill.file.clone())
    });
    rules.chain(skills).collect()
}
