//! The question whether the configuration of a folder is trusted, before any of it has an effect.
//!
//! The answer covers the files as they were read and shown: if one changes before the trust is evaluated again, the
//! folder is not trusted. A person who continues without trust is asked again when one of the files has changed.

use std::path::{Path, PathBuf};

use ibeam_output::escape_to_one_line;
use ibeam_protocol::{Reason, sentence};
use ibeam_tui::{DialogGuard, DialogInput, DialogReply, EscapeEffect, TuiLine};
use sha2::{Digest, Sha256};

use super::start_dialog::{LineKind, StartDialog, StartQuestion};
use crate::app::{AppContext, ConfigUse};
use crate::cli::Flags;
use crate::command::{ProjectEntry, ProjectEntryKind, project_entries};
use crate::exit::ExitFailure;
use crate::instructions::Instructions;
use crate::run::policy_rules::build_policy;
use crate::run::prepare::permission_mode;
use crate::run::run_process::RunProcess;
use crate::skills::Skills;
use crate::text_sources::{TextOwner, TextSources};

/// The number of entries that are shown.
const MAX_ENTRIES: usize = 12;
/// The number of names that one entry has.
const MAX_NAMES: usize = 8;
/// The directories of definitions of sub-agents.
const AGENT_DIRECTORIES: [&str; 3] = [".ibeam/agents", ".claude/agents", ".cursor/agents"];
/// The files with set-up commands of worktrees.
const WORKTREE_FILES: [&str; 2] = [".ibeam/worktrees.json", ".cursor/worktrees.json"];

