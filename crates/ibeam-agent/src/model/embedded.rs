//! The embedded model: its file and its provider. The first request loads the engine.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ibeam_core::Provider;
use ibeam_protocol::{Failure, Reason};

use crate::app::AppContext;

/// The name of its provider.
pub const EMBEDDED_PROVIDER: &str = "embedded";
/// The display name of the embedded model.
#[cfg(feature = "embedded")]
pub const DISPLAY_NAME: &str = ibeam_local::MODEL_NAME;
#[cfg(not(feature = "embedded"))]
pub const DISPLAY_NAME: &str = "the embedded model";

/// Receives whether the model is being loaded.
type LoadObserver = Arc<dyn Fn(bool) + Send + Sync>;
/// Set while a person watches.
static LOAD_OBSERVER: Mutex<Option<LoadObserver>> = Mutex::new(None);

/// Sets what shows a person that the model is being loaded, which the first request starts.
pub fn set_load_observer(observer: LoadObserver) {
    *LOAD_OBSERVER.lock().unwrap_or_else(PoisonError::into_inner) = Some(observer);
}

/// Whether the model file and an engine are installed. The set-up has verified the content of the file.
pub fn is_installed(app: &AppContext) -> bool {
    cfg!(feature = "embedded") && model_file(app).is_file()
}

/// Returns the path of the model file: `local.model`, else a path in the data directory.
#[cfg(feature = "embedded")]
pub fn model_file(app: &AppContext) -> PathBuf {
    let own = app.base.settings.local.model.value.as_deref().map(PathBuf::from);
    own.unwrap_or_else(|| app.dirs.models().join(ibeam_local::setup::MODEL_FILE))
}

/// Returns the path of the model file: `local.model`, else an empty path.
#[cfg(not(feature = "embedded"))]
pub fn model_file(app: &AppContext) -> PathBuf {
    app.base.settings.local.model.value.as_deref().map(PathBuf::from).unwrap_or_default()
}

/// Creates the provider.
///
/// # Errors
/// `ModelNotInstalled`.
#[cfg(feature = "embedded")]
pub(super) fn provider(app: &AppContext) -> Result<Arc<dyn Provider>, Failure> {
    let file = model_file(app);
    if !file.is_file() {
        let model = DISPLAY_NAME.to_owned();
        return Err(Reason::ModelNotInstalled { model, unused_key: None, without_key: false }.into());
    }
    let files = files::BoundedFileList::new(app.workspace.clone());
    let on_load = Box::new(|is_loading| {
        let observer = LOAD_OBSERVER.lock().unwrap_or_else(PoisonError::into_inner).clone();
        observer.iter().for_each(|observer| observer(is_loading));
    });
    let cache = app.dirs.cache.clone();
    Ok(Arc::new(ibeam_local::LocalProvider::new(file, cache, Box::new(files), on_load)))
}

/// Fails, because this build has no engine.
///
/// # Errors
/// `NoLocalEngine`.
#[cfg(not(feature = "embedded"))]
pub(super) fn provider(_: &AppContext) -> Result<Arc<dyn Provider>, Failure> {
    Err(Reason::NoLocalEngine.into())
}

#[cfg(feature = "embedded")]
mod files {
    //! The files of the workspace for the embedded model: a list of limited length.

    use std::path::{Component, Path, PathBuf};
    use std::time::Duration;

    /// A longer list does not help a small model.
    const MAX_FILES: usize = 200;
    const MAX_DEPTH: usize = 4;
    const TIME_LIMIT: Duration = Duration::from_secs(2);

    pub(super) struct BoundedFileList {
        root: PathBuf,
    }

    impl BoundedFileList {
        pub(super) fn new(root: PathBuf) -> Self {
            Self { root }
        }
    }

    impl ibeam_local::WorkspaceFiles for BoundedFileList {
        fn files(&self) -> Vec<String> {
            let files = ibeam_tools::list_files(&self.root, MAX_DEPTH, MAX_FILES, TIME_LIMIT);
            files.into_iter().filter_map(|file| Some(file.to_str()?.to_owned())).collect()
        }

        fn exists(&self, path: &str) -> bool {
            let inside = Path::new(path)
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            inside && self.root.join(path).is_file()
        }
    }
}
