//! The files that are hidden from runs, as the caller decides.

use std::fmt;
use std::fs::Metadata;
use std::path::Path;
use std::sync::Arc;

/// Returns whether the file at a path, which is absolute and resolved, is hidden.
type Decision = dyn Fn(&Path, &Metadata) -> bool + Send + Sync;

/// The choice of files that runs do not see. The default hides nothing.
#[derive(Clone, Default)]
pub struct FileFilter(Option<Arc<Decision>>);

impl fmt::Debug for FileFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("FileFilter").field(&self.0.is_some()).finish()
    }
}

impl FileFilter {
    /// Returns the choice that `is_hidden` makes.
    pub fn new(is_hidden: impl Fn(&Path, &Metadata) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_hidden)))
    }

    /// Whether the file is hidden.
    pub(crate) fn hides(&self, path: &Path, metadata: &Metadata) -> bool {
        self.0.as_ref().is_some_and(|is_hidden| is_hidden(path, metadata))
    }
}
