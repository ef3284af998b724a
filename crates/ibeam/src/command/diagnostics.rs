//! `about`, `status` and `doctor`: what this program is, which keys it has, and whether the installation is complete.
//!
//! `doctor` succeeds even if something is missing, and fails if the configuration has a mistake; `doctor --sandbox` fails
//! if commands cannot be confined.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use clap::Args;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::reports::{configured_text, explain_in_line};
use ibeam_agent::run::sandbox::{PendingSandbox, RunSandbox};
use ibeam_agent::{hooks, mcp, model};
use ibeam_output::{Catalogue, DiagnosisLine};
use ibeam_protocol::{KeySource, Notice, Reason};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::facts::{CURSOR_FLAGS, CommandFacts};
use super::printing::{print_listing, print_text, report};
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::ReportFormat;

/// Show which API keys are set and which model a run would use
#[derive(Args, Clone, Debug)]
#[command(alias = "whoami")]
pub(crate) struct StatusArgs {
    /// Text or JSON
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
}

impl SubCommand for StatusArgs {
    const FACTS: CommandFacts = CommandFacts::new("status")
        .uses(&["api_key", "endpoint", "model", "trust", "workspace"])
        .ignores(CURSOR_FLAGS)
        .with_examples(&["ibeam status", "ibeam status --format json"]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Shown
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        status(app, self.format.unwrap_or_default(), call.stdout).map(success)
    }
}

/// Show the version and the features of this program
#[derive(Args, Clone, Debug)]
#[command(alias = "version")]
pub(crate) struct AboutArgs {
    /// Text or JSON
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
}

impl SubCommand for AboutArgs {
    const FACTS: CommandFacts = CommandFacts::new("about")
        .uses(&["contract", "model"])
        .ignores(CURSOR_FLAGS)
        .with_examples(&["ibeam about", "ibeam about --format json"]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        about(app, self.format.unwrap_or_default(), call.stdout).map(success)
    }
}

/// Check the installation and suggest fixes
#[derive(Args, Clone, Debug)]
pub(crate) struct DoctorArgs {
    /// Text or JSON
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
}

impl SubCommand for DoctorArgs {
    const FACTS: CommandFacts = CommandFacts::new("doctor")
        .uses(&["AccessFlags", "api_key", "endpoint", "model", "workspace"])
        .with_flag_help(&[("sandbox", "List the layers of the sandbox on this machine")])
        .with_examples(&["ibeam doctor", "ibeam doctor --sandbox"]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Shown
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        doctor(app, self.format.unwrap_or_default(), call.stdout).map(success)
    }
}

/// The width of the first column of `doctor`, in which all marks fit.
const MARK_COLUMNS: usize = 7;

pub(super) fn about(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let version = env!("CARGO_PKG_VERSION");
    let model = ibeam_agent::model::choose_model(app).map(|choice| choice.info().display.clone()).ok();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let (engine, queues) = (cfg!(feature = "embedded"), cfg!(feature = "nats"));
    let contract = app.base.contract().as_str();
    let lines = [
        DiagnosisLine::AboutContract { version: contract },
        model.as_deref().map_or(DiagnosisLine::AboutNoModel, |model| DiagnosisLine::AboutModel { model }),
        if engine { DiagnosisLine::AboutEngine } else { DiagnosisLine::AboutNoEngine },
        if queues { DiagnosisLine::AboutQueues } else { DiagnosisLine::AboutNoQueues },
        DiagnosisLine::AboutPlatform { os, arch },
        DiagnosisLine::AboutLicence,
    ];
    let lines: String = lines.iter().map(|line| format!("{}\n", app.base.catalogue.line(line))).collect();
    let text = format!("ibeam {version}\n{lines}");
    let json = json!({
        "cliVersion": version,
        "model": model,
        "osPlatform": os,
        "osArch": arch,
        "contract": contract,
        "embeddedEngine": engine,
        "queueClient": queues,
    });
    report(stdout, format, &text, &json)
}

