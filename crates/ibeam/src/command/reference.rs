//! `errors`, `schema` and `completions`: tables for programs and shells.
//!
//! Their output depends only on the program and on the version of the contract.

use std::fs::File;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ibeam_agent::app::BaseContext;
use ibeam_output::decompress;
use ibeam_protocol::{FailureCode, Sentence, sentence};
use ibeam_wire::SchemaTarget;
use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use super::facts::CommandFacts;
use super::printing::{print_text, report};
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// Print the table of failures: exit code, code, whether to retry
#[derive(Args, Clone, Debug)]
pub(crate) struct ErrorsArgs {
    /// Text or JSON
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
}

impl SubCommand for ErrorsArgs {
    const FACTS: CommandFacts =
        CommandFacts::new("errors").uses(&[]).with_examples(&["ibeam errors --format json"]);
    const IS_OFFLINE: bool = true;

    fn execute_offline(&self, base: &BaseContext, call: Call<'_>) -> Result<ExitCode, CliError> {
        errors(base, self.format.unwrap_or_default(), call.stdout).map(success)
    }
}

/// Print the JSON Schema of the output, or of the messages on stdin, or the types for a program that reads the output
#[derive(Args, Clone, Debug)]
pub(crate) struct SchemaArgs {
    /// The format; `error` is the object of a failure, `input` a line of stdin, `ts` and `py` are types [default: stream-json]
    #[arg(long, value_enum)]
    format: Option<SchemaFormat>,
}

/// The output that a schema describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaFormat {
    /// A description of what `text` prints
    Text,
    /// The object of `json`, or that of a failure
    Json,
    /// A line of `stream-json`
    #[default]
    StreamJson,
    /// The object of a failure, as `--error-format json` and `--error-file` give it
    Error,
    /// A line of stdin with `--input-format stream-json`
    Input,
    /// The types of the output in TypeScript, of both contracts
    Ts,
    /// The types of the output in Python 3.11, of both contracts
    Py,
}

/// The compressed files of `types/`.
static TYPESCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ibeam.d.ts.deflate"));
static PYTHON: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ibeam_events.py.deflate"));

impl SubCommand for SchemaArgs {
    const FACTS: CommandFacts = CommandFacts::new("schema")
        .uses(&["contract"])
        .with_examples(&["ibeam schema --format error", "ibeam schema --format ts"]);
    const IS_OFFLINE: bool = true;

    fn execute_offline(&self, base: &BaseContext, call: Call<'_>) -> Result<ExitCode, CliError> {
        schema(base, self.format.unwrap_or_default(), call.stdout).map(success)
    }
}

/// Print the completion script of a shell
#[derive(Args, Clone, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// A shell with a completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Zsh,
}

impl SubCommand for CompletionsArgs {
    const FACTS: CommandFacts =
        CommandFacts::new("completions").uses(&[]).with_examples(&["ibeam completions bash"]);
    const IS_OFFLINE: bool = true;

    fn execute_offline(&self, _base: &BaseContext, call: Call<'_>) -> Result<ExitCode, CliError> {
        completions(self.shell, call.stdout).map(success)
    }
}

fn errors(base: &BaseContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let sentence = |english: Sentence| base.catalogue.sentence(&english);
    let (retry, yes) = (sentence(sentence!("retry")), sentence(sentence!("yes")));
    let width = retry.width().max(yes.width());
    let padded = |text: &str| format!("{text}{:1$}", "", width - text.width());
    let heading = (padded(&retry), sentence(sentence!("meaning")));
    let mut text = format!("{:>4}  {:<13} {}  {}\n", "exit", "code", heading.0, heading.1);
    let mut rows = Vec::new();
    for code in FailureCode::ALL {
        let (exit, token, retryable) = (code.exit_code(), code.as_str(), code.is_retryable());
        let again = padded(if retryable { &yes } else { "" });
        let signal = if let FailureCode::Signal(signal) = code {
            format!(" ({})", signal.name())
        } else {
            String::new()
        };
        text.push_str(&format!(
            "{exit:>4}  {token:<13} {again}  {}{signal}\n",
            base.catalogue.code_meaning(code)
        ));
        rows.push(json!({
            "exit_code": exit,
            "code": token,
            "retryable": retryable,
            "resumable": code.is_resumable(),
            "meaning": base.catalogue.code_meaning(code),
        }));
    }
    report(stdout, format, &text, &json!(rows))
}

fn schema(base: &BaseContext, format: SchemaFormat, stdout: &mut File) -> Result<(), CliError> {
    let of = match format {
        SchemaFormat::Text => SchemaTarget::Text,
        SchemaFormat::Json => SchemaTarget::Json,
        SchemaFormat::StreamJson => SchemaTarget::StreamJson,
        SchemaFormat::Error => SchemaTarget::Error,
        SchemaFormat::Input => SchemaTarget::Input,
        SchemaFormat::Ts => return print_text(stdout, &decompress(TYPESCRIPT)),
        SchemaFormat::Py => return print_text(stdout, &decompress(PYTHON)),
    };
    print_text(stdout, &format!("{:#}\n", ibeam_wire::schema(of, base.contract())))
}

/// Prints the script of a shell, which asks `ibeam complete` for the candidates.
fn completions(shell: Shell, stdout: &mut File) -> Result<(), CliError> {
    let script = match shell {
        Shell::Bash => include_str!("completions/ibeam.bash"),
        Shell::Elvish => include_str!("completions/ibeam.elv"),
        Shell::Fish => include_str!("completions/ibeam.fish"),
        Shell::Zsh => include_str!("completions/ibeam.zsh"),
    };
    print_text(stdout, script)
}
