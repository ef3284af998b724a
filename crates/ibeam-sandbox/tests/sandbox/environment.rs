//! Runs a test again in other environments: as an ordinary user, and where the system refuses a kind of namespace.
//!
//! A test that is run again is a process of its own, so it may also change what belongs to a process.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The variable that names the environment in which a test runs itself.
const VARIABLE: &str = "IBEAM_TEST_ENVIRONMENT";

/// A script that disables all namespaces and drops all capabilities.
const NO_NAMESPACES: &str = "set -e; for limit in /proc/sys/user/max_*_namespaces; do echo 0 >$limit; done; \
    exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all \"$@\"";

/// Declares tests that a function runs, here and in other environments.
macro_rules! tests_in {
    ($run:ident: $(fn $name:ident() $body:block)*) => {
        $(
            #[test]
            fn $name() {
                $run(test_name!($name), || $body);
            }
        )*
    };
}

/// The name of a test of this module, with the name of the binary.
macro_rules! test_name {
    ($name:ident) => {
        concat!(module_path!(), "::", stringify!($name))
    };
}

/// Returns the name of the environment in which a test runs itself.
#[expect(clippy::disallowed_methods, reason = "the only word between two processes of a test")]
pub(crate) fn environment() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the start of a command line that continues as an ordinary user. Each call has its own user, because the process
/// limit counts all processes of a user.
pub(crate) fn ordinary_user() -> Vec<String> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id().wrapping_add(CALLS.fetch_add(1, Ordering::Relaxed) * 97);
    let user = (60_000 + number % 5_000).to_string();
    words(&["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups", "--inh-caps=-all"])
}

/// Returns the start of a command line that runs a script as root of a new user namespace and then continues.
pub(crate) fn inside(script: &str) -> Vec<String> {
    let script = format!("{script} && exec \"$@\"");
    words(&["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", &script, "bash"])
}

/// Returns the start of a command line that continues where the system refuses all namespaces.
pub(crate) fn without_namespaces() -> Vec<String> {
    words(&["unshare", "--user", "--map-current-user", "--keep-caps", "bash", "-c", NO_NAMESPACES, "bash"])
}

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Whether namespaces can be created here. Prints that the test is skipped if not.
pub(crate) fn can_create_namespaces(test: &str) -> bool {
    let created = Command::new("unshare").args(["-Urnpmiuf", "--mount-proc", "true"]).output();
    let can = created.is_ok_and(|created| created.status.success());
    if !can {
        eprintln!("SKIP: {test}: namespaces cannot be created here");
    }
    can
}

/// Runs a test again in the environment that the command line `wrapper` creates. `test` is its name with the name of the
/// binary.
#[track_caller]
pub(crate) fn again(test: &str, environment: &str, wrapper: &[String]) {
    let program = std::env::current_exe().unwrap();
    let name = name_in_binary(test);
    let (first, rest) = wrapper.split_first().unwrap();
    let probe =
        Command::new(first).args(rest).args(["/bin/sh", "-c", "test -x \"$0\""]).arg(&program).output();
    match probe {
        Ok(probe) if probe.status.success() => {}
        probe => return eprintln!("SKIP: {name} {environment}, which is not available here: {probe:?}"),
    }
    let output = Command::new(first)
        .args(rest)
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, environment)
        // The directory of this user may be closed to others.
        .env_remove("TMPDIR")
        .current_dir("/")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{environment}: {text}");
    text.lines().filter(|line| line.starts_with("SKIP")).for_each(|line| eprintln!("{line} ({environment})"));
}

/// Runs the body of a test that changes what belongs to a process, such as its limits, in a process of its own: other
/// tests may run in threads of this one.
#[track_caller]
pub(crate) fn in_own_process(test: &str, body: impl FnOnce()) {
    if environment().is_some() {
        body();
    } else {
        again(test, "in a process of its own", &words(&["env"]));
    }
}

/// Returns the command that runs an ignored test, which is a part of another one, in a process of its own.
pub(crate) fn part_of_a_test(part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name_in_binary(part), "--ignored", "--nocapture"]);
    command
}

fn name_in_binary(test: &str) -> &str {
    test.split_once("::").unwrap().1
}
