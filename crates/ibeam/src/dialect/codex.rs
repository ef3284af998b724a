//! The command line of Codex, as people and its SDK write it: `codex exec`, alone or with `resume`.
//!
//! `codex exec` never asks about calls. Its read-only sandbox has no counterpart. Stricter rules replace it: nothing is
//! written, and only commands that a rule allows are run.

mod config_settings;

use std::ffi::OsString;
use std::path::PathBuf;

use ibeam_dialects::DialectName;
use ibeam_protocol::{Reason, sentence, sentence_text};
use ibeam_providers::default_models::default_model;

use super::flag_table::{Arity, Flag, FlagAction, help_text, parse_args, usage_error};
use super::{Env, TranslatedArgs, print_mode_args};
use crate::cli::ParseExit;
use Arity::{Nothing, Value, Values};
use FlagAction::{Apply, Ignore, NoOp, Reject};
use ibeam_agent::run::given_instructions::literal;
use ibeam_serve::dialect::{CodexOptions, DialectOptions, DialectOutput};

/// The version of Codex that `--version` prints.
const CODEX_VERSION: &str = "0.163.0";

const KEY_VARIABLE: &str = "CODEX_API_KEY";

/// The flags of one command line, before they are translated.
#[derive(Default)]
struct CodexDraft {
    /// Whether the stream is printed instead of the final message.
    prints_json: bool,
    help: bool,
    version: bool,
    sandbox: Option<String>,
    approval: Option<String>,
    /// The sandbox of `--config`; the flags take precedence.
    configured_sandbox: Option<String>,
    configured_approval: Option<String>,
    bypasses_sandbox: bool,
    model: Option<String>,
    endpoint: Option<String>,
    resumes_newest: bool,
    /// The working directory; `None` is the current directory.
    directory: Option<String>,
    skips_repository_check: bool,
    /// A file with instructions for the model.
    instructions_file: Option<String>,
    /// The file that receives the last message.
    last_message: Option<PathBuf>,
    /// Flags of ibeam, `--flag=value`.
    flags: Vec<String>,
    ignored_arguments: Vec<String>,
}

/// Changes the draft for one value of a flag.
type ApplyFlag = fn(&mut CodexDraft, &str) -> Result<(), Reason>;

/// Returns a row of the table of flags.
const fn flag(
    names: &'static [&'static str],
    arity: Arity,
    action: FlagAction<CodexDraft>,
) -> Flag<CodexDraft> {
    Flag { names, arity, action }
}

/// Returns the row of a flag that changes the draft.
const fn apply(names: &'static [&'static str], arity: Arity, take: ApplyFlag) -> Flag<CodexDraft> {
    flag(names, arity, Apply(take))
}

const FLAGS: &[Flag<CodexDraft>] = &[
    apply(&["--json", "--experimental-json"], Nothing, |draft, _| set(&mut draft.prints_json, true)),
    apply(&["--help", "-h"], Nothing, |draft, _| set(&mut draft.help, true)),
    apply(&["--version", "-V"], Nothing, |draft, _| set(&mut draft.version, true)),
    apply(&["--model", "-m"], Value, |draft, value| set(&mut draft.model, Some(value.to_owned()))),
    apply(&["--sandbox", "-s"], Value, |draft, value| set(&mut draft.sandbox, Some(value.to_owned()))),
    apply(&["--ask-for-approval", "-a"], Value, |draft, value| {
        set(&mut draft.approval, Some(value.to_owned()))
    }),
    apply(&["--full-auto"], Nothing, |draft, _| set(&mut draft.sandbox, Some("workspace-write".to_owned()))),
    apply(&["--dangerously-bypass-approvals-and-sandbox", "--yolo"], Nothing, |draft, _| {
        set(&mut draft.bypasses_sandbox, true)
    }),
    apply(&["--cd", "-C"], Value, |draft, value| {
        draft.directory = Some(value.to_owned());
        draft.forward("--workspace", value)
    }),
    apply(&["--add-dir"], Value, |draft, value| draft.forward("--add-dir", value)),
    apply(&["--config", "-c"], Value, |draft, value| draft.apply_setting(value)),
    apply(&["--last"], Nothing, |draft, _| set(&mut draft.resumes_newest, true)),
    apply(&["--output-schema"], Value, |draft, value| draft.forward("--json-schema", value)),
    apply(&["--output-last-message", "-o"], Value, |draft, value| {
        set(&mut draft.last_message, Some(PathBuf::from(value)))
    }),
    apply(&["--skip-git-repo-check"], Nothing, |draft, _| set(&mut draft.skips_repository_check, true)),
    flag(&["--strict-config"], Nothing, NoOp),
    flag(&["--color"], Value, NoOp),
    flag(&["--thread-source"], Value, NoOp),
    flag(&["--cyber-access-program"], Value, Ignore),
    apply(&["--ephemeral"], Nothing, |draft, _| {
        draft.flags.push("--ephemeral".to_owned());
        Ok(())
    }),
    flag(&["--enable"], Value, Ignore),
    apply(&["--disable"], Value, |draft, value| draft.disable(value, || format!("--disable {value}"))),
    flag(&["--include-plan-tool"], Nothing, Ignore),
    flag(&["--search"], Nothing, Ignore),
    flag(&["--ignore-user-config"], Nothing, Ignore),
    flag(&["--ignore-rules"], Nothing, Ignore),
    apply(&["--image", "-i"], Values, |draft, value| {
        value.split(',').try_for_each(|path| draft.forward("--image", path))
    }),
    flag(&["--profile", "-p"], Value, Reject(sentence_text!("there are no profiles"))),
    flag(&["--all"], Nothing, Reject(sentence_text!("sessions of other directories are named by their id"))),
    flag(&["--oss"], Nothing, Reject(sentence_text!("name the model with `--model`"))),
    flag(&["--local-provider"], Value, Reject(sentence_text!("name the model with `--model`"))),
];

