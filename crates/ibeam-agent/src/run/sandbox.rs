//! The sandbox of a run: started in parallel to the rest of the start, joined before the first event. The first request
//! may be sent before: see `early_start`.
//!
//! A run whose sandbox cannot be set up does not start. It never continues with a weaker sandbox.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use ibeam_config::Setting;
use ibeam_output::Catalogue;
use ibeam_policy::{PathPolicy, Policy};
use ibeam_protocol::{Failure, Notice, PermissionMode, Reason, Sandbox, SandboxMode, Sentence, sentence};
use ibeam_sandbox::{Launcher, Layers, SandboxUnavailable, Tier};
use ibeam_tools::{
    BackgroundProcesses, CommandTimeouts, ConfinementPlan, HiddenGitObjects, Workspace, plan_confinement,
};
use tokio::sync::oneshot;

use super::last_sandbox::LastSandbox;
use super::web::Web;
use super::{home_workspace, policy_rules, resources, thread_error, writable_dirs};
use crate::app::AppContext;
use crate::checkpoint::Repository;

/// The largest default limit for the size of a file that a command writes, in bytes.
const MAX_FILE_SIZE: u64 = 8 << 30;

/// The restrictions of the tool calls of a run: the policy, the open workspace, and the launcher of commands.
pub struct RunSandbox {
    pub(super) policy: Policy,
    pub workspace: Workspace,
    pub path_policy: PathPolicy,
    pub background: BackgroundProcesses,
    /// The description in the head of the run.
    pub report: Sandbox,
    /// Why and how commands are confined.
    reason: Sentence,
    /// More about it, in English.
    notes: Vec<String>,
    pub web: Web,
    /// Notices about the sandbox.
    pub(crate) notices: Vec<Notice>,
}

/// The largest default size of the private directories for temporary files. Builds write some GB there.
const MAX_SCRATCH: u64 = 4 << 30;
/// The smallest default size, however little memory there is.
const MIN_SCRATCH: u64 = 64 << 20;
/// The key of the limit for the size of a file.
const FILE_SIZE: &str = "limits.file_size";
/// The key of the size of the private directories for temporary files.
const SCRATCH_SIZE: &str = "sandbox.scratch_size";
/// The file with the memory limit of a container.
const MEMORY_LIMIT_FILE: &str = "/sys/fs/cgroup/memory.max";

/// A sandbox that is being set up.
pub struct PendingSandbox {
    sandbox: RunSandbox,
    /// `None` where commands are not confined.
    setup: Option<SandboxSetup>,
}

/// The set-up of a sandbox on another thread.
pub(super) struct SandboxSetup {
    thread: JoinHandle<Result<Layers, SandboxUnavailable>>,
    /// Closed when the thread has its result.
    end: oneshot::Receiver<Infallible>,
    has_proxy: bool,
    /// The directories outside the workspace that commands may write.
    writable: Vec<String>,
    /// More about the confinement, in English.
    notes: Vec<String>,
    last: LastSandbox,
}

/// The one who answers for calls that no rule decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Respondent {
    /// Nobody: such calls are refused.
    Nobody,
    /// A person at a terminal, in an editor or behind a host, who decides about files outside the workspace and about
    /// commands that publish too.
    Person,
}

impl RunSandbox {
    /// Starts to set up the sandbox, on another thread where commands are confined.
    ///
    /// # Errors
    /// `NoInput` for a directory, `Usage` or `BadConfig` for an invalid rule or value.
    pub fn spawn(app: &AppContext) -> Result<PendingSandbox, Failure> {
        Self::spawn_with(app, Respondent::Nobody, resources::command_timeouts(&app.base.settings.timeouts)?)
    }

    /// Starts to set up the sandbox of a check, which may have `timeout` for its command.
    ///
    /// # Errors
    /// The errors of [`Self::spawn`].
    pub fn spawn_for_check(app: &AppContext, timeout: Option<Duration>) -> Result<PendingSandbox, Failure> {
        let timeouts = resources::command_timeouts(&app.base.settings.timeouts)?;
        let max = timeout.unwrap_or(timeouts.max);
        Self::spawn_with(app, Respondent::Nobody, CommandTimeouts { max, ..timeouts })
    }

