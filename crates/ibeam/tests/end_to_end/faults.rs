//! The listed faults, injected for real. The name of each test starts with the id of its fault. See docs/faults.md.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::ProgramOutput;

use crate::scene::Scene;

#[path = "faults/hooks.rs"]
mod hooks;
#[path = "faults/host.rs"]
mod host;
#[path = "faults/http_servers.rs"]
mod http_servers;
#[path = "faults/input.rs"]
mod input;
#[path = "faults/mcp.rs"]
mod mcp;
#[path = "faults/provider.rs"]
mod provider;
#[path = "faults/tool.rs"]
mod tool;

/// Prints the reason why a fault cannot be injected here.
pub(crate) fn skip(reason: &str) {
    eprintln!("SKIP: {reason}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Whether a program that injects faults, such as `unshare`, works here.
pub(crate) fn launcher_works(launcher: &[&str]) -> bool {
    let Some((program, args)) = launcher.split_first() else { return false };
    Command::new(program).args(args).arg("true").output().is_ok_and(|output| output.status.success())
}

/// Lets another user enter the workspace and the home directory.
pub(crate) fn make_accessible_to_all(scene: &Scene) {
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
pub(crate) fn check_failure(output: &ProgramOutput, exit: i32) {
    assert_eq!(output.code, Some(exit), "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    assert!(!output.stdout.contains(r#""subtype":"success""#), "{output}");
    assert!(!output.stderr.contains("panicked"), "{output}");
}

/// Builds the library `preload.c`, which replaces functions of the C library.
pub(crate) fn build_preload_library(scene: &Scene) -> Option<PathBuf> {
    build_program(scene, "preload.c", &["-shared", "-fPIC"])
}

/// Compiles a C source of the folder `faults`. `None` if there is no compiler or it fails; the reason is printed.
pub(crate) fn build_program(scene: &Scene, source: &str, options: &[&str]) -> Option<PathBuf> {
    let program = scene.workspace.outside().join(source).with_extension("built");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/end_to_end/faults").join(source);
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

/// Returns a line of a journal, with its length and checksum.
fn journal_line(kind: &str, payload: &str) -> Vec<u8> {
    let crc = crc32(payload.as_bytes());
    format!("{{\"len\":{},\"crc\":\"{crc:08x}\",\"{kind}\":{payload}}}\n", payload.len()).into_bytes()
}

/// CRC-32 as in zip and PNG.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1)))
    })
}
