//! The options of a run that the flags ask for.

use ibeam_core::FailOn;

use super::{BackgroundArg, FailOnArg, Flags, Mode, Stdin, Switch};
use ibeam_agent::prompt::StdinUse;
use ibeam_agent::run::SessionTarget;
use ibeam_agent::run_options::{RunOptions, WorkMode};

impl Flags {
    /// Returns the options of a run with these flags.
    pub(crate) fn run_options(&self) -> RunOptions {
        let given = self.clone();
        RunOptions {
            session: self.session(),
            mode: self.work_mode(),
            sandbox: self.sandbox.map(|switch| switch == Switch::Enabled),
            waits_for_background: self.background.map(|arg| arg == BackgroundArg::Wait),
            fail_on: self.fail_on(),
            workspace: given.workspace,
            add_dir: given.add_dir,
            worktree: given.worktree,
            worktree_base: given.worktree_base,
            skip_worktree_setup: given.skip_worktree_setup,
            creates_named_session: false,
            fork: given.fork,
            ephemeral: given.ephemeral,
            from_plan: given.from_plan,
            from_atif: given.from_atif,
            unpark: given.unpark,
            park_requests: given.park_requests,
            model: given.model,
            fallback_model: given.fallback_model,
            effort: given.effort,
            thinking_budget: given.thinking_budget,
            api_key: given.api_key,
            endpoint: given.endpoint,
            header: given.header,
            ca_file: given.ca_file,
            client_cert: given.client_cert,
            client_key: given.client_key,
            setup: given.setup,
            record: given.record,
            from_recording: given.from_recording,
            recording_speed: given.recording_speed,
            system_prompt: given.system_prompt,
            append_system_prompt: given.append_system_prompt,
            without_instructions: given.without_instructions,
            file: given.file,
            image: given.image,
            json_schema: given.json_schema,
            force: given.force,
            trust: given.trust,
            allow: given.allow,
            ask: given.ask,
            deny: given.deny,
            allow_net: given.allow_net,
            allow_socket: given.allow_socket,
            approval: given.approval,
            without: given.without,
            approve_mcps: given.approve_mcps,
            mcp_config: given.mcp_config,
            strict_mcp_config: given.strict_mcp_config,
            max_turns: given.max_turns,
            max_tokens: given.max_tokens,
            max_cost: given.max_cost,
            max_tool_calls: given.max_tool_calls,
            timeout: given.timeout,
            lang: given.lang,
            verbose: given.verbose,
            contract: given.contract,
            debug: given.debug,
            trace_file: given.trace_file,
            heartbeat: given.heartbeat,
        }
    }

    fn session(&self) -> SessionTarget {
        match (&self.resume, self.continue_) {
            (Some(name), _) if name == "-1" => SessionTarget::Newest,
            (Some(name), _) => SessionTarget::Named(name.clone()),
            (None, true) => SessionTarget::Newest,
            (None, false) => SessionTarget::New,
        }
    }

    fn work_mode(&self) -> WorkMode {
        match self.mode {
            Some(Mode::Plan) => WorkMode::Plan,
            Some(Mode::Ask) => WorkMode::Ask,
            Some(Mode::Agent) | None if self.plan => WorkMode::Plan,
            Some(Mode::Agent) | None => WorkMode::Agent,
        }
    }

    fn fail_on(&self) -> FailOn {
        let fails = |word| self.fail_on.contains(&word);
        FailOn {
            denied: fails(FailOnArg::Denied),
            tool_error: fails(FailOnArg::ToolError),
            empty: fails(FailOnArg::Empty),
            background: fails(FailOnArg::Background),
        }
    }
}

impl From<Stdin> for StdinUse {
    fn from(given: Stdin) -> Self {
        match given {
            Stdin::Auto => Self::Auto,
            Stdin::Read => Self::Read,
            Stdin::Ignore => Self::Ignore,
        }
    }
}