fn status(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let keys = model::key_sources(app);
    let mut text = String::new();
    let mut line = |line: DiagnosisLine<'_>| {
        text.push_str(&format!("{}\n", app.base.catalogue.line(&line)));
    };
    if keys.is_empty() {
        line(DiagnosisLine::NotLoggedIn);
    }
    for (provider, source) in &keys {
        line(DiagnosisLine::LoggedIn { provider, source });
    }
    let unused_key = model::unused_key(app);
    let (mut warnings, mut configured) = (Vec::new(), Vec::new());
    let choice = model::choose_model(app);
    let model = choice.as_ref().ok().map(|choice| choice.info().clone());
    match (&model, &choice) {
        (Some(info), Ok(choice)) => {
            let id = format!("{}/{}", info.provider, info.id);
            let origin = app.base.catalogue.sentence(choice.origin());
            line(DiagnosisLine::Model { model: &info.display, id: &id, origin: &origin });
            configured = model::ConfiguredFacts::new(&app.base.config, &info.provider, &info.id).fields();
            warnings.extend(choice.age_warnings(app));
        }
        (_, Err(reason)) => {
            line(DiagnosisLine::NoModel { detail: &app.base.catalogue.reason(reason).message });
        }
        (None, Ok(_)) => {}
    }
    let facts = configured_text(&configured).map(|facts| app.base.catalogue.sentence(&facts));
    text.extend(facts.map(|facts| format!("  {facts}\n")));
    let mut warnings: Vec<String> =
        warnings.iter().map(|warning| app.base.catalogue.sentence(warning)).collect();
    warnings.extend(unused_key.map(|key| app.base.catalogue.unused_key(&key)));
    text.extend(warnings.iter().map(|warning| format!("warning: {warning}\n")));
    let authenticated = !keys.is_empty();
    let providers: Vec<_> =
        keys.iter().map(|(provider, source)| json!({ "provider": provider, "source": source })).collect();
    let json = json!({
        "status": if authenticated { "authenticated" } else { "unauthenticated" },
        "isAuthenticated": authenticated,
        "hasAccessToken": authenticated,
        "hasRefreshToken": false,
        "providers": providers,
        "model": model.as_ref().map(|info| &info.display),
        "configured": configured,
        "message": if authenticated { "Logged in" } else { "Not logged in" },
        "warnings": warnings,
    });
    report(stdout, format, &text, &json)
}