    /// Starts to set up the sandbox of a session with a person, who decides about files outside the workspace and about
    /// commands that publish.
    ///
    /// # Errors
    /// The errors of [`Self::spawn`].
    pub fn spawn_for_person(app: &AppContext) -> Result<PendingSandbox, Failure> {
        Self::spawn_with(app, Respondent::Person, resources::command_timeouts(&app.base.settings.timeouts)?)
    }

    fn spawn_with(
        app: &AppContext,
        respondent: Respondent,
        timeouts: CommandTimeouts,
    ) -> Result<PendingSandbox, Failure> {
        let mode = super::prepare::permission_mode(app);
        let mut policy = policy_rules::build_policy(app, mode)?;
        policy.asks_about_outside = respondent == Respondent::Person;
        policy.asks_about_publishing = respondent == Respondent::Person;
        let workspace = Workspace::new(&app.workspace, &policy.extra_dirs).map_err(|error| {
            Reason::NoInput { path: app.workspace.display().to_string(), detail: error.to_string() }
        })?;
        let path_policy = policy.path_policy();
        let web = Web::new(app, &policy, respondent == Respondent::Nobody)?;
        let processes = app.base.settings.limits.process_count();
        let mut notices: Vec<Notice> = home_workspace::notice(app).into_iter().collect();
        let (mut reason, mut notes) = (Sentence::from(""), Vec::new());
        let (report, launcher) = match sandbox_choice(app, mode) {
            SandboxChoice::Off(off) => {
                reason = off;
                (Sandbox { reason: reason.clone(), ..Sandbox::default() }, Launcher::new(processes))
            }
            SandboxChoice::On => {
                // A granted directory may contain directories of this program, which commands must not change.
                let roots: Vec<_> = workspace.directories().map(Path::to_owned).collect();
                let protected = app.dirs.protect_from_commands(&roots)?;
                let ConfinementPlan { mut confinement, notes: found, hidden_objects, .. } =
                    plan_confinement(&workspace, &path_policy);
                notes = found;
                let hidden_objects = hidden_objects.or_else(|| {
                    let (path, objects) = objects_of_earlier_checkpoints(app, &path_policy)?;
                    let rule = format!("Read({})", objects.join("**").display());
                    confinement.hidden.push(objects);
                    Some(HiddenGitObjects { path, rule })
                });
                notices.extend(hidden_objects.map(|objects| Notice::GitObjectsHidden {
                    path: objects.path.display().to_string(),
                    rule: objects.rule,
                }));
                writable_dirs::add(app, &path_policy, &mut confinement)?;
                confinement.read_only.extend(protected);
                let setup = app.worktree.as_ref().and_then(|worktree| worktree.setup.as_ref());
                confinement.visible.extend(setup.map(|setup| setup.root().to_owned()));
                confinement.sockets = configured_paths(app, &app.base.settings.sandbox.sockets);
                confinement.max_file_size = Some(max_file_size(app));
                confinement.max_scratch_size = Some(scratch_size(app));
                confinement.has_proxy = web.is_granted();
                let outside = confinement.writable.iter().filter(|path| !workspace.contains(path));
                let writable = outside.map(|path| path.display().to_string()).collect();
                // The layers, and the reason with them, are known once the sandbox is set up.
                let report = Sandbox { writable, ..Sandbox::default() };
                (report, Launcher::confined(processes, confinement))
            }
        };
        let is_confined = launcher.is_confined();
        let background = BackgroundProcesses::new(timeouts, launcher);
        let setup = if is_confined {
            let background = background.clone();
            let (sender, end) = oneshot::channel();
            let set_up = move || {
                // Dropped when the thread has its result, or is lost.
                let _sender = sender;
                background.launcher().start()
            };
            let builder = std::thread::Builder::new().name("sandbox".to_owned());
            Some(SandboxSetup {
                thread: builder.spawn(set_up).map_err(thread_error)?,
                end,
                has_proxy: web.is_granted(),
                writable: report.writable.clone(),
                notes: notes.clone(),
                last: LastSandbox::load(&app.dirs.data),
            })
        } else {
            None
        };
        Ok(PendingSandbox {
            sandbox: Self { policy, workspace, path_policy, background, report, reason, notes, web, notices },
            setup,
        })
    }
}

