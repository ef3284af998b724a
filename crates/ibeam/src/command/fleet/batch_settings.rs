//! `batch.json` in the directory of a fleet: what `fleet poll` needs to go on as `fleet run --batch` began.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_files::private_file;
use ibeam_fleet::{Budget, DriverOptions, RateLimits};
use serde::{Deserialize, Serialize};

const FILE: &str = "batch.json";

/// The settings of a fleet whose requests are answered in batches. The flags can contain secrets, so only the user can
/// read the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BatchSettings {
    /// The directory in which the fleet was started: relative paths in flags start there.
    pub(super) current_dir: PathBuf,
    /// The flags of runs and checks.
    pub(super) flags: Vec<OsString>,
    /// The time of the first start, in milliseconds since 1970.
    pub(super) started_ms: u64,
    /// The time after the start at which requests are sent directly.
    pub(super) deadline: Option<Duration>,
    jobs: NonZeroUsize,
    max_runs: u32,
    budget_cost_micros: Option<u64>,
    budget_tokens: Option<u64>,
    requests_per_minute: Option<u32>,
    tokens_per_minute: Option<u64>,
    discards_workspaces: bool,
}

impl BatchSettings {
    /// Returns the settings of a fleet that starts now.
    pub(super) fn new(
        options: &DriverOptions,
        current_dir: PathBuf,
        flags: Vec<OsString>,
        started_ms: u64,
        deadline: Option<Duration>,
    ) -> Self {
        let DriverOptions { lease: _, jobs, max_runs, budget, rates, discards_workspaces } = *options;
        Self {
            current_dir,
            flags,
            started_ms,
            deadline,
            jobs,
            max_runs,
            budget_cost_micros: budget.cost_micros,
            budget_tokens: budget.tokens,
            requests_per_minute: rates.requests_per_minute,
            tokens_per_minute: rates.tokens_per_minute,
            discards_workspaces,
        }
    }

    pub(super) fn options(&self) -> DriverOptions {
        DriverOptions {
            lease: DriverOptions::LEASE,
            jobs: self.jobs,
            max_runs: self.max_runs,
            budget: Budget { cost_micros: self.budget_cost_micros, tokens: self.budget_tokens },
            rates: RateLimits {
                requests_per_minute: self.requests_per_minute,
                tokens_per_minute: self.tokens_per_minute,
            },
            discards_workspaces: self.discards_workspaces,
        }
    }

    /// Returns the time at which requests are sent directly, in milliseconds since 1970.
    pub(super) fn deadline_ms(&self) -> Option<u64> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.deadline.map(|deadline| self.started_ms.saturating_add(millis(deadline)))
    }

    /// Reads the settings; `None` if the fleet in `directory` was not started with `--batch`, or if there is none.
    ///
    /// # Errors
    /// Errors of the system; a damaged file.
    pub(super) fn read(directory: &Path) -> io::Result<Option<Self>> {
        match fs::read(directory.join(FILE)) {
            Ok(content) => Ok(Some(serde_json::from_slice(&content)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the settings.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        private_file::replace(&directory.join(FILE), &serde_json::to_vec(self)?)
    }
}
