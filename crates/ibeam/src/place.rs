//! Where things of ours are: configuration, keys, sessions, models, caches.
//!
//! The XDG directories on every system.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use ibeam_protocol::Reason;

/// Absolute paths; nothing of them need exist.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The home directory.
    pub(crate) home: PathBuf,
    /// The user's configuration file.
    pub(crate) user_config: PathBuf,
    /// The project's configuration file.
    pub(crate) project_config: PathBuf,
    /// Stored keys.
    pub(crate) credentials: PathBuf,
    /// Our data: sessions, models.
    pub(crate) data: PathBuf,
    /// What can be made again.
    pub(crate) cache: PathBuf,
}

impl Places {
    /// The places of this user and of the project in `workspace`.
    ///
    /// # Errors
    /// `CannotCreate` when no home directory can be told.
    pub(crate) fn of(workspace: &Path) -> Result<Self, Reason> {
        let base = etcetera::base_strategy::Xdg::new()
            .map_err(|error| Reason::CannotCreate { path: "$HOME".to_owned(), said: error.to_string() })?;
        let config = base.config_dir().join("ibeam");
        Ok(Self {
            home: base.home_dir().to_owned(),
            user_config: config.join("config.toml"),
            project_config: workspace.join(".ibeam").join("config.toml"),
            credentials: config.join("credentials.toml"),
            data: base.data_dir().join("ibeam"),
            cache: base.cache_dir().join("ibeam"),
        })
    }

    /// The directory of sessions.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// The directory of models.
    #[cfg_attr(not(feature = "local-model"), expect(dead_code, reason = "only the embedded model has files"))]
    pub(crate) fn models(&self) -> PathBuf {
        self.data.join("models")
    }
}
