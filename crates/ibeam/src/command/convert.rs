//! `convert`: converts the stream of one agent into that of another, line by line, and reports the losses.
//!
//! Each line is converted and written before the next one is read. Losses are reported on stderr, so stdout has only
//! lines of the target.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ibeam_agent::app::BaseContext;
use ibeam_agent::stderr;
use ibeam_dialects::{ConvertError, Converter, DialectName, Loss, LossKind, Losses};
use ibeam_output::ConvertLine;
use ibeam_protocol::Reason;
use ibeam_wire::MAX_LINE_BYTES;
use serde_json::json;

use super::facts::CommandFacts;
use super::sub_command::{Call, SubCommand};
use crate::cli_error::CliError;
use crate::flags::FailOnArg;

/// Convert the stream of one agent to that of another, and report what is lost
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Exit codes: 0 done, 3 with `--fail-on loss` if something is lost, 65 not a stream of that agent.\n\
                  What maps to what: `ibeam help dialects`"
)]
pub(crate) struct ConvertArgs {
    /// The agent of the stream: cursor, claude, codex, gemini, opencode
    #[arg(long, value_name = "DIALECT")]
    from: DialectName,
    /// The agent to convert it to [default: cursor, which is the format of ibeam]
    #[arg(long, value_name = "DIALECT")]
    to: Option<DialectName>,
    /// Write what is lost to this file as JSON
    #[arg(long, value_name = "FILE")]
    losses: Option<PathBuf>,
    /// The file with the stream [default: stdin]
    file: Option<PathBuf>,
}

impl SubCommand for ConvertArgs {
    const FACTS: CommandFacts = CommandFacts::new("convert")
        .uses(&["fail_on"])
        .with_examples(&["ibeam convert --from claude --to cursor run.ndjson --losses lost.json"]);
    const IS_OFFLINE: bool = true;

    fn execute_offline(&self, base: &BaseContext, call: Call<'_>) -> Result<ExitCode, CliError> {
        let fails_on_loss = call.flags.other.fail_on.contains(&FailOnArg::Loss);
        convert(base, self, fails_on_loss, call.stdout)
    }
}

/// The size in bytes from which the output is written even if more of the source can be read without waiting.
const BATCH_BYTES: usize = 64 << 10;

/// The maximum number of losses on stderr. The report file has all of them.
const MAX_REPORTED: usize = 40;

/// The exit code of losses with `--fail-on loss`.
const LOSSY_EXIT_CODE: u8 = 3;

fn convert(
    base: &BaseContext,
    args: &ConvertArgs,
    fails_on_loss: bool,
    stdout: &mut File,
) -> Result<ExitCode, CliError> {
    let (from, to) = (args.from, args.to.unwrap_or(DialectName::Cursor));
    let file = args.file.as_deref().filter(|file| *file != Path::new("-"));
    let name = file.map_or("-".into(), Path::to_string_lossy).into_owned();
    let source: Box<dyn Read> = match file {
        Some(path) => Box::new(File::open(path).map_err(|error| no_input(&name, &error))?),
        None => Box::new(io::stdin().lock()),
    };
    // Created before the conversion, because a conversion without its report would be useless.
    let report = args.losses.as_deref().map(|path| (path, File::create(path)));
    let report = match report {
        Some((path, Err(error))) => {
            let path = path.display().to_string();
            return Err(Reason::CannotCreate { path, detail: error.to_string() }.into());
        }
        Some((path, Ok(file))) => Some((path, file)),
        None => None,
    };
    let losses = convert_all(&mut BufReader::new(source), Converter::new(from, to), &name, stdout)?;
    if let Some((path, mut file)) = report {
        let object = json!({ "from": from.as_str(), "to": to.as_str(), "losses": losses });
        file.write_all(format!("{object}\n").as_bytes())
            .map_err(|error| Reason::Io { what: path.display().to_string(), detail: error.to_string() })?;
    }
    print_losses(base, &name, to, &losses);
    let fails = !losses.is_empty() && fails_on_loss;
    Ok(if fails { ExitCode::from(LOSSY_EXIT_CODE) } else { ExitCode::SUCCESS })
}

/// Converts the entire source. On an error, the lines that were converted before it are written.
fn convert_all(
    source: &mut BufReader<Box<dyn Read>>,
    mut converter: Converter,
    name: &str,
    stdout: &mut File,
) -> Result<Losses, CliError> {
    let (mut line, mut out, mut number) = (Vec::new(), Vec::new(), 0);
    let wrong = |error: &ConvertError| {
        let (line, detail) = (error.line(), error.to_string());
        // The reason already contains the line number.
        let detail = detail.strip_prefix(&format!("line {line}")).unwrap_or(&detail);
        let detail = detail.trim_start_matches([':', ',', ' ']).to_owned();
        CliError::StreamDamaged { source: name.to_owned(), line, detail }
    };
    loop {
        line.clear();
        let read = source.take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        let read = read.map_err(|error| no_input(name, &error))?;
        if read == 0 {
            break;
        }
        number += 1;
        let converted = match read as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
            true => {
                let detail = "longer than 1 GiB".to_owned();
                Err(CliError::StreamDamaged { source: name.to_owned(), line: number, detail })
            }
            false => converter.convert_line(&line, &mut out).map_err(|error| wrong(&error)),
        };
        if converted.is_err() || source.buffer().is_empty() || out.len() >= BATCH_BYTES {
            write_text(stdout, &mut out)?;
        }
        converted?;
    }
    let finished = converter.finish(&mut out).map_err(|error| wrong(&error));
    write_text(stdout, &mut out)?;
    finished
}

fn write_text(stdout: &mut File, out: &mut Vec<u8>) -> Result<(), CliError> {
    let written = stdout.write_all(out);
    out.clear();
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Reason::OutputClosed.into(),
        _ => Reason::Io { what: "stdout".to_owned(), detail: error.to_string() }.into(),
    })
}

fn no_input(name: &str, error: &io::Error) -> Reason {
    Reason::NoInput { path: name.to_owned(), detail: error.to_string() }
}

/// Reports the losses on stderr.
fn print_losses(base: &BaseContext, file: &str, to: DialectName, losses: &Losses) {
    if losses.is_empty() {
        return;
    }
    let line = |line: &ConvertLine<'_>| stderr::write_line(&base.catalogue.line(line));
    line(&ConvertLine::Lossy { file, to: to.as_str(), count: losses.len() as u64 });
    for Loss { key, tool, kind, count, first_line, .. } in losses.iter().take(MAX_REPORTED) {
        let key = tool.map_or(key.clone(), |tool| format!("{key} ({tool})"));
        let key = key.as_str();
        line(&match kind {
            LossKind::Dropped => ConvertLine::Dropped { key, count, line: first_line },
            LossKind::Changed => ConvertLine::Changed { key, count, line: first_line },
            LossKind::Joined => ConvertLine::Joined { key, count, line: first_line },
        });
    }
    let more = losses.len().saturating_sub(MAX_REPORTED);
    if more > 0 {
        line(&ConvertLine::MoreLosses { count: more as u64 });
    }
}
