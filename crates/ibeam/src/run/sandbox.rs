//! The sandbox of a run: begun beside the rest of the start, joined before the first event.
//!
//! Refuses to let a run begin without the sandbox that it should have: there is no weaker second choice that
//! nobody asked for.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use ibeam_policy::{PathPolicy, Policy};
use ibeam_protocol::{Failure, Notice, PermissionMode, Reason, Sandbox, SandboxMode};
use ibeam_sandbox::{Launcher, Layers, SandboxUnavailable, Tier};
use ibeam_tools::{BackgroundProcesses, ConfinementPlan, Workspace, plan_confinement};

use super::web::Web;
use super::{no_thread, policy_rules, resources, writable_dirs};
use crate::app::AppContext;

/// No file of a command grows larger, where nobody says otherwise.
const LARGEST_FILE: u64 = 8 << 30;

/// What holds the calls of a run: rules, the held workspace, and where commands come from.
pub(crate) struct RunSandbox {
    pub(super) policy: Policy,
    pub(super) workspace: Workspace,
    pub(super) path_policy: PathPolicy,
    pub(super) background: BackgroundProcesses,
    /// What `init` tells of them.
    pub(crate) sandbox: Sandbox,
    pub(super) web: Web,
    /// What people should know of them.
    pub(crate) notices: Vec<Notice>,
}

/// Directories for temporary files hold no more, where nobody says otherwise: builds write some GB there.
const LARGEST_SCRATCH: u64 = 4 << 30;
/// And no less, however little memory there is.
const SMALLEST_SCRATCH: u64 = 64 << 20;
/// The most memory that a container may have.
const MEMORY_LIMIT: &str = "/sys/fs/cgroup/memory.max";

/// RunSandbox on their way.
pub(crate) struct PendingSandbox {
    guards: RunSandbox,
    making: Option<JoinHandle<Result<Layers, SandboxUnavailable>>>,
}

impl RunSandbox {
    /// Begins to make them; the sandbox, where one is wanted, on a thread of its own.
    ///
    /// # Errors
    /// `NoInput` for a directory, `Usage` or `BadConfig` for a rule or a word that is none.
    pub(crate) fn spawn(app: &AppContext, printing: bool) -> Result<PendingSandbox, Failure> {
        let mode = super::prepare::permission_mode(app);
        let policy = policy_rules::build_policy(app, mode)?;
        let workspace = Workspace::new(&app.workspace, &policy.extra_dirs).map_err(|error| {
            Reason::NoInput { path: app.workspace.display().to_string(), detail: error.to_string() }
        })?;
        let path_policy = policy.path_policy();
        let web = Web::new(app, &policy, printing)?;
        let processes = app.base.config.process_limit();
        let mut notices = Vec::new();
        let (sandbox, launcher) = match wanted(app, mode, printing) {
            Wanted::Off(reason) => (off(reason), Launcher::new(processes)),
            Wanted::On => {
                // No directory that is granted holds one of ours.
                let roots: Vec<_> = workspace.directories().map(Path::to_owned).collect();
                let kept = app.dirs.protect_from_commands(&roots)?;
                let ConfinementPlan { mut confinement, notes, hidden_objects, .. } =
                    plan_confinement(&workspace, &path_policy);
                notices.extend(hidden_objects.map(|objects| Notice::GitObjectsHidden {
                    path: objects.path.display().to_string(),
                    rule: objects.rule,
                }));
                writable_dirs::add(app, &path_policy, &mut confinement)?;
                confinement.read_only.extend(kept);
                confinement.sockets = paths(app, "sockets");
                confinement.max_file_size = Some(largest_file(app));
                confinement.max_scratch_size = Some(scratch_size(app));
                confinement.has_proxy = web.is_granted();
                let outside = confinement.writable.iter().filter(|path| !workspace.contains(path));
                let writable = outside.map(|path| path.display().to_string()).collect();
                // What holds is known later, and the beginning of the reason with it.
                let sandbox = Sandbox { writable, reason: notes.join("; "), ..Sandbox::default() };
                (sandbox, Launcher::confined(processes, confinement))
            }
        };
        let wanted = launcher.is_confined();
        let background = BackgroundProcesses::new(resources::command_timeouts(app)?, launcher);
        let making = if wanted {
            let background = background.clone();
            let thread = std::thread::Builder::new().name("sandbox".to_owned());
            Some(thread.spawn(move || background.launcher().start()).map_err(no_thread)?)
        } else {
            None
        };
        Ok(PendingSandbox {
            guards: Self { policy, workspace, path_policy, background, sandbox, web, notices },
            making,
        })
    }
}

