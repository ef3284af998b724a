//! The user's git, started so that no repository can make it run a program: for checkpoints, worktrees and fleets.
//!
//! Git runs the programs that the configuration of a repository names: filters, monitors, hooks, transports. So no command
//! of this program ever opens a repository of somebody else. Each command gets a git directory that this program has made
//! ([`Place`]). For a repository, that is a [`RepositoryView`]: a directory of links to its objects and references, with a
//! configuration that has nothing but the few values of [`settings`] that name no program. There is nothing to switch off,
//! so a setting that git learns later, an `includeIf` or another file of the repository has no effect either.
//!
//! The configuration of the user and of the system stays in force: its filters, such as Git LFS, and its logins are the
//! user's own. How a command is run, with its limit of time and with the end of everything that it started, is up to the
//! caller ([`Git::new`]).

mod beneath;
mod blocking_files;
mod command;
mod layout;
mod location;
mod registration;
mod settings;
mod view;

pub use blocking_files::find_blocking_file;
pub use command::{Git, GitError, Place, command};
pub use location::{RepositoryLocation, git_dir, local_path, read_line};
pub use registration::{NewWorktree, create_branch, unregister_worktree};
pub use view::{RemoteSettings, RepositoryView};
