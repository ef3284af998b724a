//! Helpers for tests of tools: a workspace in a temporary directory, and calls by name.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{CallPreview, Notices, PreparedCall, Stop, ToolContext, ToolSet};
use ibeam_policy::{Policy, Rule};
use ibeam_protocol::{PermissionMode, ToolFailure, ToolOutcome, ToolOutput};
use ibeam_sandbox::Launcher;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    BackgroundProcesses, CommandTimeouts, PastFileAccess, ToolSettings, Workspace, all, plan_confinement,
};

/// A workspace with its tools.
pub(crate) struct Fixture {
    directory: Arc<TempDir>,
    pub(crate) tools: ToolSet,
    pub(crate) background: BackgroundProcesses,
    pub(crate) stop: Stop,
    pub(crate) notices: Notices,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::in_time(CommandTimeouts::default())
    }

    /// Returns a fixture whose commands have these timeouts.
    pub(crate) fn in_time(timeouts: CommandTimeouts) -> Self {
        Self::set(timeouts, |_, _| {})
    }

    /// Returns a fixture with a policy of these rules in force mode; the home directory is a sibling of the workspace.
    pub(crate) fn guarded(allow: &[&str], deny: &[&str]) -> Self {
        Self::guarded_with(allow, deny, |_| {})
    }

    /// Like [`Self::guarded`], with other settings too.
    pub(crate) fn guarded_with(
        allow: &[&str],
        deny: &[&str],
        change: impl FnOnce(&mut ToolSettings),
    ) -> Self {
        let rules = |tokens: &[&str]| tokens.iter().map(|token| token.parse::<Rule>().unwrap()).collect();
        let (allow, deny) = (rules(allow), rules(deny));
        Self::set(CommandTimeouts::default(), |settings, root| {
            let home = root.with_file_name("home");
            let mut policy = Policy::new(PermissionMode::Force, root.to_owned(), home);
            (policy.allow, policy.deny) = (allow, deny);
            settings.path_policy = policy.path_policy();
            settings.quarantine = Some(root.with_file_name("quarantine"));
            change(settings);
        })
    }

    /// Returns the same workspace with the tools of a new run, without rules.
    pub(crate) fn again(self) -> Self {
        let root = self.root();
        let policy = Policy::new(PermissionMode::Force, root.clone(), root.with_file_name("home"));
        let settings = ToolSettings { path_policy: policy.path_policy(), ..ToolSettings::default() };
        Self { tools: all(Workspace::new(&root, &[]).unwrap(), settings), ..self }
    }

    /// Like [`Self::guarded`], with commands in the sandbox that this system allows. `prepare` fills the workspace before
    /// the sandbox is made.
    pub(crate) fn confined(allow: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        Self::guarded_with(allow, &[], |settings| {
            let root = settings.quarantine.as_ref().unwrap().with_file_name("ws");
            prepare(&root);
            settings.background = confined_commands(&root, settings);
        })
    }

    /// Returns a second run with these rules in the same workspace, which has its own quarantine.
    pub(crate) fn second_run(&self, allow: &[&str]) -> Self {
        let mut policy = Policy::new(PermissionMode::Force, self.root(), self.outside("home"));
        policy.allow = allow.iter().map(|token| token.parse::<Rule>().unwrap()).collect();
        let mut settings = ToolSettings {
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            path_policy: policy.path_policy(),
            quarantine: Some(self.outside("quarantine-2")),
            ..ToolSettings::default()
        };
        settings.background = confined_commands(&self.root(), &settings);
        Self {
            directory: Arc::clone(&self.directory),
            background: settings.background.clone(),
            tools: all(Workspace::new(&self.root(), &[]).unwrap(), settings),
            stop: Stop::default(),
            notices: Notices::default(),
        }
    }

    /// Returns the same workspace with the tools of a resumed run, whose earlier runs read or wrote files at these
    /// times.
    pub(crate) fn with_past(self, past_ms: HashMap<PathBuf, u64>) -> Self {
        let past_file_access = PastFileAccess::from_times(past_ms);
        let settings = ToolSettings { past_file_access, ..ToolSettings::default() };
        Self { tools: all(Workspace::new(&self.root(), &[]).unwrap(), settings), ..self }
    }

    pub(crate) fn set(timeouts: CommandTimeouts, change: impl FnOnce(&mut ToolSettings, &Path)) -> Self {
        let directory = TempDir::with_prefix("ibeam-tools-").unwrap();
        std::fs::create_dir(directory.path().join("ws")).unwrap();
        let workspace = Workspace::new(&directory.path().join("ws"), &[]).unwrap();
        let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut settings = ToolSettings {
            environment: vec![
                variable("PATH", "/usr/local/bin:/usr/bin:/bin"),
                variable("HOME", "/dev/null/home"),
                variable("MODEL_API_KEY", "sk-secret"),
                variable("OTHER_TOKEN", "secret-too"),
                variable("BASH_ENV", "/dev/null/start-up"),
                variable("KEPT", "kept"),
            ],
            extra_variables: vec!["KEPT".to_owned()],
            secret_variables: vec!["OTHER_TOKEN".to_owned()],
            log_directory: Some(directory.path().join("logs")),
            background: BackgroundProcesses::new(timeouts, Launcher::default()),
            ..ToolSettings::default()
        };
        change(&mut settings, workspace.root());
        let background = settings.background.clone();
        Self {
            tools: all(workspace, settings),
            directory: Arc::new(directory),
            background,
            stop: Stop::default(),
            notices: Notices::default(),
        }
    }

    /// Returns a fixture with one file.
    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let fixture = Self::new();
        fixture.put(name, content);
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("ws").canonicalize().unwrap()
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(crate) fn fifo(&self, name: &str) {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, self.path(name), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }

    /// Prepares a call as the loop does.
    #[track_caller]
    pub(crate) fn prepare(&self, tool: &str, arguments: Value) -> PreparedCall {
        self.tools[tool].prepare(&arguments).unwrap()
    }

    /// Prepares and runs a call.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> ToolOutcome {
        self.run_blocking(self.prepare(tool, arguments))
    }

    /// Returns what a call would do.
    pub(crate) fn preview(&self, tool: &str, arguments: Value) -> CallPreview {
        let PreparedCall { arguments, access, .. } = self.prepare(tool, arguments);
        let context = ToolContext::new(self.stop.clone(), Duration::from_secs(60));
        runtime().block_on(self.tools[tool].preview(&arguments, &access, context))
    }

    pub(crate) fn run_blocking(&self, prepared: PreparedCall) -> ToolOutcome {
        runtime().block_on(self.run(prepared))
    }

    pub(crate) async fn run(&self, prepared: PreparedCall) -> ToolOutcome {
        let context = ToolContext {
            notices: self.notices.clone(),
            ..ToolContext::new(self.stop.clone(), Duration::from_secs(60))
        };
        // No test may hang. Reading gigabytes takes a debug build a minute on a machine that is busy otherwise.
        tokio::time::timeout(Duration::from_secs(240), (prepared.run)(context)).await.unwrap()
    }
}