/// Translates the arguments after `--dialect codex`.
pub(super) fn translate(args: &[OsString], env: &Env<'_>) -> Result<TranslatedArgs, ParseExit> {
    let mut draft = CodexDraft::default();
    let rest = parse_args(FLAGS, args, &mut draft).map_err(ParseExit::from)?;
    if draft.help {
        return Err(ParseExit::Help(help_text(
            "ibeam --dialect codex exec [resume ID|--last] [FLAGS] [PROMPT]",
            FLAGS,
        )));
    }
    if draft.version {
        return Err(ParseExit::Help(format!(
            "codex-cli {CODEX_VERSION} (ibeam {})\n",
            env!("CARGO_PKG_VERSION")
        )));
    }
    draft.ignored_arguments.extend(rest.ignored);
    draft.finish(rest.words, env).map_err(ParseExit::from)
}

/// Returns the command for `codex login status`.
fn login_status_command() -> TranslatedArgs {
    let codex = CodexOptions { wants_login_status: true, ..CodexOptions::default() };
    let options = DialectOptions {
        output: DialectOutput::FinalMessage,
        codex,
        ..DialectOptions::new(DialectName::Codex)
    };
    TranslatedArgs { args: vec!["status".into()], options: Some(options) }
}

/// Sets a field of the draft. Returns a `Result`, as the action of a flag does.
fn set<T>(place: &mut T, value: T) -> Result<(), Reason> {
    *place = value;
    Ok(())
}

impl CodexDraft {
    /// Adds a flag of ibeam.
    fn forward(&mut self, flag: &str, value: &str) -> Result<(), Reason> {
        self.flags.push(format!("{flag}={value}"));
        Ok(())
    }

    /// Checks the flags together and translates them; `words` are the arguments that are not flags.
    fn finish(mut self, words: Vec<String>, env: &Env<'_>) -> Result<TranslatedArgs, Reason> {
        let mut words = words.into_iter();
        match words.next().as_deref() {
            Some("exec" | "e") => {}
            Some("login") if words.as_slice() == ["status"] => return Ok(login_status_command()),
            Some(command) => {
                return Err(usage_error(sentence!(
                    "`codex {command}` has no counterpart; use `codex exec`",
                    command
                )));
            }
            None => {
                return Err(usage_error(sentence!("this dialect has no interactive mode; use `codex exec`")));
            }
        }
        let mut words: Vec<String> = words.collect();
        if let Some(command @ ("help" | "review")) = words.first().map(String::as_str) {
            return Err(usage_error(sentence!(
                "`codex exec {command}` has no counterpart; there is `codex exec resume`",
                command
            )));
        }
        if words.first().is_some_and(|word| word == "resume") {
            let behind = if self.resumes_newest { 1 } else { 2 };
            let session = match (self.resumes_newest, words.get(1)) {
                (true, _) => "--continue".to_owned(),
                (false, Some(id)) => format!("--resume={id}"),
                (false, None) => {
                    return Err(usage_error(sentence!("`resume` needs the id of a session, or `--last`")));
                }
            };
            self.flags.push(session);
            words.drain(..behind);
        }
        if words == ["-"] {
            words.clear();
        }
        self.check_repository(env)?;
        self.translate_permissions()?;
        self.translate_provider(env)?;
        if let Some(path) = self.instructions_file.take() {
            let instructions = env.file(&path)?;
            self.forward("--append-system-prompt", &literal(&instructions))?;
        }
        if words.is_empty() {
            self.flags.push("--stdin=read".to_owned());
        }
        let codex = CodexOptions {
            last_message: self.last_message.take(),
            prints_session_id: !self.prints_json,
            wants_login_status: false,
        };
        let output = if self.prints_json { DialectOutput::Stream } else { DialectOutput::FinalMessage };
        let options = DialectOptions {
            output,
            codex,
            unknown_session_message: Some("no rollout found for thread id "),
            ignored_arguments: self.ignored_arguments,
            ..DialectOptions::new(DialectName::Codex)
        };
        Ok(TranslatedArgs { args: print_mode_args(self.flags, words), options: Some(options) })
    }

