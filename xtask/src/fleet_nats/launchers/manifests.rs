//! Manifests for clusters and CI services that are not here: compared with official schemas, and their commands run.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::launcher_scene::{LauncherScene, Running, start, write};
use super::recipes::replace;
use crate::suite::SuiteError;

/// The number of containers that are started; a manifest has more than one machine needs.
const CONTAINERS: usize = 2;
/// The exit code of a worker that was asked to end.
const TERMINATED: i32 = 143;

/// Programs that compare manifests with schemas.
pub(super) struct Validators {
    programs: PathBuf,
}

impl Validators {
    /// Returns the validators in a directory of programs of Python.
    pub(super) fn new(programs: PathBuf) -> Self {
        Self { programs }
    }

    /// Compares a manifest of Kubernetes with the schema of its kind. Unknown fields are errors.
    fn check_kubernetes(&self, path: &Path) -> Result<(), SuiteError> {
        self.run(Command::new(self.programs.join("kubernetes-validate")).arg("--strict").arg(path))
    }

    /// Compares a workflow with the schema of its service.
    fn check_workflow(&self, path: &Path) -> Result<(), SuiteError> {
        let mut command = Command::new(self.programs.join("check-jsonschema"));
        self.run(command.args(["--builtin-schema", "vendor.github-workflows"]).arg(path))
    }

    fn run(&self, command: &mut Command) -> Result<(), SuiteError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let output = command.output().map_err(SuiteError::system(program))?;
        if output.status.success() {
            return Ok(());
        }
        let text = [output.stdout, output.stderr].concat();
        Err(SuiteError::Failed(format!("a manifest is invalid: {}", String::from_utf8_lossy(&text))))
    }

    /// Returns a file of YAML as JSON.
    fn read(&self, path: &Path) -> Result<Value, SuiteError> {
        let script =
            "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout, default=str)";
        let mut command = Command::new(self.programs.join("python"));
        let output = command.args(["-c", script]).arg(path).output().map_err(SuiteError::system("python"))?;
        // The key `on` of a workflow is a boolean in YAML 1.1, which `json` writes as text.
        serde_json::from_slice(&output.stdout)
            .map_err(|error| SuiteError::Failed(format!("{}: {error}", path.display())))
    }
}

/// Runs the container of a Job until it ends.
pub(super) fn run_job(scene: &LauncherScene<'_>, validators: &Validators) -> Result<String, SuiteError> {
    let command = container_command(scene, validators, 0)?;
    let submitter = scene.submit()?;
    let containers = start_containers(scene, &command)?;
    let workers = scene.wait_for_results(submitter)?;
    for container in containers {
        let status = container.wait("a container of the Job")?;
        if !status.success() {
            return Err(scene.with_logs(&format!("a container of the Job ended with {status}")));
        }
    }
    Ok(scene.describe(workers, "no cluster: valid manifest, its command run to the end"))
}

/// Runs the container of a Deployment, and stops it as a cluster does.
pub(super) fn run_deployment(
    scene: &LauncherScene<'_>,
    validators: &Validators,
) -> Result<String, SuiteError> {
    let command = container_command(scene, validators, 1)?;
    let submitter = scene.submit()?;
    let mut containers = start_containers(scene, &command)?;
    let workers = scene.wait_for_results(submitter)?;
    for container in &mut containers {
        let pid = i32::try_from(container.0.id()).ok().and_then(Pid::from_raw);
        if pid.is_none_or(|pid| kill_process(pid, Signal::TERM).is_err()) {
            return Err(scene.with_logs("a container of the Deployment ended too early"));
        }
    }
    for container in containers {
        let status = container.wait("a container of the Deployment")?;
        if status.code() != Some(TERMINATED) {
            return Err(scene.with_logs(&format!("a container of the Deployment ended with {status}")));
        }
    }
    Ok(scene.describe(workers, "no cluster: valid manifest, its command run and stopped"))
}

/// Runs the steps of a job for two values of its matrix.
pub(super) fn run_workflow(scene: &LauncherScene<'_>, validators: &Validators) -> Result<String, SuiteError> {
    let path = scene.directory().join("workflow.yml");
    write(&path, &scene.recipe("CI", 0)?)?;
    validators.check_workflow(&path)?;
    let workflow = validators.read(&path)?;
    let job = workflow.pointer("/jobs/worker").cloned().unwrap_or_default();
    let step = job.pointer("/steps/0").cloned().unwrap_or_default();
    let script = step.get("run").and_then(Value::as_str).unwrap_or_default();
    let matrix =
        job.pointer("/strategy/matrix/worker").and_then(Value::as_array).cloned().unwrap_or_default();
    let submitter = scene.submit()?;
    let mut jobs = Vec::new();
    for (number, value) in matrix.iter().take(CONTAINERS).enumerate() {
        let home = scene.create_home(&format!("job-{number}"))?;
        let mut command = scene.command("bash", &home, &format!("job-{number}"))?;
        command.args(["-e", "-c", script]).current_dir(&home);
        for (name, expression) in step.get("env").and_then(Value::as_object).into_iter().flatten() {
            let expression = expression.as_str().unwrap_or_default();
            command.env(name, evaluate(scene, expression, value)?);
        }
        jobs.push(start(command)?);
    }
    let workers = scene.wait_for_results(submitter)?;
    for job in jobs {
        let status = job.wait("a job of the matrix")?;
        if !status.success() {
            return Err(scene.with_logs(&format!("a job of the matrix ended with {status}")));
        }
    }
    Ok(scene.describe(workers, "no service: valid workflow, its steps run for two jobs"))
}

/// Returns the value of an expression of the workflow.
fn evaluate(scene: &LauncherScene<'_>, expression: &str, worker: &Value) -> Result<String, SuiteError> {
    match expression {
        "${{ matrix.worker }}" => Ok(worker.to_string()),
        "${{ secrets.NATS_SEED }}" => Ok(scene.worker_seed().to_owned()),
        // The scripted provider has another key, which is set already.
        "${{ secrets.ANTHROPIC_API_KEY }}" => Ok(String::new()),
        _ => Err(SuiteError::Failed(format!("unknown expression `{expression}` in the workflow"))),
    }
}

/// Checks a manifest of the page, and returns the command of its container.
fn container_command(
    scene: &LauncherScene<'_>,
    validators: &Validators,
    number: usize,
) -> Result<Vec<String>, SuiteError> {
    let path = scene.directory().join("manifest.yaml");
    write(&path, &scene.recipe("Kubernetes", number)?)?;
    validators.check_kubernetes(&path)?;
    let manifest = validators.read(&path)?;
    let command = manifest.pointer("/spec/template/spec/containers/0/command").and_then(Value::as_array);
    let words = command.into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned()));
    Ok(words.collect())
}

/// Starts the command of a container as processes, with directories instead of its volumes.
fn start_containers(scene: &LauncherScene<'_>, command: &[String]) -> Result<Vec<Running>, SuiteError> {
    let mut containers = Vec::new();
    for number in 0..CONTAINERS {
        let home = scene.create_home(&format!("container-{number}"))?;
        let mut line = command.join("\n");
        line = replace(&line, "/keys/", &format!("{}/", home.display()))?;
        line = replace(&line, "/work/", &format!("{}/", home.display()))?;
        let (program, arguments) = line.split_once('\n').unwrap_or((&line, ""));
        let mut command = scene.command(program, &home, &format!("container-{number}"))?;
        command.args(arguments.lines());
        containers.push(start(command)?);
    }
    Ok(containers)
}
