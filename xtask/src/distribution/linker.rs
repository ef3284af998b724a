//! The linker of the distribution, which rustc calls with the arguments for `cc`.
//!
//! It links twice. The first file runs under valgrind, which lists the functions that starts and turns call; in the second
//! these come first. So the file has the same order wherever the same functions are called. The tables for unwinding are
//! left out: a panic ends the process in its hook.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use ibeam_testkit::{Answer, Ibeam, ModelServer, Workspace};
use serde_json::json;

use super::has_valgrind;
use crate::callgrind;

/// The name under which this program is the linker. rustc takes a program with a name that it does not know for a `cc` that
/// can use `lld`.
const NAME: &str = "distribution-linker";

/// The script that leaves out the tables for unwinding, relative to the package.
const SCRIPT: &str = "src/distribution/no_unwind_tables.ld";

/// A file that was not linked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// A file or a program could not be used.
    #[error("cannot link the distribution: {0}")]
    Io(#[from] io::Error),
    #[error("cannot link the distribution: no `-o` in the arguments")]
    NoOutput,
    /// The linker failed; it has printed the reason.
    #[error("cannot link the distribution: `cc`: {0}")]
    Failed(ExitStatus),
    /// The runs of the first file called no function of the program.
    #[error(
        "cannot link the distribution: valgrind recorded no function of the program; its output was: {0}"
    )]
    NoFunctions(String),
}

/// Makes this program the linker, and returns its path.
///
/// # Errors
/// The system's error for the symbolic link.
pub(super) fn create(root: &Path) -> io::Result<PathBuf> {
    let link = root.join("target").join(NAME);
    match fs::remove_file(&link) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    symlink(std::env::current_exe()?, &link)?;
    Ok(link)
}

/// Whether this process was started as the linker.
pub(crate) fn is_called() -> bool {
    std::env::args_os()
        .next()
        .is_some_and(|program| Path::new(&program).file_name() == Some(OsStr::new(NAME)))
}

/// Links the file that the arguments of this process name.
///
/// # Errors
/// Every error; nothing is left of a file that was not linked.
pub(crate) fn run() -> Result<(), LinkError> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let output = args.iter().skip_while(|arg| *arg != "-o").nth(1).map(PathBuf::from);
    let output = output.ok_or(LinkError::NoOutput)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPT);
    let mut options = vec![option("-Wl,-T,", &script), "-Wl,--no-eh-frame-hdr".into()];
    if has_valgrind() {
        let (traced, order) = (output.with_extension("traced"), output.with_extension("order"));
        let named = args.iter().filter(|arg| *arg != "-Wl,--strip-all");
        let named = named.map(|arg| if *arg == output { traced.as_os_str() } else { arg });
        link(named, &[])?;
        let functions = called_functions(&traced)?;
        fs::write(&order, functions.into_iter().map(|name| name + "\n").collect::<String>())?;
        fs::remove_file(&traced)?;
        options.push(option("-Wl,--symbol-ordering-file=", &order));
        // Names of functions that were inlined, and of libraries.
        options.push("-Wl,--no-warn-symbol-ordering".into());
    }
    link(args.iter().map(OsString::as_os_str), &options)
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// Runs `cc` with the arguments and then the options.
fn link<'a>(args: impl Iterator<Item = &'a OsStr>, options: &[OsString]) -> Result<(), LinkError> {
    let status = Command::new("cc").args(args).args(options).status()?;
    if status.success() { Ok(()) } else { Err(LinkError::Failed(status)) }
}

/// Returns the names of the functions that the program calls: first those of every run, then those of the start of a
/// sandbox, then those of turns with commands and files; each part is sorted.
///
/// A run with the sandbox ends when this is created, which valgrind does not support.
fn called_functions(program: &Path) -> Result<Vec<String>, LinkError> {
    let text = || Answer::new().text("hello");
    let calls = [
        Answer::new().call("call_1", "read", &json!({ "path": "notes.txt" })),
        Answer::new().call("call_2", "write", &json!({ "path": "notes.txt", "content": "other lines\n" })),
        Answer::new().call("call_3", "shell", &json!({ "command": "cat notes.txt" })),
        text(),
    ];
    let runs = [("disabled", vec![text()]), ("enabled", vec![text()]), ("disabled", calls.into())];
    let mut names: Vec<String> = Vec::new();
    for (sandbox, answers) in runs {
        let called = functions_of_run(program, sandbox, answers)?;
        let known: BTreeSet<&String> = names.iter().collect();
        let added: Vec<String> = called.into_iter().filter(|name| !known.contains(name)).collect();
        names.extend(added);
    }
    Ok(names)
}

/// Returns the names of the functions that a run with these answers calls.
fn functions_of_run(
    program: &Path,
    sandbox: &str,
    answers: Vec<Answer>,
) -> Result<BTreeSet<String>, LinkError> {
    let workspace = Workspace::new().file("notes.txt", "some lines\n");
    let records = workspace.outside().join("callgrind");
    fs::create_dir(&records)?;
    let record = format!("--callgrind-out-file={}/%p", records.display());
    let server = ModelServer::start(answers);
    let run = Ibeam::new(program, &workspace)
        .args(["-p", "hello", "--model", "mock-model", "--force", "--output-format", "stream-json"])
        .args(["--sandbox", sandbox])
        .env("OPENAI_BASE_URL", format!("{}/v1", server.url()))
        .env("OPENAI_API_KEY", "key-0123456789abcdef")
        .through(["valgrind", "--tool=callgrind", "--trace-children=yes", "--demangle=no", &record]);
    let output = run.timeout(callgrind::TIMEOUT).run();
    let mut names = BTreeSet::new();
    for record in fs::read_dir(&records)? {
        let record = fs::read_to_string(record?.path())?;
        names.extend(callgrind::function_names(&record).into_iter().map(without_recursion));
    }
    let is_of_program = |name: &String| name.contains("ibeam_core");
    if names.iter().any(is_of_program) { Ok(names) } else { Err(LinkError::NoFunctions(output.to_string())) }
}

/// Returns the name without the mark that callgrind adds to the frames of a recursion.
fn without_recursion(name: &str) -> String {
    name.split_once('\'').map_or(name, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::without_recursion;

    #[test]
    fn a_recursive_function_has_one_name() {
        assert_eq!(
            without_recursion("_ZN4core3ptr4drop17h0123456789abcdefE'2"),
            "_ZN4core3ptr4drop17h0123456789abcdefE"
        );
        assert_eq!(without_recursion("memcpy"), "memcpy");
    }
}
