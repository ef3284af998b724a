//! The flags that set keys of the configuration, as [`FlagSetting`]s.

use clap::ValueEnum;
use ibeam_config::{FlagInput, FlagSetting, TrustRequest};

use super::{BackgroundArg, Flags, Switch};

impl Flags {
    /// Returns what the flags set in the configuration.
    pub(crate) fn settings(&self) -> Vec<FlagSetting> {
        let texts = [
            ("--model", "model", self.model.clone()),
            ("--effort", "effort", self.effort.clone()),
            ("--thinking-budget", "thinking_budget", self.thinking_budget.map(|tokens| tokens.to_string())),
            ("--lang", "lang", self.lang.clone()),
            ("--timeout", "limits.timeout", self.timeout.clone()),
            ("--max-turns", "limits.max_turns", self.max_turns.map(|turns| turns.to_string())),
            ("--max-tokens", "limits.max_tokens", self.max_tokens.map(|tokens| tokens.to_string())),
            ("--max-cost", "limits.max_cost", self.max_cost.clone()),
            ("--max-tool-calls", "limits.max_tool_calls", self.max_tool_calls.map(|calls| calls.to_string())),
            ("--background", "background", self.background.map(|arg| arg.value().to_owned())),
            ("--approval", "approval", self.approval.clone()),
            ("--ephemeral", "session.ephemeral", self.ephemeral.then(|| "true".to_owned())),
            (
                "--from-recording",
                "session.ephemeral",
                self.starts_recorded_session().then(|| "true".to_owned()),
            ),
            ("--ca-file", "tls.ca_file", self.ca_file.clone()),
            ("--client-cert", "tls.client_cert", self.client_cert.clone()),
            ("--client-key", "tls.client_key", self.client_key.clone()),
            ("--verbose", "verbose", self.verbose.then(|| "true".to_owned())),
            ("--sandbox", "sandbox.mode", self.sandbox.map(|switch| switch.value().to_owned())),
        ];
        let lists = [
            ("--allow", "permissions.allow", &self.allow),
            ("--ask", "permissions.ask", &self.ask),
            ("--deny", "permissions.deny", &self.deny),
            ("--allow-net", "network.allow", &self.allow_net),
            ("--allow-socket", "sandbox.sockets", &self.allow_socket),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(flag, key, text)| Some(FlagSetting { flag, key, input: FlagInput::Text(text?) }));
        let lists = lists.into_iter().map(|(flag, key, entries)| FlagSetting {
            flag,
            key,
            input: FlagInput::Entries(entries.clone()),
        });
        texts.chain(lists).collect()
    }

    /// Returns the arguments with which a command of this program describes what a conversation with these flags does: those
    /// of its language, model, rules and sandbox that the command uses. `--trust` is not one of them: it would trust what has
    /// changed since.
    pub(crate) fn for_command(&self, command: &[&str]) -> Vec<String> {
        const RULES: [&str; 6] = ["--approval", "--sandbox", "--allow", "--ask", "--deny", "--allow-net"];
        let (has_rules, has_model) = match command.first() {
            Some(&"context") => (true, true),
            Some(&"policy") => (true, false),
            Some(&"models") => (false, true),
            Some(_) | None => (false, false),
        };
        let is_used = |flag: &str| match flag {
            "--lang" => true,
            "--model" => has_model,
            _ => has_rules && RULES.contains(&flag),
        };
        let settings = self.settings().into_iter().filter(|setting| is_used(setting.flag));
        let values = settings.flat_map(|FlagSetting { flag, input, .. }| {
            let values = match input {
                FlagInput::Text(text) => vec![text],
                FlagInput::Entries(entries) => entries,
            };
            values.into_iter().map(move |value| format!("{flag}={value}"))
        });
        let directories = self.add_dir.iter().filter(|_| has_rules);
        values.chain(directories.map(|path| format!("--add-dir={}", path.display()))).collect()
    }

    /// Returns the further arguments with which `context` counts what a conversation with these flags sends: its mode,
    /// instructions and tools.
    pub(crate) fn for_context(&self) -> Vec<String> {
        let mode = self.mode.as_ref().and_then(ValueEnum::to_possible_value);
        let mode = mode.map(|mode| format!("--mode={}", mode.get_name()));
        let plan = self.plan.then(|| "--plan".to_owned());
        let strict = self.strict_mcp_config.then(|| "--strict-mcp-config".to_owned());
        let system = self.system_prompt.iter().map(|text| format!("--system-prompt={text}"));
        let appended = self.append_system_prompt.iter().map(|text| format!("--append-system-prompt={text}"));
        let without = self.without.iter().map(|tool| format!("--without={tool}"));
        let servers = self.mcp_config.iter().map(|config| format!("--mcp-config={config}"));
        let switches = mode.into_iter().chain(plan).chain(strict);
        switches.chain(system).chain(appended).chain(without).chain(servers).collect()
    }

    /// Whether the run answers from recordings in a new session. Such a session is not stored: each of these runs has the same
    /// pinned session id.
    fn starts_recorded_session(&self) -> bool {
        self.from_recording.is_some() && self.resume.is_none() && !self.continue_
    }

    /// Returns what the flags say about trust in the workspace.
    pub(crate) fn trust_request(&self) -> TrustRequest {
        match (self.trust, self.force) {
            (true, _) => TrustRequest::Remember,
            (false, true) => TrustRequest::ThisRun,
            (false, false) => TrustRequest::UseStored,
        }
    }
}

impl BackgroundArg {
    /// Returns the value of the key `background`.
    fn value(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Wait => "wait",
        }
    }
}

impl Switch {
    /// Returns the value of the key `sandbox.mode`.
    fn value(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
        }
    }
}
