//! The command line of Claude Code, as users and SDKs write it.
//!
//! Only printing runs and `auth status` are supported: no interactive mode and no other sub-commands.

mod flag_list;
mod permission_flags;
mod permission_rules;
mod settings;

use std::ffi::OsString;

use ibeam_dialects::{CLAUDE_CODE_VERSION, DialectName};
use ibeam_protocol::{Reason, SessionId, sentence};

use self::flag_list::FLAGS;
use super::flag_table::{help_text, parse_args, usage_error};
use super::{Env, TranslatedArgs, print_mode_args};
use crate::cli::ParseExit;
use ibeam_agent::run::given_instructions::literal;
use ibeam_serve::dialect::{
    ClaudeOptions, DialectOptions, DialectOutput, PromptSource, requested_format, resolve_claude_model,
};

/// The sub-commands of Claude Code, which are not prompts.
const SUBCOMMANDS: &[&str] =
    &["agents", "auth", "config", "doctor", "install", "mcp", "plugin", "setup-token", "update", "upgrade"];

/// The flags of one command line, before they are translated.
#[derive(Default)]
struct ClaudeDraft {
    output: Option<DialectOutput>,
    /// Whether the prompts are messages on stdin.
    reads_messages: bool,
    help: bool,
    version: bool,
    /// Whether the stream contains the prompts too.
    echo_prompts: bool,
    /// Whether pieces of texts come before the complete text.
    partial_messages: bool,
    /// The permission mode by its name in Claude Code.
    mode: Option<String>,
    bypasses_permissions: bool,
    /// Whether the settings forbid to bypass permissions.
    forbids_bypass: bool,
    /// Whether the host is asked about calls that no rule covers.
    ask_host: bool,
    /// The rules of Claude Code that allow calls.
    allow: Vec<String>,
    deny: Vec<String>,
    ask: Vec<String>,
    /// The tools that the model may use; `None` for all.
    tools: Option<Vec<String>>,
    /// The directories of `--add-dir`.
    directories: Vec<String>,
    model: Option<String>,
    /// Flags of ibeam, `--flag=value`.
    flags: Vec<String>,
    /// The id of the new session.
    session_id: Option<String>,
    /// The id of the session of `--resume`.
    resumed_id: Option<String>,
    /// Whether `--resume` or `--continue` is given.
    resumes: bool,
    forks: bool,
    /// The files with instructions, each with the flag of ibeam for its text.
    instruction_files: Vec<(&'static str, String)>,
    /// The values of `--mcp-config`: JSON, or the path of a file.
    mcp_configs: Vec<String>,
    /// The names of MCP servers that the host runs.
    host_servers: Vec<String>,
    /// The values of `--settings`: JSON, or the path of a file.
    settings: Vec<String>,
    ignored_arguments: Vec<String>,
}

/// Translates the arguments after `--dialect claude`.
pub(super) fn translate(args: &[OsString], env: &Env<'_>) -> Result<TranslatedArgs, ParseExit> {
    if let Some(form) = requested_format(args) {
        let claude =
            ClaudeOptions { auth_status: Some(form.map_err(ParseExit::from)?), ..ClaudeOptions::default() };
        let options = DialectOptions {
            output: DialectOutput::FinalMessage,
            claude,
            ..DialectOptions::new(DialectName::Claude)
        };
        return Ok(TranslatedArgs { args: vec!["status".into()], options: Some(options) });
    }
    if let Some(command) = args.first().and_then(|arg| arg.to_str()).filter(|arg| SUBCOMMANDS.contains(arg)) {
        return Err(ParseExit::from(usage_error(sentence!(
            "`claude {command}` has no counterpart; see `ibeam help flags`",
            command
        ))));
    }
    let mut draft = ClaudeDraft::default();
    let rest = parse_args(FLAGS, args, &mut draft).map_err(ParseExit::from)?;
    if draft.help {
        return Err(ParseExit::Help(help_text("ibeam --dialect claude -p [FLAGS] [PROMPT]", FLAGS)));
    }
    if draft.version {
        return Err(ParseExit::Help(format!(
            "{CLAUDE_CODE_VERSION} (Claude Code; ibeam {})\n",
            env!("CARGO_PKG_VERSION")
        )));
    }
    draft.ignored_arguments.extend(rest.ignored);
    draft.finish(rest.words, env).map_err(ParseExit::from)
}

/// Sets a field of the draft. Returns a `Result`, as the action of a flag does.
fn set<T>(place: &mut T, value: T) -> Result<(), Reason> {
    *place = value;
    Ok(())
}

/// Adds values to a field of the draft. Returns a `Result`, as the action of a flag does.
fn append<T>(place: &mut Vec<T>, values: impl IntoIterator<Item = T>) -> Result<(), Reason> {
    place.extend(values);
    Ok(())
}

impl ClaudeDraft {
    /// Adds a flag of ibeam.
    fn forward(&mut self, flag: &str, value: &str) -> Result<(), Reason> {
        append(&mut self.flags, [format!("{flag}={value}")])
    }

