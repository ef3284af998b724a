//! The managed configuration of an administrator, mounted in a mount namespace.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::Ibeam;
use crate::fault_injection::{is_root, launcher_works, skip};
use crate::scene::Scene;

/// Mounts the directory `$MANAGED` over `/etc/ibeam`, in an `/etc` that is otherwise the same.
const MOUNT: &str = "set -e; cp -a /etc/. \"$ETC\"; mount --bind \"$ETC\" /etc; mkdir -p /etc/ibeam; \
                     mount --bind \"$MANAGED\" /etc/ibeam; exec \"$@\"";

/// Whether tests can replace `/etc/ibeam`; if not, prints that the test is skipped.
pub fn can_mount_managed_files() -> bool {
    let is_possible = is_root() && launcher_works(&["unshare", "-m"]);
    if !is_possible {
        skip("a managed file needs root and a mount namespace");
    }
    is_possible
}

/// Returns `ibeam` with `toml` as the managed file.
pub fn with_managed_file(scene: &Scene, toml: &str, ibeam: Ibeam) -> Ibeam {
    let (etc, managed_dir) =
        (scene.workspace.outside().join("etc"), scene.workspace.outside().join("managed"));
    for directory in [&etc, &managed_dir] {
        fs::create_dir_all(directory).unwrap();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(managed_dir.join("config.toml"), toml).unwrap();
    ibeam.env("ETC", etc).env("MANAGED", managed_dir).through(["unshare", "-m", "bash", "-c", MOUNT, "bash"])
}
