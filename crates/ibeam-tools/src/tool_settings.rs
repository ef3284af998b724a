//! The settings of the tools.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use ibeam_policy::PathPolicy;
use ibeam_protocol::AcceptedMedia;

use crate::editor_files::EditorFiles;
use crate::past_file_access::PastFileAccess;
use crate::shell::background::BackgroundProcesses;

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
