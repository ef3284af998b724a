//! `cargo xtask harbor`: harbor runs ten simple tasks with this program as its agent `CursorCli`.
//!
//! Tasks are in the format of harbor, whose package has none. Its runs, its agent and its verifier are unmodified; instead
//! of a container, each task has namespaces and a layer over the file system (`clients/harbor/local_environment.py`). The
//! model is scripted: it calls the tool `shell` with the solution of the task.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ibeam_testkit::{Answer, ModelServer, Workspace};
use serde_json::{Value, json};

use crate::suite::{ProgramOption, SuiteContext, SuiteError, SuiteResult};

/// The environment and the agent, as Python imports them.
const ENVIRONMENT: &str = "local_environment:LocalEnvironment";
const AGENT: &str = "local_environment:InstalledAgent";

/// A task: its name, the instruction, the commands of the model, and the check of the verifier.
struct HarborTask {
    name: &'static str,
    instruction: &'static str,
    solution: &'static str,
    check: &'static str,
}

const TASKS: [HarborTask; 10] = [
    HarborTask {
        name: "hello-file",
        instruction: "Create the file hello.txt with the text `Hello, world!`.",
        solution: "echo 'Hello, world!' > hello.txt",
        check: r#"[ "$(cat hello.txt)" = "Hello, world!" ]"#,
    },
    HarborTask {
        name: "sum-of-numbers",
        instruction: "Write the sum of the numbers from 1 to 100 to sum.txt.",
        solution: "seq 1 100 | awk '{ s += $1 } END { print s }' > sum.txt",
        check: r#"[ "$(cat sum.txt)" = 5050 ]"#,
    },
    HarborTask {
        name: "sorted-lines",
        instruction: "Write the words pear, apple and fig to words.txt, sorted, one on each line.",
        solution: "printf '%s\\n' pear apple fig | sort > words.txt",
        check: r#"[ "$(tr '\n' ' ' < words.txt)" = "apple fig pear " ]"#,
    },
    HarborTask {
        name: "count-of-lines",
        instruction: "Write the number of lines of /etc/passwd to count.txt.",
        solution: "wc -l < /etc/passwd > count.txt",
        check: r#"[ "$(cat count.txt)" -eq "$(wc -l < /etc/passwd)" ]"#,
    },
    HarborTask {
        name: "executable-script",
        instruction: "Create the executable script greet.sh, which prints `hi`.",
        solution: "printf '#!/bin/sh\\necho hi\\n' > greet.sh && chmod +x greet.sh",
        check: r#"[ "$(./greet.sh)" = hi ]"#,
    },
    HarborTask {
        name: "json-document",
        instruction: "Create data.json with the object that has the key `answer` with the number 42.",
        solution: "echo '{\"answer\": 42}' > data.json",
        check: "python3 -c 'import json; assert json.load(open(\"data.json\")) == {\"answer\": 42}'",
    },
    HarborTask {
        name: "nested-directories",
        instruction: "Create the directories a/b/c with an empty file `leaf` in the innermost one.",
        solution: "mkdir -p a/b/c && touch a/b/c/leaf",
        check: "[ -f a/b/c/leaf ] && [ ! -s a/b/c/leaf ]",
    },
    HarborTask {
        name: "symbolic-link",
        instruction: "Create target.txt with the text `t`, and the symbolic link link.txt to it.",
        solution: "echo t > target.txt && ln -s target.txt link.txt",
        check: r#"[ "$(readlink link.txt)" = target.txt ] && [ "$(cat link.txt)" = t ]"#,
    },
    HarborTask {
        name: "archive",
        instruction: "Create archive.tar with the file note.txt, whose text is `n`.",
        solution: "echo n > note.txt && tar cf archive.tar note.txt",
        check: r#"[ "$(tar xOf archive.tar note.txt)" = n ]"#,
    },
    HarborTask {
        name: "checksum",
        instruction: "Write the SHA-256 checksum of the text `abc`, without a newline, in hexadecimal to sum.txt.",
        solution: "printf abc | sha256sum | cut -d' ' -f1 > sum.txt",
        check: r#"[ "$(cat sum.txt)" = ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad ]"#,
    },
];

/// Installs harbor, runs its job, and prints the number of tasks that passed.
pub(crate) fn run(root: &Path, program: &ProgramOption) -> Result<(), SuiteError> {
    SuiteContext::new(root, program)?.run_part("harbor", false, run_job)
}