    fn set_output(&mut self, value: &str) -> Result<(), Reason> {
        self.output = Some(match value {
            "text" => DialectOutput::FinalMessage,
            "json" => DialectOutput::LastLine,
            "stream-json" => DialectOutput::Stream,
            other => {
                return Err(usage_error(sentence!(
                    "`--output-format {other}` should be text, json or stream-json",
                    other
                )));
            }
        });
        Ok(())
    }

    fn set_input(&mut self, value: &str) -> Result<(), Reason> {
        self.reads_messages = match value {
            "text" => false,
            "stream-json" => true,
            other => {
                return Err(usage_error(sentence!(
                    "`--input-format {other}` should be text or stream-json",
                    other
                )));
            }
        };
        Ok(())
    }

    fn set_resumed(&mut self, value: &str) -> Result<(), Reason> {
        if value.is_empty() {
            return Err(usage_error(sentence!(
                "`--resume` needs the id of a session; `--continue` takes the newest"
            )));
        }
        self.resumes = true;
        self.resumed_id = Some(value.to_owned());
        self.forward("--resume", value)
    }

    fn set_tools(&mut self, value: &str) -> Result<(), Reason> {
        self.tools = if value == "default" { None } else { Some(permission_rules::split_rules(value)) };
        Ok(())
    }

    fn set_prompt_tool(&mut self, value: &str) -> Result<(), Reason> {
        self.ask_host = value == "stdio";
        if !self.ask_host {
            // Another tool cannot be asked, so calls that need an answer are refused.
            self.ignored_arguments.push("--permission-prompt-tool".to_owned());
        }
        Ok(())
    }

    /// Checks the flags together and translates them; `words` are the arguments that are not flags.
    fn finish(mut self, mut words: Vec<String>, env: &Env<'_>) -> Result<TranslatedArgs, Reason> {
        // SDKs write an empty argument after a flag that takes no value.
        words.retain(|arg| !arg.is_empty());
        for settings in std::mem::take(&mut self.settings) {
            self.apply_settings(&settings, env)?;
        }
        for (flag, path) in std::mem::take(&mut self.instruction_files) {
            self.forward(flag, &literal(&env.file(&path)?))?;
        }
        for config in std::mem::take(&mut self.mcp_configs) {
            self.add_mcp_config(&config, env)?;
        }
        match (&self.session_id, self.resumes, self.forks) {
            (Some(_), _, true) => return Err(usage_error(sentence!("`--session-id` cannot name a fork"))),
            (Some(_), true, false) => {
                return Err(usage_error(sentence!("`--session-id` with `--resume` needs `--fork-session`")));
            }
            (Some(id), false, false) if id.parse::<SessionId>().is_err() => {
                return Err(usage_error(sentence!("`--session-id {id}` should be a UUID", id)));
            }
            // An unknown id names a new session.
            (Some(id), false, false) => self.flags.push(format!("--resume={id}")),
            (None, true, true) => self.flags.push("--fork".to_owned()),
            (None, _, _) => {}
        }
        if self.reads_messages && !words.is_empty() {
            return Err(usage_error(sentence!("`--input-format stream-json` takes the prompt from stdin")));
        }
        if let Some(name) = self.host_servers.first().filter(|_| !self.reads_messages) {
            return Err(usage_error(sentence!(
                "the MCP server `{name}` of `--mcp-config` is run by the program that starts this one, which needs \
                 `--input-format stream-json`",
                name
            )));
        }
        let output = self.output.unwrap_or(DialectOutput::FinalMessage);
        if self.reads_messages && output != DialectOutput::Stream {
            return Err(usage_error(sentence!(
                "`--input-format stream-json` needs `--output-format stream-json`"
            )));
        }
        let mode = self.translate_permissions()?;
        let request = ClaudeOptions {
            mode: mode.to_owned(),
            session_id: self.session_id.clone().or(self.resumed_id.clone().filter(|_| !self.forks)),
            model: self.model.as_deref().and_then(resolve_claude_model),
            host_servers: std::mem::take(&mut self.host_servers),
            auth_status: None,
        };
        let mut flags = std::mem::take(&mut self.flags);
        flags.extend(request.model.iter().map(|model| format!("--model={model}")));
        flags.extend(self.directories.iter().map(|directory| format!("--add-dir={directory}")));
        if words.is_empty() && !self.reads_messages {
            flags.push("--stdin=read".to_owned());
        }
        let options = DialectOptions {
            output,
            input: if self.reads_messages { PromptSource::Messages } else { PromptSource::Prompt },
            echo_prompts: self.echo_prompts,
            partial_messages: self.partial_messages && output == DialectOutput::Stream,
            ask_host: self.ask_host && self.reads_messages,
            new_session: self.session_id.is_some(),
            unknown_session_message: Some("No conversation found with session ID: "),
            ignored_arguments: self.ignored_arguments,
            claude: request,
            ..DialectOptions::new(DialectName::Claude)
        };
        Ok(TranslatedArgs { args: print_mode_args(flags, words), options: Some(options) })
    }
}

#[cfg(test)]
#[path = "claude_test.rs"]
mod tests;
