//! The flags of `fleet run` that its runs get.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::Flags;

/// The flags of the processes of a fleet.
pub(super) struct ForwardedFlags {
    /// The flags of runs and checks: what commands may do.
    pub(super) sandbox: Vec<OsString>,
    /// The flags of runs only.
    pub(super) run: Vec<OsString>,
}

impl ForwardedFlags {
    /// Returns the flags of the processes.
    pub(super) fn new(flags: &Flags) -> Self {
        Self { sandbox: sandbox_flags(flags), run: run_flags(flags) }
    }
}

fn sandbox_flags(flags: &Flags) -> Vec<OsString> {
    let mut list = FlagList::default();
    list.switch("--force", flags.force);
    list.switch("--trust", flags.trust);
    list.word("--sandbox", flags.sandbox);
    list.texts("--allow", &flags.allow);
    list.texts("--deny", &flags.deny);
    list.texts("--ask", &flags.ask);
    list.texts("--allow-net", &flags.allow_net);
    list.texts("--allow-socket", &flags.allow_socket);
    list.text("--approval", flags.approval.as_ref());
    list.paths("--add-dir", &flags.add_dir);
    list.0
}

fn run_flags(flags: &Flags) -> Vec<OsString> {
    let mut list = FlagList::default();
    list.text("--model", flags.model.as_ref());
    list.texts("--fallback-model", &flags.fallback_model);
    list.text("--effort", flags.effort.as_ref());
    list.text("--thinking-budget", flags.thinking_budget.as_ref());
    list.texts("--without", &flags.without);
    list.word("--mode", flags.mode);
    list.switch("--plan", flags.plan);
    list.text("--endpoint", flags.endpoint.as_ref());
    list.text("--ca-file", flags.ca_file.as_ref());
    list.text("--client-cert", flags.client_cert.as_ref());
    list.text("--client-key", flags.client_key.as_ref());
    list.texts("--header", &flags.header);
    list.text("--max-turns", flags.max_turns.as_ref());
    list.text("--max-tokens", flags.max_tokens.as_ref());
    list.text("--max-cost", flags.max_cost.as_ref());
    list.text("--max-tool-calls", flags.max_tool_calls.as_ref());
    list.text("--timeout", flags.timeout.as_ref());
    for what in &flags.fail_on {
        list.word("--fail-on", Some(*what));
    }
    list.paths("--json-schema", flags.json_schema.as_slice());
    list.word("--background", flags.background);
    list.switch("--approve-mcps", flags.approve_mcps);
    list.texts("--mcp-config", &flags.mcp_config);
    list.switch("--strict-mcp-config", flags.strict_mcp_config);
    list.text("--system-prompt", flags.system_prompt.as_ref());
    list.texts("--append-system-prompt", &flags.append_system_prompt);
    list.0
}

#[derive(Default)]
struct FlagList(Vec<OsString>);

impl FlagList {
    fn switch(&mut self, name: &str, is_given: bool) {
        if is_given {
            self.0.push(name.into());
        }
    }

    /// Adds a flag in one word with its value, which may begin with a dash.
    fn text(&mut self, name: &str, value: Option<&impl ToString>) {
        self.0.extend(value.map(|value| format!("{name}={}", value.to_string()).into()));
    }

    fn texts(&mut self, name: &str, values: &[String]) {
        values.iter().for_each(|value| self.text(name, Some(value)));
    }

    fn paths(&mut self, name: &str, values: &[PathBuf]) {
        for path in values {
            let mut flag = OsString::from(format!("{name}="));
            flag.push(path);
            self.0.push(flag);
        }
    }

    fn word(&mut self, name: &str, value: Option<impl ValueEnum>) {
        let word = value.and_then(|value| value.to_possible_value());
        self.text(name, word.as_ref().map(|word| word.get_name().to_owned()).as_ref());
    }
}
