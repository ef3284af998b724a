//! The workspace that the options name.

use std::io;
use std::path::PathBuf;

use ibeam_config::Dirs;
use ibeam_protocol::Reason;
use rustix::fs::{Access, access};

use crate::resource_exhaustion;
use crate::run_options::RunOptions;

/// Returns the workspace, absolute and with links resolved, and the directories of the user and of the project.
///
/// # Errors
/// `NoInput` for the workspace; `CannotCreate` where no home directory is known.
pub fn resolve_workspace(options: &RunOptions) -> Result<(PathBuf, Dirs), Reason> {
    let given = options.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let no_input = |detail: String| Reason::NoInput { path: given.display().to_string(), detail };
    let unread = |error: io::Error| {
        resource_exhaustion::from_io_error(&error).unwrap_or_else(|| no_input(error.to_string()))
    };
    let workspace = given.canonicalize().map_err(unread)?;
    if !workspace.is_dir() {
        return Err(no_input("not a directory".to_owned()));
    }
    // Without this check, each file in the workspace would be reported as unreadable.
    access(&workspace, Access::EXEC_OK).map_err(|errno| unread(errno.into()))?;
    let dirs = Dirs::for_workspace(&workspace)?;
    Ok((workspace, dirs))
}
