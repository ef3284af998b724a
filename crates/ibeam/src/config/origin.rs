//! Where a value came from.

use std::fmt;
use std::path::PathBuf;

use ibeam_protocol::Reason;

/// The layer, and the place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Built in.
    Default,
    /// A file of the user's.
    User { path: PathBuf, line: u64 },
    /// A file of the project's.
    Project { path: PathBuf, line: u64 },
    /// An environment variable.
    Env(String),
    /// A flag.
    Flag(String),
    /// The file of whoever administers this machine.
    Managed { path: PathBuf, line: u64 },
}

impl Origin {
    /// What a wrong value from here is: `Usage` for a flag, else `BadConfig` with the place.
    pub(crate) fn bad(&self, detail: String) -> Reason {
        let (path, line) = match self {
            Self::Flag(_) => return Reason::Usage { detail },
            Self::User { path, line } | Self::Project { path, line } | Self::Managed { path, line } => {
                (path.display().to_string(), Some(*line))
            }
            Self::Default | Self::Env(_) => (self.to_string(), None),
        };
        Reason::BadConfig { path, line, column: None, detail }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User { path, line } | Self::Project { path, line } | Self::Managed { path, line } => {
                write!(f, "{}:{line}", path.display())
            }
            Self::Env(name) => write!(f, "${name}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}
