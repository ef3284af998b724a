//! The throw-away things.

use super::Addition;
use super::Edit::{Before, New, Replace};

pub(super) const ADDITIONS: &[Addition] = &[
    Addition {
        what: "a tool",
        limit: 6,
        edits: &[
            New {
                path: "crates/ibeam-wire/src/tool/throwaway.rs",
                text: r#"//! `throwaway`: does nothing.

use super::definition::Tool;
use crate::describe::{DescribeObject, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "throwawayToolCall";

/// The tool `throwaway`.
pub const TOOL: Tool = Tool {
    name: Some("throwaway"),
    key: KEY,
    description: "Does nothing.",
    args: Some(ThrowawayArgs::<String>::object),
    success: ThrowawaySuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

contract_object! {
    /// A text.
    pub struct ThrowawayArgs<S: Default = String> {
        /// The text.
        required text("text"): S,
    }
}

contract_object! {
    /// A copy of the text.
    pub struct ThrowawaySuccess<S: Default = String> {
        /// The text.
        payload text("text"): S,
    }
}
"#,
            },
            Before { path: "crates/ibeam-wire/src/tool.rs", anchor: "pub mod update_todos;\n", text: "pub mod throwaway;\n" },
            Before {
                path: "crates/ibeam-wire/src/tool.rs",
                anchor: "    update_todos::TOOL,\n",
                text: "    throwaway::TOOL,\n",
            },
            New {
                path: "crates/ibeam-tools/src/throwaway.rs",
                text: r###"//! `throwaway`: returns a text.

use ibeam_core::{Access, PreparedCall, Tool, ToolInputError};
use ibeam_protocol::{ToolOutcome, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::{self, Arguments};

pub(crate) struct Throwaway;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct ThrowawayArguments {
    text: String,
}

impl Arguments for ThrowawayArguments {
    const TOOL: &'static str = "throwaway";
    const EXAMPLE: &'static str = r##"{"text": "hello"}"##;
}

impl Tool for Throwaway {
    fn spec(&self) -> ToolSpec {
        arguments::spec::<ThrowawayArguments>(include_str!("throwaway.md"))
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = arguments::parse::<ThrowawayArguments>(arguments)?;
        let canonical = arguments::to_canonical_json(&args)?;
        Ok(PreparedCall::new(canonical, Access::Nothing, async move |_| ToolOutcome::Success {
            output: ToolOutput::Other(json!({ "text": args.text })),
            for_model: args.text.into(),
        }))
    }
}
"###,
            },
            New { path: "crates/ibeam-tools/src/throwaway.md", text: "Return a text.\n" },
            Before { path: "crates/ibeam-tools/src/lib.rs", anchor: "mod tree_search;\n", text: "mod throwaway;\n" },
            Replace {
                path: "crates/ibeam-tools/src/lib.rs",
                anchor: "let tools: [(&str, Arc<dyn Tool>); 9] = [",
                text: "let tools: [(&str, Arc<dyn Tool>); 10] = [
        (throwaway::ThrowawayArguments::TOOL, Arc::new(throwaway::Throwaway)),",
            },
            Before { path: "docs/tools.md", anchor: "| `update_todos` |", text: "| `throwaway` | `text` | the text |\n" },
        ],
    },
    Addition {
        what: "a flag of runs",
        limit: 2,
        edits: &[
            Before {
                path: "crates/ibeam-agent/src/run_options.rs",
                anchor: "    /// Whether nothing of the run is stored.\n",
                text: "    /// A throw-away option.\n    pub throwaway: bool,\n",
            },
            // It sets the key that is added below.
            Before {
                path: "crates/ibeam-agent/src/run_options.rs",
                anchor: "            (\"--verbose\", \"verbose\", word(self.verbose)),\n",
                text: "            (\"--throwaway\", \"throwaway\", word(self.throwaway)),\n",
            },
            Before {
                path: "crates/ibeam/src/flags.rs",
                anchor: "    /// Copy the session that `--resume` or `--continue` names",
                text: "    /// Do nothing\n    #[arg(long, global = true)]\n    pub(crate) throwaway: bool,\n\n",
            },
            Before {
                path: "crates/ibeam/src/flags.rs",
                anchor: "            fork: given.session.fork,\n",
                text: "            throwaway: given.session.throwaway,\n",
            },
        ],
    },
    Addition {
        what: "a sub-command",
        limit: 2,
        edits: &[
            New {
                path: "crates/ibeam/src/command/throwaway.rs",
                text: r#"//! `throwaway`: prints a text.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::AppContext;

use super::facts::CommandFacts;
use super::printing::print_text;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;

/// Print a text
#[derive(Args, Clone, Debug)]
pub(crate) struct ThrowawayArgs {
    /// The text
    text: String,
}

impl SubCommand for ThrowawayArgs {
    const FACTS: CommandFacts =
        CommandFacts::new("throwaway").uses(&[]).with_examples(&["ibeam throwaway hello"]);

    fn execute(&self, _app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        print_text(call.stdout, &self.text).map(success)
    }
}
"#,
            },
            Before { path: "crates/ibeam/src/command.rs", anchor: "mod trust;\n", text: "mod throwaway;\n" },
            Before {
                path: "crates/ibeam/src/command.rs",
                anchor: "        Complete(complete::CompleteArgs);\n",
                text: "        Throwaway(throwaway::ThrowawayArgs),\n",
            },
        ],
    },
    Addition {
        what: "a hook event",
        limit: 3,
        edits: &[
            Before {
                path: "crates/ibeam-hooks/src/event_name.rs",
                anchor: "    SessionEnd,\n}",
                text: "    Throwaway,\n",
            },
            Replace {
                path: "crates/ibeam-hooks/src/event_name.rs",
                anchor: "    pub(crate) const ALL: [Self; 18] = [\n",
                text: "    pub(crate) const ALL: [Self; 19] = [\n        Self::Throwaway,\n",
            },
            Before {
                path: "crates/ibeam-hooks/src/event_name.rs",
                anchor: "            Self::SessionEnd => \"sessionEnd\",\n",
                text: "            Self::Throwaway => \"throwaway\",\n",
            },
            Before {
                path: "crates/ibeam-hooks/src/event_name.rs",
                anchor: "            | Self::SessionEnd => false,\n",
                text: "            | Self::Throwaway\n",
            },
            Before {
                path: "crates/ibeam-hooks/src/event_name.rs",
                anchor: "            Self::SessionEnd => Some(\"SessionEnd\"),\n",
                text: "            Self::Throwaway => None,\n",
            },
            Before {
                path: "crates/ibeam-hooks/src/event_name.rs",
                anchor: "            Self::Stop => json!({\"status\": \"completed\", \"loop_count\": 0}),\n",
                text: "            Self::Throwaway => json!({}),\n",
            },
            Before {
                path: "crates/ibeam-hooks/src/event_name.rs",
                anchor: "            Self::SessionEnd => json!({\"reason\": \"other\"}),\n",
                text: "            Self::Throwaway => json!({}),\n",
            },
            Before {
                path: "crates/ibeam-hooks/src/event_name.rs",
                anchor: "            | Self::SessionEnd => None,\n",
                text: "            | Self::Throwaway\n",
            },
            Replace {
                path: "crates/ibeam-hooks/src/runner.rs",
                anchor: "            return None;
        }
        self.notify_all([self.session_end_invocation(outcome)])\n",
                text: "            return None;
        }
        let claude = || Ok(ClaudeFields::new(\"\", json!({})));
        let throwaway = self.invocation(EventName::Throwaway, None, self.payloads.session_end(\"\", None, self.started_at.elapsed()), claude);
        self.notify_all([throwaway, self.session_end_invocation(outcome)])\n",
            },
            Before { path: "docs/hooks.md", anchor: "| `sessionEnd` |", text: "| `throwaway` | – | – |\n" },
        ],
    },
    Addition {
        what: "a command of conversations",
        limit: 2,
        edits: &[
            Replace {
                path: "crates/ibeam-conversation/src/command_table.rs",
                anchor: "const COMMANDS: &[ConversationCommand] = &[\n",
                text: "const COMMANDS: &[ConversationCommand] = &[
    ConversationCommand::new(\"/throwaway\", sentence_text!(\"do nothing\"), Print(|_| {})),\n",
            },
            Before { path: "docs/interactive.md", anchor: "| `/cost` |", text: "| `/throwaway` | nothing |\n" },
        ],
    },
    Addition {
        what: "a configuration key",
        limit: 2,
        edits: &[
            Before {
                path: "crates/ibeam-config/src/settings/tables.rs",
                anchor: "        /// Whether the format `text` shows the path or command of each action.\n",
                text: "        /// A throw-away key.\n        throwaway: Setting<bool> = Switch, Any;\n",
            },
            Before {
                path: "docs/configuration.md",
                anchor: "| `verbose` | true or false |",
                text: "| `throwaway` | true or false | false | | yes |\n",
            },
        ],
    },
];
