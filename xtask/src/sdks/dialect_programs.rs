//! Programs of others that start `claude` or `codex` and parse the output, as `clients/dialects` lists them.
//!
//! Each is installed from PyPI at its pinned versions, and driven through its public interface with a scripted model.

use std::path::Path;
use std::process::Command;

use ibeam_testkit::{Answer, ModelServer};

use super::{SdkEnvironment, text_answer, write_file_answer};
use crate::clients::pinned_versions;
use crate::suite::{SuiteContext, SuiteError, SuiteResult};

/// The version of Python 3 that all programs accept.
const MINOR_VERSION: u8 = 12;

struct DialectProgram {
    /// The name in the package registry, and of the file with the pins.
    name: &'static str,
    /// The name of the program that it starts.
    dialect: &'static str,
    /// Whether it gives the model a tool that writes files.
    writes_files: bool,
}

const PROGRAMS: [DialectProgram; 8] = [
    DialectProgram { name: "agent-belt", dialect: "claude", writes_files: true },
    DialectProgram { name: "claude-subprocess", dialect: "claude", writes_files: true },
    DialectProgram { name: "claude-subprocess-sdk", dialect: "claude", writes_files: true },
    DialectProgram { name: "convene", dialect: "claude", writes_files: false },
    DialectProgram { name: "runspec-claude", dialect: "claude", writes_files: true },
    DialectProgram { name: "codexapi", dialect: "codex", writes_files: false },
    DialectProgram { name: "codex-sdk-unofficial", dialect: "codex", writes_files: true },
    DialectProgram { name: "codex-local-sdk-python", dialect: "codex", writes_files: true },
];

/// Runs all programs, and adds the result and the version of each.
pub(super) fn run(root: &Path, context: &SuiteContext, result: &mut SuiteResult) -> Result<(), SuiteError> {
    let folder = root.join("clients/dialects");
    for program in &PROGRAMS {
        let pins = folder.join(format!("{}.txt", program.name));
        let directory = root.join("target/sdks").join(program.name);
        let installed = context.installer.install_from_pypi(&pins, &directory, MINOR_VERSION);
        let Some(python) = result.available(program.name, installed)? else { continue };
        let is_passed = run_program(&folder, &python, program, &context.program)?;
        result.add(program.name, is_passed, "");
        result.versions.extend(pinned_versions(&pins, &[program.name]));
    }
    Ok(())
}

fn run_program(
    folder: &Path,
    python: &Path,
    program: &DialectProgram,
    ibeam: &Path,
) -> Result<bool, SuiteError> {
    let first = program.writes_files.then(|| write_file_answer("hello.txt", "toolu_1"));
    let answers: Vec<Answer> =
        first.into_iter().chain([text_answer("The file is made."), text_answer("Once more.")]).collect();
    let server = ModelServer::start(answers);
    let environment = SdkEnvironment::create(program.dialect, ibeam)?;
    let mut path = environment.workspace.outside().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut script = Command::new(python);
    script.arg(folder.join("drive.py")).arg(program.name).arg(environment.workspace.path());
    script.env("PATH", path).env("PYTHONDONTWRITEBYTECODE", "1");
    match program.dialect {
        "claude" => script.env("ANTHROPIC_BASE_URL", server.url()),
        _ => script
            .env("OPENAI_BASE_URL", format!("{}/v1", server.url()))
            .env("CODEX_API_KEY", "key-of-the-acceptance"),
    };
    environment.run_script(script)
}
