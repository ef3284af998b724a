//! The list of sub-commands. Each has a file with its arguments, the facts about it and its execution; small commands of one
//! subject share a file.

mod acp;
mod batch;
mod bug_report;
mod check;
mod compare;
mod complete;
mod config;
mod context;
mod convert;
mod diagnostics;
mod facts;
mod fleet;
mod hooks;
mod login;
mod mcp;
mod models;
mod policy;
mod printing;
mod providers;
mod quarantine;
mod reference;
mod replay;
mod resume;
mod sessions;
mod setup;
mod shim;
mod sub_command;
mod trust;
mod undo;
mod worktree;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use ibeam_agent::app::{AppContext, BaseContext, ConfigUse};
use ibeam_agent::stderr;
use ibeam_protocol::Reason;

use self::facts::CommandGroup;
pub(crate) use self::facts::{CommandFacts, FlagSet};
pub(crate) use self::models::ModelsArgs;
pub(crate) use self::printing::print_text;
pub(crate) use self::setup::install_if_missing;
pub(crate) use self::sub_command::Call;
use self::sub_command::SubCommand;
use crate::cli_error::CliError;

/// Makes the type of a command line's command, and the groups of help, of a list of commands.
macro_rules! commands {
    ($($title:literal: $($command:ident($($args:ident)::+)),+;)+) => {
        /// A sub-command. A prompt that begins with the name of one needs `--print` before it, or `--`.
        #[derive(Subcommand, Clone, Debug)]
        pub(crate) enum Command {
            $($(
                #[command(name = <$($args)::+ as SubCommand>::FACTS.name)]
                $command($($args)::+),
            )+)+
        }

        /// The groups in the order of help. A flag of runs has the title of its group as its help heading.
        pub(crate) const GROUPS: &[CommandGroup] =
            &[$(CommandGroup { title: $title, commands: &[$(<$($args)::+ as SubCommand>::FACTS),+] }),+];

        impl Command {
            /// Whether it needs no home directory and no configuration.
            pub(crate) fn is_offline(&self) -> bool {
                fn of<T: SubCommand>(_: &T) -> bool {
                    T::IS_OFFLINE
                }
                match self {
                    $($(Self::$command(args) => of(args),)+)+
                }
            }

            /// Returns the effect of an invalid configuration.
            pub(crate) fn config_use(&self) -> ConfigUse {
                match self {
                    $($(Self::$command(args) => args.config_use(),)+)+
                }
            }

            /// Executes the command. Returns the exit code of success.
            ///
            /// # Errors
            /// The error of the command.
            pub(crate) fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
                let config_use = self.config_use();
                if config_use == ConfigUse::Incidental {
                    app.base.config_errors.iter().for_each(|error| warn(app, error));
                }
                let code = match self {
                    $($(Self::$command(args) => args.execute(app, call),)+)+
                }?;
                match app.base.config_errors.split_first() {
                    Some((first, rest)) if config_use == ConfigUse::Shown => {
                        rest.iter().for_each(|error| warn(app, error));
                        Err(first.clone().into())
                    }
                    Some(_) | None => Ok(code),
                }
            }

            /// Executes a command that needs no home directory and no configuration. Returns the exit code of success.
            ///
            /// # Errors
            /// The error of the command.
            pub(crate) fn execute_offline(
                &self,
                base: &BaseContext,
                call: Call<'_>,
            ) -> Result<ExitCode, CliError> {
                match self {
                    $($(Self::$command(args) => args.execute_offline(base, call),)+)+
                }
            }
        }
    };
}

commands! {
    "run": Context(context::ContextArgs), Fleet(fleet::FleetArgs), Acp(acp::AcpArgs), Batch(batch::BatchArgs);
    "sessions":
        Resume(resume::ResumeArgs),
        Diff(undo::DiffArgs),
        Undo(undo::UndoArgs),
        Replay(replay::ReplayArgs),
        Sessions(sessions::SessionsArgs),
        CreateChat(sessions::CreateChatArgs),
        Ls(sessions::LsArgs),
        Worktree(worktree::WorktreeArgs);
    "models":
        Login(login::LoginArgs),
        Logout(login::LogoutArgs),
        Status(diagnostics::StatusArgs),
        Models(models::ModelsArgs),
        Setup(setup::SetupArgs),
        Providers(providers::ProvidersArgs);
    "permissions":
        Policy(policy::PolicyArgs),
        Trust(trust::TrustArgs),
        Quarantine(quarantine::QuarantineArgs),
        Hooks(hooks::HooksArgs),
        Mcp(mcp::McpArgs);
    "output":
        Check(check::CheckArgs),
        Convert(convert::ConvertArgs),
        Schema(reference::SchemaArgs),
        Errors(reference::ErrorsArgs);
    "setup":
        Config(config::ConfigArgs),
        Doctor(diagnostics::DoctorArgs),
        Report(bug_report::ReportArgs),
        About(diagnostics::AboutArgs),
        Completions(reference::CompletionsArgs),
        Shim(shim::ShimArgs),
        Complete(complete::CompleteArgs);
}

fn warn(app: &AppContext, error: &Reason) {
    stderr::write_line(&format!("warning: {}", app.base.catalogue.reason(error).message));
}

/// Returns the facts about the command at a path, e.g. `fleet run`, after those about the commands above it.
pub(crate) fn facts_on_path(path: &str) -> Vec<&'static CommandFacts> {
    let mut found = Vec::new();
    let mut level: Box<dyn Iterator<Item = &CommandFacts>> =
        Box::new(GROUPS.iter().flat_map(|group| group.commands));
    for name in path.split_whitespace() {
        let Some(facts) = level.find(|facts| facts.name == name) else { break };
        found.push(facts);
        level = Box::new(facts.below.iter());
    }
    found
}