pub(super) fn doctor(app: &AppContext, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let pending = RunSandbox::spawn(app).map_err(|failure| failure.reason);
    let sandbox = pending.and_then(PendingSandbox::join);
    if app.base.options.sandbox == Some(true) {
        return print_layers(app, format, stdout, &sandbox?);
    }
    let catalogue = &app.base.catalogue;
    let mut lines = CheckLines::new(catalogue);
    // An error of the configuration has a line of its own.
    let is_shown = |reason: &Reason| app.base.config_errors.contains(reason);
    let choice = model::choose_model(app);
    match &choice {
        Ok(choice) => {
            let info = choice.info();
            let origin = catalogue.sentence(choice.origin());
            let mut text = format!("{} ({}/{}; {origin})", info.display, info.provider, info.id);
            for warning in choice.age_warnings(app) {
                text.push_str("; ");
                text.push_str(&catalogue.sentence(&warning));
            }
            lines.add(true, DiagnosisLine::CheckModel, &text);
        }
        Err(reason) if is_shown(reason) => {}
        Err(reason) => lines.add(false, DiagnosisLine::CheckModel, &explain_in_line(app, reason)),
    }
    let keys = model::key_sources(app);
    for (provider, source) in &keys {
        let found = DiagnosisLine::KeyFound { provider, source };
        lines.add(true, DiagnosisLine::CheckKey, &catalogue.line(&found));
    }
    if keys.is_empty() {
        let usable = choice.as_ref().map(|choice| (choice.info(), choice.key_source()));
        let found = match &usable {
            Ok((info, KeySource::None)) => DiagnosisLine::KeyNotNeeded { model: &info.display },
            Ok((info, KeySource::Flag | KeySource::Env | KeySource::Login)) => {
                DiagnosisLine::KeyFound { provider: &info.provider, source: "--api-key" }
            }
            Err(_) => DiagnosisLine::KeyMissing,
        };
        lines.add(usable.is_ok(), DiagnosisLine::CheckKey, &catalogue.line(&found));
    }
    if cfg!(feature = "embedded") {
        let file = model::model_file(app);
        match model::is_installed(app) {
            true => lines.add(true, DiagnosisLine::CheckEmbedded, &file.display().to_string()),
            false => {
                lines.add(
                    false,
                    DiagnosisLine::CheckEmbedded,
                    &catalogue.line(&DiagnosisLine::EmbeddedMissing),
                );
            }
        }
    } else if matches!(choice, Err(Reason::NoModel { .. })) {
        let absent = catalogue.reason(&Reason::NoLocalEngine).message;
        lines.add(false, DiagnosisLine::CheckEmbedded, &absent);
    }
    // Only the installation of the embedded model uses Python.
    let python = cfg!(feature = "embedded").then_some(("python3", DiagnosisLine::PythonPurpose));
    let programs = [("bash", DiagnosisLine::BashPurpose), ("git", DiagnosisLine::GitPurpose)];
    for (program, purpose) in programs.into_iter().chain(python) {
        match app.programs.command(program).and_then(version_of) {
            Some(version) => lines.add_named(true, program, &version),
            None => lines.add_named(false, program, &catalogue.line(&purpose)),
        }
    }
    let directories = [
        (DiagnosisLine::CheckSessions, app.dirs.sessions()),
        (DiagnosisLine::CheckCache, app.dirs.cache.clone()),
    ];
    for (what, directory) in directories {
        let (path, is_usable) = (directory.display().to_string(), is_writable(&directory));
        let reason = || catalogue.line(&DiagnosisLine::NotWritable { path: &path });
        lines.add(is_usable, what, &if is_usable { path.clone() } else { reason() });
    }
    let has_unknown = |path: &Path| {
        let notices = app.base.config.notices.iter();
        notices
            .filter_map(
                |notice| if let Notice::UnknownConfigKey { path, .. } = notice { Some(path) } else { None },
            )
            .any(|found| Path::new(found) == path)
    };
    let has_error =
        |path: &Path| app.base.config_errors.iter().any(|fault| file_of_error(fault) == Some(path));
    let is_valid = |path: &&Path| !has_error(path) && !has_unknown(path);
    let json_files: Vec<_> = hooks::check_files(app).into_iter().chain(mcp::check_files(app)).collect();
    let json_files = json_files.iter().map(|(path, _)| path.as_path());
    for path in app.dirs.config_files().chain(json_files).filter(|path| path.is_file()).filter(is_valid) {
        lines.add(true, DiagnosisLine::CheckConfiguration, &path.display().to_string());
    }
    match &sandbox {
        Ok(sandbox) => {
            let layers = Some(sandbox.report.layers.join(", ")).filter(|layers| !layers.is_empty());
            let parts: Vec<String> = layers.into_iter().chain([sandbox.reason_text(catalogue)]).collect();
            lines.add(true, DiagnosisLine::CheckSandbox, &parts.join("; "));
        }
        Err(reason) if is_shown(reason) => {}
        Err(reason) => lines.add(false, DiagnosisLine::CheckSandbox, &explain_in_line(app, reason)),
    }
    let configuration = catalogue.line(&DiagnosisLine::CheckConfiguration);
    for fault in &app.base.config_errors {
        let message = catalogue.reason(fault).message;
        lines.push(DiagnosisLine::Wrong, ("configuration", &configuration), &message);
    }
    let unknown: Vec<_> = app.base.config.notices.iter().filter_map(unknown_setting).collect();
    for (notice, _) in &unknown {
        lines.push(DiagnosisLine::Wrong, ("configuration", &configuration), &catalogue.notice(notice));
    }
    match format {
        ReportFormat::Text => print_listing(stdout, &lines.text, MARK_COLUMNS + 1)?,
        ReportFormat::Json => report(stdout, format, "", &json!({ "checks": lines.checks }))?,
    }
    // The caller reports the other mistakes.
    match unknown.into_iter().next() {
        Some((_, error)) if app.base.config_errors.is_empty() => Err(error),
        Some(_) | None => Ok(()),
    }
}