/// Returns the commands of a run in the sandbox.
fn confined_commands(root: &Path, settings: &ToolSettings) -> BackgroundProcesses {
    let workspace = Workspace::new(root, &[]).unwrap();
    let confinement = plan_confinement(&workspace, &settings.path_policy).confinement;
    let launcher = Launcher::confined(ibeam_sandbox::DEFAULT_PROCESS_LIMIT, confinement);
    launcher.start().unwrap();
    BackgroundProcesses::new(CommandTimeouts::default(), launcher)
}

/// Returns a runtime like that of the binary.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[track_caller]
pub(crate) fn success(outcome: ToolOutcome) -> (ToolOutput, String) {
    match outcome {
        ToolOutcome::Success { output, for_model } => (output, for_model.to_string()),
        ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => panic!("no success: {outcome:?}"),
    }
}

#[track_caller]
pub(crate) fn failure(outcome: ToolOutcome) -> (ToolFailure, String) {
    match outcome {
        ToolOutcome::Failure { failure, for_model } => (failure, for_model.to_string()),
        ToolOutcome::Success { .. } | ToolOutcome::Rejected { .. } => panic!("no failure: {outcome:?}"),
    }
}

/// Whether the tests run as root, who has every permission, so that a test of a refusal is skipped.
pub(crate) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if root {
        eprintln!("SKIP: root may do everything, so a refusal by the system cannot be tested");
    }
    root
}