    /// Rejects a directory outside of a git repository, as Codex does, unless a flag skips the check.
    fn check_repository(&self, env: &Env<'_>) -> Result<(), Reason> {
        let is_meant = self.skips_repository_check || self.bypasses_sandbox;
        match is_meant || (env.is_in_repository)(self.directory.as_deref()) {
            true => Ok(()),
            false => Err(usage_error(
                "Not inside a trusted directory and --skip-git-repo-check was not specified.".to_owned(),
            )),
        }
    }

    /// Translates the sandbox and the approval policy into flags of ibeam that never allow more than these.
    fn translate_permissions(&mut self) -> Result<(), Reason> {
        let flag_or =
            |flag: &Option<String>, setting: &Option<String>| flag.clone().or_else(|| setting.clone());
        let sandbox = match flag_or(&self.sandbox, &self.configured_sandbox) {
            _ if self.bypasses_sandbox => "danger-full-access".to_owned(),
            sandbox => sandbox.unwrap_or_else(|| "read-only".to_owned()),
        };
        let untrusting = match flag_or(&self.approval, &self.configured_approval).as_deref() {
            None | Some("never" | "on-request" | "on-failure") => false,
            Some("untrusted") => true,
            Some(other) => return Err(usage_error(sentence!("unknown approval policy `{other}`", other))),
        };
        let flags: &[&str] = match (sandbox.as_str(), untrusting) {
            // Codex would ask about edits too, and `exec` cannot ask.
            ("read-only", _) | ("workspace-write" | "danger-full-access", true) => {
                &["--approval=strict", "--sandbox=enabled"]
            }
            ("workspace-write", false) => &["--sandbox=enabled"],
            ("danger-full-access", false) => &["--force", "--sandbox=disabled"],
            (other, _) => return Err(usage_error(sentence!("unknown sandbox `{other}`", other))),
        };
        self.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        Ok(())
    }

    /// Removes a feature. A feature that ibeam does not have is reported under the name of `argument`.
    fn disable(&mut self, feature: &str, argument: impl FnOnce() -> String) -> Result<(), Reason> {
        match feature {
            "shell_tool" => self.flags.push("--without=shell".to_owned()),
            _ => self.ignored_arguments.push(argument()),
        }
        Ok(())
    }

    /// Translates model, key and endpoint. A model without a provider is a model of OpenAI.
    fn translate_provider(&mut self, env: &Env<'_>) -> Result<(), Reason> {
        let key = (env.variable)(KEY_VARIABLE);
        let is_openai = key.is_some() || self.endpoint.is_some();
        let model = self.model.take().or_else(|| {
            let default = || default_model("openai", &ibeam_agent::clock::utc_date());
            let model = is_openai.then(default).flatten()?;
            Some(model.to_owned())
        });
        if let Some(model) = model {
            let elsewhere = model.contains('/')
                || ibeam_providers::maker_of(&model).is_some_and(|maker| maker != "openai");
            let maker = if elsewhere { "" } else { "openai/" };
            self.forward("--model", &format!("{maker}{model}"))?;
        }
        if let Some(key) = key {
            self.forward("--api-key", &key)?;
        }
        if let Some(endpoint) = self.endpoint.take() {
            self.forward("--endpoint", &endpoint)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "codex_test.rs"]
mod tests;
