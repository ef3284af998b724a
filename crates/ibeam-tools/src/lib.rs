//! The built-in tools: files, commands, search and the to-do list.
//!
//! One file and one `.md` (the model's description) each. A tool checks what it is given and says plainly what
//! went wrong; it refuses to decide what is permitted (the gate has spoken before `run`), to know a model, and
//! to print.

mod arguments;
mod atomic_write;
mod beneath;
mod blocking;
mod confinement;
mod delete;
mod descriptors;
mod dir_cache;
mod dir_entry;
mod dir_walk;
mod edit;
mod elision;
mod evidence;
mod file_error;
mod files;
#[cfg(test)]
mod fixture;
mod git_config;
mod git_directory;
mod git_index;
mod git_references;
mod glob;
mod glob_bounds;
mod grep;
mod ignore_rules;
mod known_contents;
mod ls;
mod name_collision;
mod offload;
mod past_contents;
mod read;
mod shell;
mod staging;
mod target_path;
mod text_format;
mod tree_search;
mod update_todos;
mod workspace;
mod workspace_guard;
mod write;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use ibeam_core::{Tool, ToolSet};
use ibeam_policy::PathPolicy;

pub use confinement::{ConfinementPlan, HiddenGitObjects, is_hard_link_to_denied, plan_confinement};
pub use dir_walk::list_files;
pub use git_references::paths_named_by_git;
pub use ibeam_sandbox::DEFAULT_PROCESS_LIMIT;
pub use past_contents::PastContents;
pub use shell::background::{BackgroundProcesses, CommandTimeouts};
pub use shell::process_tree::ProcessTree;
pub use workspace::{PathError, ResolvedPath, Workspace};

/// What the tools need to know of the run besides its workspace.
#[derive(Clone, Debug, Default)]
pub struct ToolSettings {
    /// Our environment, of which commands get what is harmless and useful.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables that commands get too: names, or beginnings of names with a last `*`. A secret passes only by its
    /// whole name.
    pub extra_environment: Vec<String>,
    /// Variables that commands get whatever our own environment says, such as those that name a proxy.
    pub command_environment: Vec<(OsString, OsString)>,
    /// Names of variables with keys of models, which commands never see; `*_API_KEY` never reaches them either.
    pub secret_variables: Vec<String>,
    /// What holds whatever a command or a tool does. The default holds nothing.
    pub path_policy: PathPolicy,
    /// Where a thing goes that a command has put where it must not; `None` looks for no such things.
    pub quarantine: Option<PathBuf>,
    /// Where logs of background commands go; `None` keeps none.
    pub log_directory: Option<PathBuf>,
    /// The commands left running, and how long each may take. Keep a clone, for their end with the run.
    pub background: BackgroundProcesses,
    /// What earlier runs of the session read and wrote.
    pub past_contents: PastContents,
}

/// Every built-in tool, by name.
pub fn all(workspace: Workspace, settings: ToolSettings) -> ToolSet {
    let files =
        Arc::new(files::Files::new(workspace.clone(), settings.path_policy.clone(), &settings.past_contents));
    let workspace = Arc::new(workspace);
    let tools: [Arc<dyn Tool>; 9] = [
        Arc::new(delete::Delete::new(&files)),
        Arc::new(edit::Edit::new(&files)),
        Arc::new(glob::Glob::new(&files)),
        Arc::new(grep::Grep::new(&files)),
        Arc::new(ls::Ls::new(&files)),
        Arc::new(read::Read::new(&files)),
        Arc::new(shell::Shell::new(&workspace, settings)),
        Arc::new(update_todos::UpdateTodos::default()),
        Arc::new(write::Write::new(&files)),
    ];
    let grounded = tools.into_iter().map(|tool| workspace_guard::RequireWorkspace::new(tool, &workspace));
    grounded.map(|tool| (tool.spec().name.into_owned(), Arc::new(tool) as Arc<dyn Tool>)).collect()
}
