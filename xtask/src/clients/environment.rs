//! The environment of a client: a workspace, a home, the program under its names, and a model.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ibeam_testkit::{Answer, ModelServer};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::client::{Client, ModelScript};
use super::install::Installed;
use super::program_call::ProgramCall;
use crate::suite::SuiteError;

/// Model ids that clients use. The configuration makes them aliases of the model that answers.
const ALIASES: [&str; 3] = ["auto", "composer-1", "composer-2.5"];
const SCRIPTED_MODEL: &str = "anthropic/claude-sonnet-4-6";
const EMBEDDED_MODEL: &str = "embedded";
const EMBEDDED_MODEL_FILE: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";

/// The content of the README in the workspace.
const README: &str = "# Tide tables\n\nA small program that prints the tides of a given day.\n";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Model {
    Scripted,
    Embedded(PathBuf),
}

/// A scratch directory, removed on drop, and the model server.
pub(super) struct ClientEnvironment {
    scratch: TempDir,
    pub(super) program: PathBuf,
    pub(super) contract: u8,
    pub(super) mode: &'static str,
    server: Option<ModelServer>,
    /// The number of answers in the script.
    answers: usize,
    timeout: Duration,
}

/// The recorded results of a run.
pub(super) struct Observation {
    /// The exit status of the driver; `None` after a timeout.
    pub(super) exit_status: Option<ExitStatus>,
    pub(super) driver_stderr: String,
    pub(super) report: DriverReport,
    /// Every start of the program, in order.
    pub(super) calls: Vec<ProgramCall>,
    /// The number of requests for which the script has no answer.
    pub(super) unanswered: usize,
}

/// The answers that the client parsed, as its driver reports them.
#[derive(Default, Deserialize)]
pub(super) struct DriverReport {
    pub(super) turns: Vec<Map<String, Value>>,
    pub(super) error: Option<String>,
}

impl ClientEnvironment {
    /// Creates the directories, the configuration and the model server.
    ///
    /// # Errors
    /// `System`, and `Setup` if the program does not create its links.
    pub(super) fn create(
        root: &Path,
        program: &Path,
        client: &Client,
        mode: &'static str,
        contract: u8,
        model: &Model,
    ) -> Result<Self, SuiteError> {
        let scratch = tempfile::tempdir().map_err(SuiteError::system("a scratch directory"))?;
        let scratch_path = |name: &str| scratch.path().join(name);
        for name in ["bin", "calls", "home", "work", "config/ibeam"] {
            fs::create_dir_all(scratch_path(name))
                .map_err(SuiteError::system(scratch_path(name).display()))?;
        }
        let write = |name: &str, text: String| {
            let path = scratch.path().join(name);
            fs::write(&path, text).map_err(SuiteError::system(path.display()))
        };
        write("work/README.md", README.to_owned())?;
        let answers = model_answers(client.script);
        let count = answers.len();
        let mut environment = BTreeMap::from([
            ("XDG_CONFIG_HOME", scratch_path("config").display().to_string()),
            ("IBEAM_CONTRACT", contract.to_string()),
        ]);
        let (server, name, timeout) = match model {
            Model::Scripted => {
                let server = ModelServer::start(answers);
                environment.insert("ANTHROPIC_BASE_URL", server.url());
                environment.insert("ANTHROPIC_API_KEY", "key-of-the-acceptance".to_owned());
                (Some(server), SCRIPTED_MODEL, Duration::from_secs(120))
            }
            Model::Embedded(file) => {
                environment.insert("IBEAM_LOCAL_MODEL", file.display().to_string());
                (None, EMBEDDED_MODEL, Duration::from_secs(900))
            }
        };
        let aliases: Vec<String> =
            ALIASES.iter().map(|alias| format!("\"{alias}\" = \"{name}\"\n")).collect();
        write(
            "config/ibeam/config.toml",
            format!("model = \"{name}\"\n\n[models.aliases]\n{}", aliases.concat()),
        )?;
        let programs = scratch_path("programs");
        write("proxy.json", json!({ "programs": programs, "environment": environment }).to_string())?;
        let shim = Command::new(program)
            .arg("shim")
            .arg(&programs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !shim.map_err(SuiteError::system(program.display()))?.success() {
            return Err(SuiteError::Setup("`ibeam shim`".to_owned()));
        }
        let environment =
            Self { program: program.to_owned(), contract, mode, server, answers: count, timeout, scratch };
        environment.install_proxies(&root.join("clients/lib/proxy.py"))?;
        environment.make_repository()?;
        Ok(environment)
    }

    /// Keeps the scratch directory for inspection and returns its path.
    pub(super) fn keep_files(self) -> PathBuf {
        self.scratch.keep()
    }

    fn scratch_path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Installs the proxy under both names of the program. `python3 -I` isolates it from the client's virtual environment.
    fn install_proxies(&self, proxy: &Path) -> Result<(), SuiteError> {
        let script = fs::read_to_string(proxy).map_err(SuiteError::system(proxy.display()))?;
        for name in ["agent", "cursor-agent"] {
            let path = self.scratch_path("bin").join(name);
            fs::write(&path, format!("#!/usr/bin/env -S python3 -I\n{script}"))
                .map_err(SuiteError::system(path.display()))?;
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&path, mode).map_err(SuiteError::system(path.display()))?;
        }
        Ok(())
    }

