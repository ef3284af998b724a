//! `worktree`: lists the worktrees that runs made for this repository, and removes one.

use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use ibeam_agent::app::AppContext;
use ibeam_agent::run::run_git_command;
use ibeam_agent::worktree::{ListedWorktree, WorktreeInventory};
use ibeam_output::{SubcommandLine, escape_to_one_line};
use ibeam_protocol::Reason;
use serde_json::{Value, json};

use super::facts::CommandFacts;
use super::printing::report;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// List and remove the git worktrees that `--worktree` made for this repository
#[derive(Args, Clone, Debug)]
pub(crate) struct WorktreeArgs {
    #[command(subcommand)]
    what: WorktreeCommand,
}

/// The commands of `worktree`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum WorktreeCommand {
    /// List them, each with its branch and with the changes that are nowhere else
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Remove one; its branch stays
    #[command(alias = "remove")]
    Rm {
        /// Its name in the list
        #[arg(value_name = "NAME")]
        name: String,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

impl SubCommand for WorktreeArgs {
    const FACTS: CommandFacts = CommandFacts::new("worktree").uses(&["timeout", "workspace"]).above(&[
        CommandFacts::new("list").with_examples(&["ibeam worktree list"]),
        CommandFacts::new("rm")
            .uses(&["force", "timeout", "workspace"])
            .with_flag_help(&[("force", "Remove it even if changes are lost with it")])
            .with_examples(&["ibeam worktree rm fix-1"]),
    ]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        match &self.what {
            WorktreeCommand::List { format } => list(app, format.unwrap_or_default(), call.stdout),
            WorktreeCommand::Rm { name, format } => {
                remove(app, name, call.flags.access.force, format.unwrap_or_default(), call.stdout)
            }
        }
        .map(success)
    }
}

/// Returns the inventory with its worktrees.
fn worktrees(app: &AppContext) -> Result<(WorktreeInventory, Vec<ListedWorktree>), CliError> {
    let inventory = WorktreeInventory::new(app)?;
    run_git_command(app, async {
        let listed = tokio::task::spawn_blocking(move || {
            let listed = inventory.list();
            (inventory, listed)
        });
        listed.await.map_err(|error| Reason::Internal { detail: error.to_string() }.into())
    })
}

fn list(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let line = |line: SubcommandLine<'_>| app.base.catalogue.line(&line);
    let (_, worktrees) = worktrees(app)?;
    let mut text = String::new();
    for worktree in &worktrees {
        let changes = match &worktree.unsaved {
            Ok(unsaved) if unsaved.is_empty() => line(SubcommandLine::WorktreeUnchanged),
            Ok(unsaved) => line(SubcommandLine::WorktreeChanges {
                uncommitted: &unsaved.uncommitted.to_string(),
                unmerged: &unsaved.unmerged.to_string(),
            }),
            Err(detail) => line(SubcommandLine::WorktreeUnreadable { detail }),
        };
        let branch = worktree.branch.as_deref().unwrap_or("?");
        let row = format!("{}  {branch}  {changes}  {}", worktree.name, worktree.path.display());
        text.push_str(&format!("{}\n", escape_to_one_line(&row)));
    }
    if worktrees.is_empty() {
        text.push_str(&format!("{}\n", line(SubcommandLine::NoWorktrees)));
    }
    let rows: Vec<Value> = worktrees
        .iter()
        .map(|worktree| {
            let unsaved = worktree.unsaved.as_ref();
            json!({
                "name": worktree.name,
                "path": worktree.path.display().to_string(),
                "branch": worktree.branch,
                "uncommitted": unsaved.map(|unsaved| unsaved.uncommitted).ok(),
                "unmerged": unsaved.map(|unsaved| unsaved.unmerged).ok(),
            })
        })
        .collect();
    report(stdout, format, &text, &json!({ "worktrees": rows }))
}

fn remove(
    app: &AppContext,
    name: &str,
    force: bool,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let name = name.to_owned();
    let (inventory, worktrees) = worktrees(app)?;
    let Some(worktree) = worktrees.into_iter().find(|worktree| worktree.name == name) else {
        return Err(CliError::UnknownWorktree { name });
    };
    if app.workspace.starts_with(&worktree.path) {
        return Err(CliError::WorktreeInUse { name });
    }
    match &worktree.unsaved {
        Ok(unsaved) if force || unsaved.is_empty() => {}
        Ok(unsaved) => {
            let (uncommitted, unmerged) = (unsaved.uncommitted, unsaved.unmerged);
            return Err(CliError::WorktreeHasChanges { name, uncommitted, unmerged });
        }
        Err(_) if force => {}
        Err(detail) => return Err(CliError::WorktreeUnreadable { name, detail: detail.clone() }),
    }
    let path = worktree.path.display().to_string();
    inventory
        .remove(&worktree)
        .map_err(|error| Reason::Io { what: path.clone(), detail: error.to_string() })?;
    let text = app.base.catalogue.line(&match &worktree.branch {
        Some(branch) => SubcommandLine::WorktreeRemoved { path: &path, branch },
        None => SubcommandLine::DetachedWorktreeRemoved { path: &path },
    });
    let removed = json!({ "name": name, "path": path, "branch": worktree.branch });
    report(stdout, format, &format!("{text}\n"), &json!({ "removed": removed }))
}
