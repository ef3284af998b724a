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
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::project_entries::{ProjectEntry, ProjectEntryKind, project_entries, project_texts};
use ibeam_agent::run::run_process::RunProcess;
use ibeam_agent::run_error::RunError;
use ibeam_agent::run_options::RunOptions;

/// The number of entries that are shown.
const MAX_ENTRIES: usize = 12;
/// The number of names that one entry has.
const MAX_NAMES: usize = 8;

/// Asks whether the folder is trusted if it has configuration that trust would change, and reloads the context of
/// `process` after a consent. Returns `false` if the person leaves, which has the effect `escape`.
///
/// # Errors
/// The reason of a signal; the errors of [`reload`].
pub(super) fn ask<D: StartDialog>(
    process: &mut RunProcess<'_>,
    options: &RunOptions,
    dialog: &D,
    escape: EscapeEffect,
) -> Result<bool, RunError> {
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
                reload(process, options)?;
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
pub(super) fn reload(process: &mut RunProcess<'_>, options: &RunOptions) -> Result<(), Reason> {
    let before = &process.app;
    let mut app = AppContext::new(options.clone(), ConfigUse::Needed, before.started_at)?;
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
    let (mut agents, mut rules, mut skills) = (Vec::new(), Vec::new(), Vec::new());
    for entry in project_texts(app) {
        match &entry.kind {
            ProjectEntryKind::Agent { name } => agents.push(name.clone()),
            ProjectEntryKind::Rules => rules.push(relative(app, &entry.file)),
            ProjectEntryKind::Skill { name } => skills.push(name.clone()),
            ProjectEntryKind::Setup
            | ProjectEntryKind::Setting { .. }
            | ProjectEntryKind::Hook { .. }
            | ProjectEntryKind::Server { .. } => lines.push(entry_line(app, &entry)),
        }
    }
    lines.extend(joined(&agents).map(|names| line(&TuiLine::TrustAgents { names: &names })));
    lines.extend(joined(&rules).map(|names| line(&TuiLine::TrustRules { names: &names })));
    lines.extend(joined(&skills).map(|names| line(&TuiLine::TrustSkills { names: &names })));
    lines
}

fn entry_line(app: &AppContext, ProjectEntry { kind, file, .. }: &ProjectEntry) -> String {
    let file = relative(app, file);
    let line = match kind {
        ProjectEntryKind::Setting { text } => TuiLine::TrustSetting { text, file: &file },
        ProjectEntryKind::Hook { event, command } => TuiLine::TrustHook { event, command, file: &file },
        ProjectEntryKind::Server { name, target } => TuiLine::TrustServer { name, target, file: &file },
        ProjectEntryKind::Setup | ProjectEntryKind::Rules => TuiLine::TrustFile { file: &file },
        ProjectEntryKind::Skill { name } => TuiLine::TrustSkills { names: name },
        ProjectEntryKind::Agent { name } => TuiLine::TrustAgents { names: name },
    };
    escape_to_one_line(&app.base.catalogue.line(&line))
}

/// Returns the path for people: relative to the workspace where it is in it.
fn relative(app: &AppContext, file: &str) -> String {
    Path::new(file).strip_prefix(&app.workspace).unwrap_or(Path::new(file)).display().to_string()
}

/// Returns the first names in one text; `None` if there is no name.
fn joined(names: &[String]) -> Option<String> {
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
