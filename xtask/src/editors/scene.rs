//! The surroundings of a client: a scripted model, a workspace, and the program as the client starts it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ibeam_testkit::{Answer, ModelServer, Workspace};

use super::Clients;
use crate::suite::{Checks, SuiteError};

/// A scratch directory with the program, and the model server.
pub(super) struct Scene<'a> {
    clients: &'a Clients,
    pub(super) workspace: Workspace,
    /// The script that starts the program and records what it sends and receives.
    pub(super) program: PathBuf,
    records: PathBuf,
    _model: ModelServer,
}

/// The configuration of the user. Confined commands are not asked about, but for those of this rule.
const ASKING: &str = "[permissions]\nask = [\"Shell(touch)\"]\n";

impl<'a> Scene<'a> {
    /// Creates the scene. The program is started under the name `cursor-agent`, as the links of `ibeam shim` do.
    pub(super) fn new(
        clients: &'a Clients,
        answers: impl IntoIterator<Item = Answer>,
    ) -> Result<Self, SuiteError> {
        let (model, workspace) = (ModelServer::start(answers), Workspace::new().user_config(ASKING));
        let outside = workspace.outside();
        let (records, bin) = (outside.join("records"), outside.join("bin"));
        for directory in [&records, &bin] {
            fs::create_dir_all(directory).map_err(SuiteError::system(directory.display()))?;
        }
        let shims = outside.join("shims");
        let mut shim = Command::new(&clients.programs.ibeam);
        shim.arg("shim")
            .arg(&shims)
            .env("HOME", workspace.home())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        shim.status().map_err(SuiteError::system(clients.programs.ibeam.display()))?;
        let program = bin.join("cursor-agent");
        let script = format!(
            "#!/bin/sh\nexport IBEAM_MODEL=anthropic/claude-sonnet-4-6 ANTHROPIC_BASE_URL='{}' \
             ANTHROPIC_API_KEY=key-of-the-checks\nexec python3 -I '{}' '{}' '{}' \"$@\"\n",
            model.url(),
            clients.programs.scripts.join("recorder.py").display(),
            records.display(),
            shims.join("cursor-agent").display(),
        );
        fs::write(&program, script)
            .and_then(|()| fs::set_permissions(&program, fs::Permissions::from_mode(0o755)))
            .map_err(SuiteError::system(program.display()))?;
        Ok(Self { clients, workspace, program, records, _model: model })
    }

    /// Returns a command with the environment of the workspace, and the directories of the program and of Node in `PATH`.
    pub(super) fn command(&self, program: &Path) -> Command {
        let own = [self.program.parent(), self.clients.programs.node.parent()].into_iter().flatten();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = own.map(Path::to_owned).chain(std::env::split_paths(&path));
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::join_paths(path).unwrap_or_default());
        command.env("HOME", self.workspace.home()).current_dir(self.workspace.path());
        command
    }

    /// Runs a command to its end.
    pub(super) fn run(&self, mut command: Command) -> Result<Output, SuiteError> {
        let display = format!("{command:?}");
        command.stdin(Stdio::null()).output().map_err(SuiteError::system(display))
    }

    /// Adds the checks of what the program sent.
    pub(super) fn check_records(&self, checks: &mut Checks) -> Result<(), SuiteError> {
        let findings = self.clients.schema.check(&self.records)?;
        checks.add("every line follows `schema.json`", findings.is_empty(), findings.join("; "));
        Ok(())
    }
}