impl PendingSandbox {
    /// Waits until they stand.
    ///
    /// # Errors
    /// `NoSandbox` with what the system refuses.
    pub(crate) fn join(mut self) -> Result<RunSandbox, Reason> {
        if let Some(making) = self.making {
            let none = |detail: String| Reason::NoSandbox { detail };
            let made = making.join().map_err(|_| none("its making was lost".to_owned()))?;
            let layers = made.map_err(|refused| none(refused.to_string()))?;
            let Sandbox { writable, reason: notes, .. } = self.guards.sandbox;
            let mut sandbox = Sandbox { writable, ..report(&layers, self.guards.web.is_granted())? };
            if !notes.is_empty() {
                sandbox.reason = format!("{}; {notes}", sandbox.reason);
            }
            self.guards.sandbox = sandbox;
            self.guards.policy.sandboxed = true;
        }
        Ok(self.guards)
    }
}

/// Whether a run that prints would hold its commands.
pub(crate) fn is_wanted(app: &AppContext) -> bool {
    matches!(wanted(app, super::prepare::permission_mode(app), true), Wanted::On)
}

enum Wanted {
    On,
    Off(&'static str),
}

/// What flags, configuration and the kind of run ask for.
fn wanted(app: &AppContext, mode: PermissionMode, printing: bool) -> Wanted {
    if matches!(mode, PermissionMode::Plan | PermissionMode::Ask) {
        return Wanted::Off("no command runs in this mode");
    }
    match app.base.config.text(&["sandbox", "mode"]) {
        Some("disabled") => Wanted::Off("switched off; commands are confined by permission rules only"),
        Some(_) => Wanted::On,
        None if printing || mode == PermissionMode::Force => Wanted::On,
        None => Wanted::Off("a person is asked before each command that no rule allows"),
    }
}

/// What `init` tells of these layers.
fn report(layers: &Layers, network: bool) -> Result<Sandbox, Reason> {
    let mode = match layers.tier {
        Tier::Namespaces => SandboxMode::Namespaces,
        Tier::Landlock => SandboxMode::Landlock,
        Tier::Supervision => {
            return Err(Reason::NoSandbox { detail: "commands are supervised only".to_owned() });
        }
    };
    // Without a network of their own, commands could reach others where the proxy is.
    let network = network && mode == SandboxMode::Namespaces;
    let reason = match (mode, network) {
        (_, true) => "commands reach the granted hosts, through a proxy",
        (SandboxMode::Landlock, false) => "commands reach no network; the system refuses namespaces",
        (_, false) => "commands reach no network but their own loopback",
    };
    let layers = layers.names.iter().map(|name| (*name).to_owned()).collect();
    Ok(Sandbox { mode, layers, network, writable: Vec::new(), reason: reason.to_owned() })
}

fn off(reason: &str) -> Sandbox {
    Sandbox { reason: reason.to_owned(), ..Sandbox::default() }
}

/// Returns the existing paths of a list in `[sandbox]`; `~/` is the home directory, and relative ones lie in the
/// workspace.
fn paths(app: &AppContext, list: &str) -> Vec<PathBuf> {
    let resolved = |entry: &str| match entry.strip_prefix("~/") {
        Some(below) => app.dirs.home.join(below),
        None => app.workspace.join(entry),
    };
    let entries = app.base.config.list(&["sandbox", list]);
    entries.into_iter().filter_map(|(entry, _)| resolved(entry).canonicalize().ok()).collect()
}

/// The most bytes a file of a command may grow to: as configured, else half of what is free, within reason.
fn largest_file(app: &AppContext) -> u64 {
    let usual = || free_at(&app.workspace).map_or(LARGEST_FILE, |free| (free / 2).min(LARGEST_FILE));
    app.base.config.number(&["limits", "file_size"]).unwrap_or_else(usual)
}

/// The most bytes in the private directories for temporary files: as configured, else a quarter of the memory, within
/// reason.
fn scratch_size(app: &AppContext) -> u64 {
    let usual = || (memory() / 4).clamp(SMALLEST_SCRATCH, LARGEST_SCRATCH);
    app.base.config.number(&["sandbox", "scratch_size"]).unwrap_or_else(usual)
}

/// The bytes of memory that this process and its commands may have.
fn memory() -> u64 {
    let system = rustix::system::sysinfo();
    let all = system.totalram.saturating_mul(system.mem_unit.into());
    let limit = std::fs::read_to_string(MEMORY_LIMIT).ok().and_then(|text| text.trim().parse().ok());
    limit.map_or(all, |limit: u64| limit.min(all))
}

fn free_at(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}
