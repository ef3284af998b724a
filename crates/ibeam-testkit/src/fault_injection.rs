//! Means to inject faults for real: another user, programs that start others, libraries that replace functions of C.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ProgramOutput;
use crate::scene::Scene;

/// Prints the reason why a fault cannot be injected here.
pub fn skip(reason: &str) {
    eprintln!("SKIP: {reason}");
}

pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Whether a program that injects faults, such as `unshare`, works here.
pub fn launcher_works(launcher: &[&str]) -> bool {
    let Some((program, args)) = launcher.split_first() else { return false };
    Command::new(program).args(args).arg("true").output().is_ok_and(|output| output.status.success())
}

/// Lets another user enter the workspace and the home directory.
pub fn make_accessible_to_all(scene: &Scene) {
    // A umask may have closed what is below.
    open_to_all(scene.workspace.outside());
    for path in [scene.workspace.outside(), scene.workspace.path(), scene.workspace.home()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
}

/// Lets every user read what is in a directory.
fn open_to_all(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let metadata = entry.metadata().unwrap();
        let added = if metadata.is_dir() { 0o755 } else { 0o444 };
        if !metadata.is_symlink() {
            let permissions = std::fs::Permissions::from_mode(metadata.permissions().mode() | added);
            std::fs::set_permissions(entry.path(), permissions).unwrap();
        }
        if metadata.is_dir() {
            open_to_all(&entry.path());
        }
    }
}

/// Checks the exit code, that there is one `error:` line and no success.
#[track_caller]
pub fn check_failure(output: &ProgramOutput, exit: i32) {
    assert_eq!(output.code, Some(exit), "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    assert!(!output.stdout.contains(r#""subtype":"success""#), "{output}");
    assert!(!output.stderr.contains("panicked"), "{output}");
}

/// Builds the library `preload.c`, which replaces functions of the C library.
pub fn build_preload_library(scene: &Scene) -> Option<PathBuf> {
    compile(scene, "preload.c", &["-shared", "-fPIC"])
}

/// Compiles a C source of the folder `fault_injection`. `None` if there is no compiler or it fails; the reason is printed.
pub fn compile(scene: &Scene, source: &str, options: &[&str]) -> Option<PathBuf> {
    let program = scene.workspace.outside().join(source).with_extension("built");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fault_injection").join(source);
    match Command::new("cc").args(options).args(["-O", "-o"]).arg(&program).arg(path).output() {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => {
            skip(&format!("cc does not build {source}: {}", String::from_utf8_lossy(&output.stderr)));
            None
        }
        Err(error) => {
            skip(&format!("no C compiler: {error}"));
            None
        }
    }
}
