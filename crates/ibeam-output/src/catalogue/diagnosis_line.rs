//! The lines of `about`, `status` and `doctor`.

use serde::Serialize;

use super::lines::CatalogueLine;

/// A line, a mark or the name of a check about the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosisLine<'a> {
    /// No key is set or stored.
    NotLoggedIn,
    /// A provider has a key.
    LoggedIn { provider: &'a str, source: &'a str },
    /// The model of a run.
    Model { model: &'a str, id: &'a str, origin: &'a str },
    /// A run has no model.
    NoModel { detail: &'a str },
    /// The version of the output contract.
    AboutContract { version: &'a str },
    /// The model of a run, for `about`.
    AboutModel { model: &'a str },
    /// A run has no model, for `about`.
    AboutNoModel,
    /// The program contains the engine of the embedded model.
    AboutEngine,
    /// The program does not contain the engine of the embedded model.
    AboutNoEngine,
    /// The program contains the client of queues.
    AboutQueues,
    /// The program does not contain the client of queues.
    AboutNoQueues,
    /// The operating system and the processor.
    AboutPlatform { os: &'a str, arch: &'a str },
    /// The licence.
    AboutLicence,
    /// The mark of a check that succeeded.
    Ok,
    /// The mark of what is missing.
    Missing,
    /// The mark of what is invalid.
    Wrong,
    /// The name of the check of the model.
    CheckModel,
    /// The name of the check of keys.
    CheckKey,
    /// The name of the check of the embedded model.
    CheckEmbedded,
    /// The name of the check of the directory of sessions.
    CheckSessions,
    /// The name of the check of the cache directory.
    CheckCache,
    /// The name of the check of a configuration file.
    CheckConfiguration,
    /// The name of the check of the sandbox.
    CheckSandbox,
    /// The source of a key.
    KeyFound { provider: &'a str, source: &'a str },
    /// No provider has a key, and the model works without one.
    KeyNotNeeded { model: &'a str },
    /// No provider has a key.
    KeyMissing,
    /// The embedded model is not installed.
    EmbeddedMissing,
    /// A directory that cannot be written, and the way out.
    NotWritable { path: &'a str },
    /// The purpose of `bash`.
    BashPurpose,
    /// The purpose of `git`.
    GitPurpose,
    /// The purpose of `python3`.
    PythonPurpose,
}

impl CatalogueLine for DiagnosisLine<'_> {
    const PREFIX: &'static str = "diagnosis";
}
