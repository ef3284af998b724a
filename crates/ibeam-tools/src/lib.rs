//! The built-in tools: files, commands, search and the to-do list.
//!
//! Each tool has one file, and one `.md` with the description for the model. A tool checks its arguments and
//! returns plain errors. It does not decide what is permitted (the gate has decided before a call runs), is independent
//! of the model, and does not print.

mod arguments;
mod atomic_write;
mod attachment;
mod beneath;
mod blocking;
mod confinement;
mod delete;
mod descriptors;
mod dir_cache;
mod dir_entry;
mod dir_walk;
mod edit;
mod editor_files;
mod editor_lock;
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
mod past_file_access;
mod path_glob;
mod read;
mod shell;
mod similar_path;
mod staging;
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
use ibeam_protocol::AcceptedMedia;

use self::arguments::Arguments;

pub use attachment::{AttachmentError, load_attachment, media_from_base64};
pub use confinement::{
    ConfinementPlan, HiddenFiles, HiddenGitObjects, is_hard_link_to_denied, plan_confinement,
};
pub use dir_walk::list_files;
pub use editor_files::{EditorFileError, EditorFiles};
pub use editor_lock::EditorLock;
pub use git_references::indirectly_protected_paths;
pub use ibeam_sandbox::DEFAULT_PROCESS_LIMIT;
pub use past_file_access::PastFileAccess;
pub use path_glob::PathGlob;
pub use shell::QuarantinedFile;
pub use shell::background::{BackgroundProcesses, CommandTimeouts};
pub use workspace::{PathError, ResolvedPath, Workspace};
pub use write::diff_of_file;

/// The settings of the tools besides the workspace.
#[derive(Clone, Debug, Default)]
pub struct ToolSettings {
    /// The environment of ibeam, from which commands get the variables that are harmless and useful.
    pub environment: Vec<(OsString, OsString)>,
    /// More variables that commands get: names, or prefixes that end in `*`. A prefix does not match
    /// secret variables; a secret variable must be listed by its full name.
    pub extra_variables: Vec<String>,
    /// Variables that commands get regardless of ibeam's own environment, such as those that name a proxy.
    pub command_environment: Vec<(OsString, OsString)>,
    /// Variables with API keys of models, which commands never get. `*_API_KEY` is always among them.
    pub secret_variables: Vec<String>,
    /// The path rules that apply to commands and tools. The default has no rules.
    pub path_policy: PathPolicy,
    /// The directory for files that a command created at protected paths: they are moved here. `None` disables the
    /// monitoring of protected paths.
    pub quarantine: Option<PathBuf>,
    /// Whether a directory that is, or contains, the home directory is monitored as any other: otherwise only the
    /// protected names of the home directory are.
    pub monitors_home: bool,
    /// The directory for the logs of background commands; `None` writes no logs.
    pub log_directory: Option<PathBuf>,
    /// The background commands, and the timeouts of all commands. The caller keeps a clone, and ends the commands when
    /// the run ends.
    pub background: BackgroundProcesses,
    /// The files that earlier runs of the session read and wrote.
    pub past_file_access: PastFileAccess,
    /// The images and documents that `read` returns.
    pub accepted_media: AcceptedMedia,
    /// The editor whose unsaved text is read, and which writes files; `None` outside of an editor.
    pub editor_files: Option<Arc<dyn EditorFiles>>,
}

/// Returns all built-in tools by name.
pub fn all(workspace: Workspace, settings: ToolSettings) -> ToolSet {
    let files = Arc::new(files::Files::new(
        workspace.clone(),
        settings.path_policy.clone(),
        &settings.past_file_access,
        settings.editor_files.clone(),
    ));
    let workspace = Arc::new(workspace);
    // The names are written here because a specification, whose schema is derived each time, costs more than a tool.
    let tools: [(&str, Arc<dyn Tool>); 9] = [
        (delete::DeleteArguments::TOOL, Arc::new(delete::Delete::new(&files))),
        (edit::EditArguments::TOOL, Arc::new(edit::Edit::new(&files))),
        (glob::GlobArguments::TOOL, Arc::new(glob::Glob::new(&files))),
        (grep::GrepArguments::TOOL, Arc::new(grep::Grep::new(&files))),
        (ls::LsArguments::TOOL, Arc::new(ls::Ls::new(&files))),
        (read::ReadArguments::TOOL, Arc::new(read::Read::new(&files, settings.accepted_media))),
        (shell::ShellArguments::TOOL, Arc::new(shell::Shell::new(&workspace, settings))),
        (update_todos::UpdateTodosArguments::TOOL, Arc::new(update_todos::UpdateTodos::default())),
        (write::WriteArguments::TOOL, Arc::new(write::Write::new(&files))),
    ];
    let guarded = tools.map(|(name, tool)| {
        let tool: Arc<dyn Tool> = Arc::new(workspace_guard::RequireWorkspace::new(tool, &workspace));
        (name.to_owned(), tool)
    });
    guarded.into_iter().collect()
}
