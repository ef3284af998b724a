//! `complete`: the candidates of a completion, which `cli/complete.rs` finds.

use std::ffi::OsString;

use clap::Args;
use ibeam_agent::app::ConfigUse;

use super::facts::CommandFacts;
use super::sub_command::SubCommand;

/// Print the candidates of a completion, for the scripts of `completions`
#[derive(Args, Clone, Debug)]
#[command(hide = true)]
pub(crate) struct CompleteArgs {
    /// The words of the command line up to the cursor
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

impl SubCommand for CompleteArgs {
    const FACTS: CommandFacts = CommandFacts::new("complete").uses(&[]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }
}
