//! The flags of `fleet run` that its runs get.

use std::ffi::OsString;
use std::path::PathBuf;

use ibeam_core::FailOn;

use ibeam_agent::run_options::{RunOptions, WorkMode};

/// The flags of keys of the configuration that decide what commands may do.
const SANDBOX_SETTINGS: &[&str] =
    &["--allow", "--allow-net", "--allow-socket", "--approval", "--ask", "--deny", "--sandbox"];
/// The flags of keys of the configuration that runs of a fleet do not get. They get all others.
const OWN_SETTINGS: &[&str] = &["--ephemeral", "--from-recording", "--lang", "--verbose"];

/// The flags of the processes of a fleet.
pub(super) struct ForwardedFlags {
    /// The flags of runs and checks: what commands may do.
    pub(super) sandbox: Vec<OsString>,
    /// The flags of runs only.
    pub(super) run: Vec<OsString>,
}

impl ForwardedFlags {
    /// Returns the flags of the processes.
    pub(super) fn new(options: &RunOptions) -> Self {
        Self { sandbox: sandbox_flags(options), run: run_flags(options) }
    }
}

fn sandbox_flags(options: &RunOptions) -> Vec<OsString> {
    let mut list = FlagList::default();
    list.switch("--force", options.force);
    list.switch("--trust", options.trust);
    list.settings(options, |flag| SANDBOX_SETTINGS.contains(&flag));
    list.paths("--add-dir", &options.add_dir);
    list.0
}

fn run_flags(options: &RunOptions) -> Vec<OsString> {
    let mut list = FlagList::default();
    list.settings(options, |flag| !SANDBOX_SETTINGS.contains(&flag) && !OWN_SETTINGS.contains(&flag));
    list.texts("--fallback-model", &options.fallback_model);
    list.texts("--without", &options.without);
    list.text("--mode", Some(options.mode).filter(|mode| mode.is_read_only()).map(WorkMode::name).as_ref());
    list.text("--endpoint", options.endpoint.as_ref());
    list.texts("--header", &options.header);
    let FailOn { denied, tool_error, empty, background } = options.fail_on;
    let conditions =
        [("denied", denied), ("tool-error", tool_error), ("empty", empty), ("background", background)];
    for (condition, _) in conditions.iter().filter(|(_, is_given)| *is_given) {
        list.text("--fail-on", Some(condition));
    }
    list.paths("--json-schema", options.json_schema.as_slice());
    list.switch("--approve-mcps", options.approve_mcps);
    list.texts("--mcp-config", &options.mcp_config);
    list.switch("--strict-mcp-config", options.strict_mcp_config);
    list.text("--system-prompt", options.system_prompt.as_ref());
    list.texts("--append-system-prompt", &options.append_system_prompt);
    list.0
}

#[derive(Default)]
struct FlagList(Vec<OsString>);

impl FlagList {
    fn settings(&mut self, options: &RunOptions, is_used: impl Fn(&str) -> bool) {
        self.0.extend(options.setting_flags(is_used).map(OsString::from));
    }

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
}
