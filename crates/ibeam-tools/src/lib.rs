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
mod bounded_read;
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
mod file_id;
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
mod inventory;
mod known_contents;
mod ls;
mod mode_overrides;
mod name_collision;
mod offload;
mod past_file_access;
mod path_glob;
mod read;
mod shell;
mod similar_path;
mod staging;
mod text_format;
mod tool_settings;
mod tree_search;
mod update_todos;
mod workspace;
mod workspace_guard;
mod write;

use std::sync::Arc;

use ibeam_core::{Tool, ToolSet};

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
pub use tool_settings::ToolSettings;
pub use workspace::{PathError, ResolvedPath, Workspace};
pub use write::diff_of_file;

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