fn run_job(context: &SuiteContext, result: &mut SuiteResult) -> Result<(), SuiteError> {
    let SuiteContext { root, program, installer } = context;
    let directory = root.join("target/clients/harbor");
    let scripts = root.join("clients/harbor");
    installer.install_from_pypi(&scripts.join("requirements.txt"), &directory, 12)?;
    if let Some(missing) = missing_feature() {
        return Err(SuiteError::Missing(missing.to_owned()));
    }
    let workspace = Workspace::new();
    let server = ModelServer::with_rule(|request, _| answer(&request.transcript()));
    let (tasks, jobs) = (workspace.outside().join("tasks"), workspace.outside().join("jobs"));
    for task in &TASKS {
        write_task(&tasks.join(task.name), task)?;
    }
    let log = workspace.outside().join("harbor.log");
    let output = File::create(&log).map_err(SuiteError::system(log.display()))?;
    let errors = output.try_clone().map_err(SuiteError::system(log.display()))?;
    let mut harbor = Command::new(directory.join("bin/harbor"));
    harbor.args(["run", "--agent", AGENT, "--env", ENVIRONMENT, "--model", "cursor/auto"]);
    harbor.args(["--n-concurrent", "2", "--quiet", "--yes", "--path"]).arg(&tasks);
    harbor.arg("--jobs-dir").arg(&jobs).current_dir(workspace.path());
    harbor.env_clear().envs(workspace.environment()).env("PYTHONPATH", &scripts).env("PROGRAM", program);
    harbor.env("PYTHONDONTWRITEBYTECODE", "1").env("CURSOR_API_KEY", "key-0123456789abcdef");
    harbor.env("OPENAI_BASE_URL", format!("{}/v1", server.url())).env("IBEAM_MODEL", "mock-model");
    harbor.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("OPENAI_API_KEY", "key-0123456789abcdef");
    harbor.stdin(Stdio::null()).stdout(output).stderr(errors);
    let status = harbor.status().map_err(SuiteError::system("harbor"))?;
    let trials = read_trials(&jobs);
    result.counts.passed = trials.iter().filter(|trial| has_passed(trial)).count();
    result.counts.failed = TASKS.len().saturating_sub(result.counts.passed);
    if result.counts.failed == 0 && status.success() {
        return Ok(());
    }
    let exceptions = trials.iter().filter_map(|trial| trial.get("exception_info"));
    let exceptions = exceptions.filter(|exception| !exception.is_null()).map(Value::to_string);
    let text = fs::read_to_string(&log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.get(lines.len().saturating_sub(30)..).unwrap_or_default().join("\n");
    let output = exceptions.chain([end]).collect::<Vec<_>>().join("\n");
    Err(SuiteError::Failed(format!("harbor: {}, {status}\n{output}", result.counts)))
}

/// Returns why this machine cannot have environments without containers.
fn missing_feature() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("environments without containers need root");
    }
    let systems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let has_overlay = systems.split_whitespace().any(|name| name == "overlay");
    (!has_overlay).then_some("the kernel has no overlay file system")
}

/// Returns the answer of the model: the solution of the task, then a text.
fn answer(transcript: &[String]) -> Answer {
    if transcript.iter().any(|line| line.starts_with("result ")) {
        return Answer::new().text("The task is done.");
    }
    let is_asked = |task: &&HarborTask| transcript.iter().any(|line| line.contains(task.instruction));
    match TASKS.iter().find(is_asked) {
        Some(task) => Answer::new().call("call_1", "shell", &json!({ "command": task.solution })),
        None => Answer::error(400, "invalid_request_error", "the request has no known task"),
    }
}

/// Writes a task in the format of harbor.
fn write_task(directory: &Path, task: &HarborTask) -> Result<(), SuiteError> {
    let check =
        format!("#!/bin/bash\nif {}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n", task.check);
    let settings = "schema_version = \"1.4\"\n\n[metadata]\n\n[verifier]\ntimeout_sec = 120.0\n\n[agent]\n\
                    timeout_sec = 120.0\n\n[environment]\nbuild_timeout_sec = 120.0\n";
    for (path, text) in [
        ("task.toml", settings),
        ("instruction.md", task.instruction),
        ("environment/Dockerfile", "FROM debian\nWORKDIR /app\n"),
        ("tests/test.sh", &check),
    ] {
        let path = directory.join(path);
        let parent = path.parent().unwrap_or(directory);
        fs::create_dir_all(parent).map_err(SuiteError::system(parent.display()))?;
        fs::write(&path, text).map_err(SuiteError::system(path.display()))?;
    }
    Ok(())
}

/// Returns the results of all trials of the job.
fn read_trials(jobs: &Path) -> Vec<Value> {
    let children = |directory: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let trials = children(jobs).into_iter().flat_map(|job| children(&job));
    let result = |trial: PathBuf| serde_json::from_slice(&fs::read(trial.join("result.json")).ok()?).ok();
    trials.filter_map(result).collect()
}

/// Whether the verifier gave the full reward, and the agent printed a trajectory that harbor could read.
fn has_passed(trial: &Value) -> bool {
    let reward = trial.pointer("/verifier_result/rewards/reward").and_then(Value::as_f64);
    let tokens = trial.pointer("/agent_result/n_output_tokens").and_then(Value::as_u64);
    reward == Some(1.0) && tokens.is_some_and(|tokens| tokens > 0)
}