    fn make_repository(&self) -> Result<(), SuiteError> {
        let identity = ["-c", "user.name=acceptance", "-c", "user.email=acceptance@localhost"];
        for args in [["init", "-q", "."].as_slice(), &["add", "-A"], &["commit", "-q", "-m", "Begin"]] {
            let mut git = Command::new("git");
            git.args(identity)
                .args(args)
                .current_dir(self.scratch_path("work"))
                .env("HOME", self.scratch_path("home"));
            match git.status() {
                Ok(status) if status.success() => {}
                Ok(_) => return Err(SuiteError::Setup(format!("`git {}`", args.join(" ")))),
                Err(error) => return Err(SuiteError::System("git".to_owned(), error)),
            }
        }
        Ok(())
    }

    /// Runs the driver of the client to its end or to the timeout.
    ///
    /// # Errors
    /// `System` if the driver cannot be run.
    pub(super) fn run_driver(&self, installed: &Installed) -> Result<Observation, SuiteError> {
        let stderr = self.scratch_path("driver.stderr");
        let errors = fs::File::create(&stderr).map_err(SuiteError::system(stderr.display()))?;
        let mut path = self.scratch_path("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut driver = Command::new(&installed.python);
        driver.arg(&installed.driver).current_dir(self.scratch_path("work"));
        driver.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        driver.env("PATH", path).env("HOME", self.scratch_path("home")).env("PYTHONPATH", &installed.library);
        driver.env("CURSOR_API_KEY", "key-of-a-client").env("PYTHONDONTWRITEBYTECODE", "1");
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "IBEAM_CONTRACT"]
        {
            driver.env_remove(name);
        }
        driver
            .env("ACCEPTANCE_SCRATCH", self.scratch.path())
            .env("ACCEPTANCE_WORKSPACE", self.scratch_path("work"));
        driver.env("ACCEPTANCE_MODE", self.mode).env("ACCEPTANCE_CLIENT", &installed.directory);
        let mut child = driver.spawn().map_err(SuiteError::system(installed.python.display()))?;
        let deadline = Instant::now() + self.timeout;
        let exit_status = loop {
            match child.try_wait().map_err(SuiteError::system("a driver"))? {
                Some(status) => break Some(status),
                None if Instant::now() > deadline => {
                    drop(child.kill());
                    drop(child.wait());
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let report = fs::read(self.scratch_path("report.json")).ok();
        let request_count = self.server.as_ref().map_or(0, |server| server.requests().len());
        Ok(Observation {
            exit_status,
            driver_stderr: fs::read_to_string(&stderr).unwrap_or_default(),
            report: report.and_then(|report| serde_json::from_slice(&report).ok()).unwrap_or_default(),
            calls: ProgramCall::read_all(&self.scratch_path("calls"))
                .map_err(SuiteError::system("what was printed"))?,
            unanswered: request_count.saturating_sub(self.answers),
        })
    }
}

/// Returns the path of the embedded model, if it is installed.
pub(crate) fn embedded_model() -> Option<PathBuf> {
    let own_file = std::env::var_os("IBEAM_LOCAL_MODEL").map(PathBuf::from);
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(std::env::home_dir()?.join(".local/share")));
    own_file
        .or_else(|| Some(data?.join("ibeam/models").join(EMBEDDED_MODEL_FILE)))
        .filter(|file| file.is_file())
}

/// Returns answers to more prompts than a client sends. Each part has several deltas, and some deltas end inside a
/// word, as with real models. So the checks detect a client that treats each delta as a separate text.
fn model_answers(script: ModelScript) -> Vec<Answer> {
    match script {
        ModelScript::Task => {
            let again = || Answer::new().text("As I said, ").text("it pri").text("nts the tides.");
            vec![
                Answer::new().text("I re").text("ad the file first. ").call(
                    "toolu_1",
                    "read",
                    &json!({ "path": "README.md" }),
                ),
                Answer::new().text("It is ").text("sho").text("rt. ").call(
                    "toolu_2",
                    "shell",
                    &json!({ "command": "wc -l README.md" }),
                ),
                Answer::new().text("A pro").text("gram that prints ").text("the tides of a day."),
                again(),
                again(),
            ]
        }
        ModelScript::Citation => {
            let finding = json!({
                "file": "README.md",
                "start": 3,
                "end": 3,
                "quote": "prints the tides of a given day",
                "fact": "It prints tides.",
            });
            let answer = json!({ "findings": [finding], "gaps": [] }).to_string();
            let (first, rest) = answer.split_at(answer.len() / 2);
            vec![Answer::new().text(first).text(rest)]
        }
    }
}