/// Returns a hidden file that a checkpoint of an earlier version has in the repository, and the objects of the repository,
/// unless a rule allows to read them.
fn objects_of_earlier_checkpoints(app: &AppContext, path_policy: &PathPolicy) -> Option<(PathBuf, PathBuf)> {
    let repository = Repository::find(&app.workspace, &app.dirs, &app.programs, path_policy.clone())?;
    let objects = repository.objects().canonicalize().ok()?;
    if path_policy.allows_read_by_name(&objects, "objects") {
        return None;
    }
    Some((repository.hidden_file_of_earlier_checkpoints()?, objects))
}

/// Checks the settings of the sandbox, and starts and creates nothing.
///
/// # Errors
/// The errors of [`RunSandbox::spawn`].
pub(super) fn check_settings(app: &AppContext) -> Result<(), Reason> {
    resources::command_timeouts(&app.base.settings.timeouts)?;
    let mode = super::prepare::permission_mode(app);
    let policy = policy_rules::build_policy(app, mode)?;
    let path_policy = policy.path_policy();
    Web::new(app, &policy, true)?;
    if !is_sandbox_enabled(app) {
        return Ok(());
    }
    let Ok(workspace) = Workspace::new(&app.workspace, &policy.extra_dirs) else { return Ok(()) };
    let plan = plan_confinement(&workspace, &path_policy);
    writable_dirs::check(app, &path_policy, &plan.confinement)
}

impl PendingSandbox {
    /// Waits until the sandbox is set up.
    ///
    /// # Errors
    /// `NoSandbox` with the reason of the system.
    pub fn join(self) -> Result<RunSandbox, Reason> {
        let Self { mut sandbox, setup } = self;
        if let Some(setup) = setup {
            (sandbox.report, sandbox.reason) = setup.join()?;
            sandbox.policy.sandboxed = true;
        }
        Ok(sandbox)
    }

    /// Returns the sandbox with the report that the system prompt needs, and the rest of its set-up.
    ///
    /// # Errors
    /// This value, if the set-up may fail or is not the usual one, and must be joined first.
    pub(super) fn expect(self) -> Result<(RunSandbox, SandboxSetup), Box<Self>> {
        match self {
            Self { mut sandbox, setup: Some(setup) } if setup.last.has_succeeded() && !setup.has_proxy => {
                // The prompt is the same for every kind of confinement.
                sandbox.report.mode = SandboxMode::Namespaces;
                sandbox.report.network = false;
                sandbox.policy.sandboxed = true;
                Ok((sandbox, setup))
            }
            pending @ Self { .. } => Err(Box::new(pending)),
        }
    }
}

impl SandboxSetup {
    /// Waits until [`Self::join`] does not wait. Cancel safe.
    pub(super) async fn end(&mut self) {
        // The channel is closed without a message.
        let _ = (&mut self.end).await;
    }

    /// Waits until the sandbox is set up. Returns its report, and the reason of the report for people.
    ///
    /// # Errors
    /// `NoSandbox` with the reason of the system.
    pub(super) fn join(self) -> Result<(Sandbox, Sentence), Reason> {
        let Self { thread, has_proxy, writable, notes, last, .. } = self;
        let failed = |detail: String| Reason::NoSandbox { detail };
        let layers = thread.join().map_err(|_| failed("its thread was lost".to_owned()));
        let layers = layers.and_then(|layers| layers.map_err(|error| failed(error.to_string())));
        match layers.and_then(|layers| describe(&layers, has_proxy)) {
            Ok((described, reason)) => {
                let with_notes = with_notes(&reason, &notes);
                Ok((Sandbox { writable, reason: with_notes, ..described }, reason))
            }
            Err(reason) => {
                last.remove();
                Err(reason)
            }
        }
    }
}

/// Whether a run would confine its commands.
pub fn is_sandbox_enabled(app: &AppContext) -> bool {
    matches!(sandbox_choice(app, super::prepare::permission_mode(app)), SandboxChoice::On)
}

/// Whether commands are confined; if not, the reason.
enum SandboxChoice {
    On,
    Off(Sentence),
}

