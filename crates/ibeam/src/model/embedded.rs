//! The embedded model: where its file is, and the port to it. The engine is loaded with the first request.

use std::path::PathBuf;
use std::sync::Arc;

use ibeam_core::Provider as Port;
use ibeam_protocol::{Failure, Reason};

use crate::app::AppContext;

/// Its name for people.
#[cfg(feature = "embedded")]
pub(crate) const DISPLAY_NAME: &str = ibeam_local::MODEL_NAME;
/// Its name for people.
#[cfg(not(feature = "embedded"))]
pub(crate) const DISPLAY_NAME: &str = "the embedded model";

/// Whether the file is in its place, and an engine to run it. It was checked when it was put there.
pub(crate) fn is_installed(app: &AppContext) -> bool {
    cfg!(feature = "embedded") && model_file(app).is_file()
}

/// Where the file is: `local.model`, else in our data directory.
#[cfg(feature = "embedded")]
pub(crate) fn model_file(app: &AppContext) -> PathBuf {
    let own = app.base.config.text(&["local", "model"]).map(PathBuf::from);
    own.unwrap_or_else(|| app.dirs.models().join(ibeam_local::setup::MODEL_FILE))
}

/// Where the file would be.
#[cfg(not(feature = "embedded"))]
pub(crate) fn model_file(app: &AppContext) -> PathBuf {
    app.base.config.text(&["local", "model"]).map(PathBuf::from).unwrap_or_default()
}

/// The port to it.
#[cfg(feature = "embedded")]
pub(super) fn provider(app: &AppContext) -> Result<Arc<dyn Port>, Failure> {
    let file = model_file(app);
    if !file.is_file() {
        return Err(Reason::ModelNotInstalled { model: DISPLAY_NAME.to_owned(), unused_key: None }.into());
    }
    let files = files::BoundedFileList::new(app.workspace.clone());
    Ok(Arc::new(ibeam_local::LocalProvider::new(file, app.dirs.cache.clone(), Box::new(files))))
}

/// There is none in this build.
#[cfg(not(feature = "embedded"))]
pub(super) fn provider(_: &AppContext) -> Result<Arc<dyn Port>, Failure> {
    Err(Reason::NoLocalEngine.into())
}

#[cfg(feature = "embedded")]
mod files {
    //! The workspace as the embedded model may know it: a bounded list of files.

    use std::path::{Component, Path, PathBuf};
    use std::time::Duration;

    /// More files than this tell a small model nothing.
    const MOST_FILES: usize = 200;
    const DEEPEST: usize = 4;
    const LONGEST: Duration = Duration::from_secs(2);

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
            let files = ibeam_tools::list_files(&self.root, DEEPEST, MOST_FILES, LONGEST);
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
