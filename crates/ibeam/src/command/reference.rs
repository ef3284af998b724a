//! `errors`, `schema` and `completions`: tables for programs and shells.
//!
//! Their output depends only on the program and on the version of the contract.

use std::fs::File;

use ibeam_protocol::{FailureCode, Sentence, sentence};
use ibeam_wire::SchemaTarget;
use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use super::printing::{print_text, report};
use crate::cli::{ReportFormat, SchemaFormat, Shell};
use crate::cli_error::CliError;
use ibeam_agent::app::BaseContext;

pub(super) fn errors(base: &BaseContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
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

pub(super) fn schema(base: &BaseContext, format: SchemaFormat, stdout: &mut File) -> Result<(), CliError> {
    let of = match format {
        SchemaFormat::Text => SchemaTarget::Text,
        SchemaFormat::Json => SchemaTarget::Json,
        SchemaFormat::StreamJson => SchemaTarget::StreamJson,
        SchemaFormat::Error => SchemaTarget::Error,
        SchemaFormat::Input => SchemaTarget::Input,
    };
    print_text(stdout, &format!("{:#}\n", ibeam_wire::schema(of, base.contract())))
}

/// Prints the script of a shell, which asks `ibeam complete` for the candidates.
pub(super) fn completions(shell: Shell, stdout: &mut File) -> Result<(), CliError> {
    let script = match shell {
        Shell::Bash => include_str!("completions/ibeam.bash"),
        Shell::Elvish => include_str!("completions/ibeam.elv"),
        Shell::Fish => include_str!("completions/ibeam.fish"),
        Shell::Zsh => include_str!("completions/ibeam.zsh"),
    };
    print_text(stdout, script)
}