/// Returns a notice about an unknown key of the configuration and the error for it; `None` for another notice.
fn unknown_setting(notice: &Notice) -> Option<(&Notice, CliError)> {
    let Notice::UnknownConfigKey { path, line, key, .. } = notice else { return None };
    Some((notice, CliError::UnknownSetting { path: path.clone(), line: *line, key: key.clone() }))
}

/// The lines of `doctor`: a mark, the name of the check, and what was found.
struct CheckLines<'a> {
    catalogue: &'a Catalogue,
    text: String,
    /// The checks as JSON values.
    checks: Vec<Value>,
}

impl<'a> CheckLines<'a> {
    fn new(catalogue: &'a Catalogue) -> Self {
        Self { catalogue, text: format!("ibeam {}\n", env!("CARGO_PKG_VERSION")), checks: Vec::new() }
    }

    fn add(&mut self, is_ok: bool, check: DiagnosisLine<'_>, detail: &str) {
        let tag = tag(&check);
        let name = tag.strip_prefix("check_").unwrap_or(&tag);
        self.push(mark(is_ok), (name, &self.catalogue.line(&check)), detail);
    }

    /// Adds the check of something that has the same name in every language.
    fn add_named(&mut self, is_ok: bool, check: &str, detail: &str) {
        self.push(mark(is_ok), (check, check), detail);
    }

    /// Adds a check with its name for programs and its name for people.
    fn push(&mut self, mark: DiagnosisLine<'_>, (name, check): (&str, &str), detail: &str) {
        self.checks.push(json!({ "status": tag(&mark), "check": name, "detail": detail }));
        let mark = self.catalogue.line(&mark);
        let padding = " ".repeat(MARK_COLUMNS.saturating_sub(mark.width()));
        self.text.push_str(&format!("{mark}{padding} {check}: {detail}\n"));
    }
}

/// Returns the mark of a check.
fn mark(is_ok: bool) -> DiagnosisLine<'static> {
    if is_ok { DiagnosisLine::Ok } else { DiagnosisLine::Missing }
}

/// Returns the name of a line without arguments, for programs.
fn tag(line: &DiagnosisLine<'_>) -> String {
    serde_json::to_value(line).ok().and_then(|tag| tag.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns the file of an error of the configuration.
fn file_of_error(error: &Reason) -> Option<&Path> {
    let (Reason::BadConfig { path, .. }
    | Reason::BadJsonConfig { path, .. }
    | Reason::UnreadableConfig { path, .. }) = error
    else {
        return None;
    };
    Some(Path::new(path))
}

/// Prints the layers of the sandbox for commands.
fn print_layers(
    app: &AppContext,
    format: ReportFormat,
    stdout: &mut File,
    sandbox: &RunSandbox,
) -> Result<(), CliError> {
    let reason = sandbox.reason_text(&app.base.catalogue);
    let lines: String = sandbox.report.layers.iter().map(|layer| format!("ok      {layer}\n")).collect();
    match format {
        ReportFormat::Text => print_text(stdout, &format!("{lines}{reason}\n")),
        ReportFormat::Json => {
            let json = json!({ "layers": sandbox.report.layers, "reason": reason });
            report(stdout, format, "", &json)
        }
    }
}

fn version_of(mut program: Command) -> Option<String> {
    let output = program.arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// Whether files can be created in the directory, or in its nearest existing parent.
fn is_writable(directory: &Path) -> bool {
    let nearest = directory.ancestors().find(|directory| directory.exists());
    nearest.is_some_and(|nearest| {
        let access = rustix::fs::access(nearest, rustix::fs::Access::WRITE_OK);
        access.is_ok() && fs::metadata(nearest).is_ok_and(|metadata| metadata.is_dir())
    })
}