/// Returns whether commands are confined: unless the flags, the configuration or the mode of the run exclude it.
fn sandbox_choice(app: &AppContext, mode: PermissionMode) -> SandboxChoice {
    if matches!(mode, PermissionMode::Plan | PermissionMode::Ask) {
        return SandboxChoice::Off(sentence!("no command runs in this mode"));
    }
    match app.base.settings.sandbox.mode.value.as_deref() {
        Some("disabled") => {
            SandboxChoice::Off(sentence!("switched off; commands are confined by permission rules only"))
        }
        Some(_) | None => SandboxChoice::On,
    }
}

/// Returns the description of these layers for the head of the run.
///
/// # Errors
/// `NoSandbox` for supervision alone.
fn describe(layers: &Layers, network: bool) -> Result<(Sandbox, Sentence), Reason> {
    let mode = match layers.tier {
        Tier::Namespaces => SandboxMode::Namespaces,
        Tier::Landlock => SandboxMode::Landlock,
        Tier::Supervision => {
            return Err(Reason::NoSandbox { detail: "commands are supervised only".to_owned() });
        }
    };
    // Without their own network namespace, commands could reach other services on the interface of the proxy.
    let network = network && mode == SandboxMode::Namespaces;
    let reason = match (mode, network) {
        (_, true) => sentence!("commands reach the granted hosts, through a proxy"),
        (SandboxMode::Landlock, false) => {
            sentence!("commands reach no network; the system refuses namespaces")
        }
        (_, false) => sentence!("commands reach no network but their own loopback"),
    };
    let layers = layers.names.iter().map(|name| (*name).to_owned()).collect();
    Ok((Sandbox { mode, layers, network, ..Sandbox::default() }, reason))
}

impl RunSandbox {
    /// Returns why and how commands are confined, for people.
    pub fn reason_text(&self, catalogue: &Catalogue) -> String {
        catalogue.sentence(&with_notes(&self.reason, &self.notes))
    }
}

fn with_notes(reason: &Sentence, notes: &[String]) -> Sentence {
    let notes = notes.iter().map(|note| note.as_str().into());
    Sentence::list([reason.clone()].into_iter().chain(notes).collect(), "; ")
}

/// Returns the existing paths of a list in `[sandbox]`; `~/` is the home directory, and relative ones lie in the
/// workspace.
fn configured_paths(app: &AppContext, list: &[Setting<String>]) -> Vec<PathBuf> {
    let resolved = |entry: &str| match entry.strip_prefix("~/") {
        Some(below) => app.dirs.home.join(below),
        None => app.workspace.join(entry),
    };
    list.iter().filter_map(|entry| resolved(&entry.value).canonicalize().ok()).collect()
}

/// Returns the keys whose default is computed, with the values in force.
pub fn computed_sizes(app: &AppContext) -> [(&'static str, u64); 2] {
    [(FILE_SIZE, max_file_size(app)), (SCRATCH_SIZE, scratch_size(app))]
}

/// Returns the limit for the size of a file that a command writes, in bytes: as configured, else half of the free space
/// up to a limit.
fn max_file_size(app: &AppContext) -> u64 {
    let default = || free_bytes(&app.workspace).map_or(MAX_FILE_SIZE, |free| (free / 2).min(MAX_FILE_SIZE));
    app.base.settings.limits.file_size.number_or(app.trust.is_trusted(), default)
}

/// Returns the size of the private directories for temporary files, in bytes: as configured, else a quarter of the
/// memory within limits.
fn scratch_size(app: &AppContext) -> u64 {
    let default = || (available_memory() / 4).clamp(MIN_SCRATCH, MAX_SCRATCH);
    app.base.settings.sandbox.scratch_size.number_or(app.trust.is_trusted(), default)
}

/// Returns the bytes of memory that this process and its commands may use.
fn available_memory() -> u64 {
    let system = rustix::system::sysinfo();
    let all = system.totalram.saturating_mul(system.mem_unit.into());
    let limit = std::fs::read_to_string(MEMORY_LIMIT_FILE).ok().and_then(|text| text.trim().parse().ok());
    limit.map_or(all, |limit: u64| limit.min(all))
}

/// Returns the free space on the file system of `directory`, in bytes.
fn free_bytes(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}