/// Asks whether the folder is trusted if it has configuration that trust would change, and reloads the context of
/// `process` after a consent. Returns `false` if the person leaves, which has the effect `escape`.
///
/// # Errors
/// The reason of a signal; the errors of [`reload`].
pub(super) fn ask<D: StartDialog>(
    process: &mut RunProcess<'_>,
    flags: &Flags,
    dialog: &D,
    escape: EscapeEffect,
) -> Result<bool, ExitFailure> {
    let app = process.app.clone();
    if app.trust.is_trusted() || is_declined(&app) {
        return Ok(true);
    }
    let entries = entries(&app);
    if entries.is_empty() {
        return Ok(true);
    }
    let catalogue = &app.base.catalogue;
    let directory = escape_to_one_line(&app.workspace.display().to_string());
    let title = match app.trust.is_changed() {
        true => TuiLine::TrustChanged { directory: &directory },
        false => TuiLine::TrustFolder { directory: &directory },
    };
    dialog.print(LineKind::Warning, &catalogue.line(&title));
    for entry in entries.iter().take(MAX_ENTRIES) {
        dialog.print(LineKind::Plain, &format!("  {entry}"));
    }
    if let Some(count) = entries.len().checked_sub(MAX_ENTRIES).filter(|count| *count > 0) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        dialog.print(LineKind::Plain, &format!("  {}", catalogue.line(&TuiLine::TrustMore { count })));
    }
    dialog.print(LineKind::Plain, &catalogue.line(&TuiLine::TrustMeaning));
    let leave = match escape {
        EscapeEffect::Leaves => catalogue.line(&TuiLine::DialogLeave),
        EscapeEffect::GoesBack => catalogue.sentence(&sentence!("do not open the session")),
    };
    let choices = [TuiLine::TrustYes, TuiLine::TrustNo].map(|choice| catalogue.line(&choice));
    let input = DialogInput::Choice(choices.into_iter().chain([leave]).collect());
    let title = catalogue.line(&TuiLine::TrustQuestion);
    match dialog.ask(process, StartQuestion { title, input, guard: DialogGuard::Consent, escape })? {
        DialogReply::Choice(0) => match app.trust.remember(&app.workspace) {
            Ok(()) => {
                dialog.print(LineKind::Success, &catalogue.line(&TuiLine::TrustStored));
                reload(process, flags)?;
            }
            Err(detail) => {
                let line = TuiLine::TrustNotStored { detail: &detail };
                dialog.print(LineKind::Failure, &catalogue.line(&line));
            }
        },
        DialogReply::Choice(1) => {
            remember_declined(&app);
            dialog.print(LineKind::Warning, &catalogue.line(&TuiLine::TrustDeclined));
        }
        DialogReply::Choice(_) | DialogReply::Text(_) | DialogReply::Back | DialogReply::Leave => {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads configuration, keys and trust again, and the set-up of a worktree that was not trusted.
///
/// # Errors
/// The errors of [`AppContext::new`] and of `Worktree::load_setup`.
pub(super) fn reload(process: &mut RunProcess<'_>, flags: &Flags) -> Result<(), Reason> {
    let before = &process.app;
    let writer = before.dialect_writer.clone();
    let mut app = AppContext::new(flags.clone(), writer, ConfigUse::Needed, before.started_at)?;
    app.worktree.clone_from(&before.worktree);
    if let Some(worktree) = &mut app.worktree {
        worktree.load_setup(&app.workspace, &app.trust)?;
    }
    process.app = app.into();
    Ok(())
}

/// Returns a line about each part of the configuration on which trust has an effect.
fn entries(app: &AppContext) -> Vec<String> {
    let catalogue = &app.base.catalogue;
    let line = |line: &TuiLine<'_>| escape_to_one_line(&catalogue.line(line));
    let mut lines: Vec<String> = match project_entries(app) {
        Ok(entries) => {
            let has_effect = |entry: &&ProjectEntry| !entry.counts;
            entries.iter().filter(has_effect).map(|entry| entry_line(app, entry)).collect()
        }
        // A file that is not valid is an error of the run once the folder is trusted.
        Err(_) => app.trust.files.existing().map(|file| line(&TuiLine::TrustFile { file })).collect(),
    };
    let worktrees =
        WORKTREE_FILES.into_iter().filter(|name| app.trust.files.exists(&app.workspace.join(name)));
    lines.extend(worktrees.map(|file| line(&TuiLine::TrustFile { file })));
    if app.workspace == app.dirs.home {
        // The texts in the home directory are those of the user.
        return lines;
    }
    let Texts { rules, skills, agents } = Texts::find(app);
    lines.extend(agents.map(|names| line(&TuiLine::TrustAgents { names: &names })));
    lines.extend(rules.map(|names| line(&TuiLine::TrustRules { names: &names })));
    lines.extend(skills.map(|names| line(&TuiLine::TrustSkills { names: &names })));
    lines
}

fn entry_line(app: &AppContext, ProjectEntry { kind, file, .. }: &ProjectEntry) -> String {
    let file = Path::new(file).strip_prefix(&app.workspace).unwrap_or(Path::new(file)).display().to_string();
    let line = match kind {
        ProjectEntryKind::Setting { text } => TuiLine::TrustSetting { text, file: &file },
        ProjectEntryKind::Hook { event, command } => TuiLine::TrustHook { event, command, file: &file },
        ProjectEntryKind::Server { name, target } => TuiLine::TrustServer { name, target, file: &file },
    };
    escape_to_one_line(&app.base.catalogue.line(&line))
}

/// The names of the texts of a folder for the model; `None` for none.
struct Texts {
    rules: Option<String>,
    skills: Option<String>,
    agents: Option<String>,
}

impl Texts {
    fn find(app: &AppContext) -> Self {
        let agents = AGENT_DIRECTORIES.iter().flat_map(|name| agent_names(&app.workspace.join(name)));
        let agents = joined(agents.collect());
        // A policy that cannot be built is the error of the opening.
        let Ok(policy) = build_policy(app, permission_mode(app)) else {
            return Self { rules: None, skills: None, agents };
        };
        let sources = TextSources::new(app, policy.path_policy());
        let instructions = Instructions::load(&sources);
        let relative = |name: &str| {
            let path = Path::new(name);
            path.strip_prefix(&app.workspace).unwrap_or(path).display().to_string()
        };
        let rules = instructions.project_names().map(relative).collect();
        let skills = Skills::load(&sources);
        let of_project = skills.iter().filter(|skill| skill.owner == TextOwner::Project);
        let skills = of_project.map(|skill| skill.name.clone()).collect();
        Self { rules: joined(rules), skills: joined(skills), agents }
    }
}

fn agent_names(directory: &Path) -> Vec<String> {
    let Ok(found) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = found.take(MAX_NAMES + 1).flatten().map(|entry| entry.path());
    let definitions = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    definitions.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect()
}

/// Returns the first names in one text; `None` if there is no name.
fn joined(names: Vec<String>) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let shown = names.iter().take(MAX_NAMES).map(String::as_str);
    let more = (names.len() > MAX_NAMES).then_some("…");
    Some(shown.chain(more).collect::<Vec<_>>().join(", "))
}

/// Returns the path of the record that the person has continued without trust.
fn declined_record(app: &AppContext) -> PathBuf {
    let digest = Sha256::digest(app.workspace.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    app.dirs.data.join("untrusted").join(name)
}

/// Whether the person has continued without trust, and the policy files are the same. Other texts may change.
fn is_declined(app: &AppContext) -> bool {
    let recorded = std::fs::read_to_string(declined_record(app)).ok();
    recorded.is_some_and(|recorded| Some(recorded) == app.trust.files.digest())
}

/// Records that the person continues without trust. Without the record, the question is asked again.
fn remember_declined(app: &AppContext) {
    if let Some(digest) = app.trust.files.digest() {
        super::write_private(&declined_record(app), digest.as_bytes());
    }
}
