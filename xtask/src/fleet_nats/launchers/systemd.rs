//! Workers as units: an instance of systemd in namespaces of its own, with a copy of `/etc`.

use std::fs;
use std::path::Path;

use super::launcher_scene::{LauncherScene, find_programs, needs_root, start, wait_until, write};
use super::recipes::replace;
use crate::suite::SuiteError;

/// The units that every instance of systemd needs. Anything else of the machine is not started.
const BASE_UNITS: [&str; 10] = [
    "basic.target",
    "exit.target",
    "final.target",
    "local-fs.target",
    "network-online.target",
    "paths.target",
    "shutdown.target",
    "slices.target",
    "sockets.target",
    "sysinit.target",
];

/// The target of the test, with its units.
const TARGET: &str = "[Unit]\nWants=ibeam-worker@1.service ibeam-worker@2.service\n";

/// The script that prepares the namespaces and starts systemd. A background process stops the units once the file `stop`
/// exists.
const BOOT: &str = r#"
set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
while umount -l /sys/fs/cgroup 2>/dev/null; do :; done
mount -t cgroup2 cgroup2 /sys/fs/cgroup
cp -a /etc/. "$TOP/etc"
mount --bind "$TOP/etc" /etc
rm -rf /etc/ibeam
mv "$TOP/etc-ibeam" /etc/ibeam
mount -t tmpfs -o mode=755 tmpfs /var/lib
mount -t tmpfs -o mode=755 tmpfs /home
mount --bind "$TOP/usr-local-bin" /usr/local/bin
touch /usr/local/bin/ibeam
mount --bind "$PROGRAM" /usr/local/bin/ibeam
id ibeam >/dev/null 2>&1 || useradd --system --create-home ibeam
cp "$TOP/worker-home/.gitconfig" "$(getent passwd ibeam | cut -d: -f6)/"
chown -R root:ibeam /etc/ibeam
chmod -R u=rwX,g=rX,o= /etc/ibeam
systemd-analyze verify "$SYSTEMD_UNIT_PATH/ibeam-worker@.service"
(
    trap '' TERM
    until [ -e "$TOP/stop" ]; do sleep 0.1; done
    systemctl stop 'ibeam-worker@*'
    for unit in 1 2; do
        systemctl show --property=ExecMainStatus,ActiveState,NRestarts "ibeam-worker@$unit" | xargs
    done > "$TOP/states.new"
    mv "$TOP/states.new" "$TOP/states"
) &
exec "$SYSTEMD" --system --unit=test.target --log-target=console --show-status=no
"#;

pub(super) fn run(scene: &LauncherScene<'_>) -> Result<String, SuiteError> {
    let programs = [
        ("systemd", "systemd"),
        ("systemctl", "systemd"),
        ("systemd-analyze", "systemd"),
        ("unshare", "util-linux"),
        ("useradd", "passwd"),
    ];
    let [systemd, _, _, unshare, _] = find_programs(programs)?;
    needs_root()?;
    let top = scene.directory();
    for directory in ["units", "etc", "etc-ibeam", "usr-local-bin"] {
        let path = top.join(directory);
        fs::create_dir(&path).map_err(SuiteError::system(path.display()))?;
    }
    let units = top.join("units");
    for unit in BASE_UNITS {
        let from = Path::new("/lib/systemd/system").join(unit);
        fs::copy(&from, units.join(unit)).map_err(SuiteError::system(from.display()))?;
    }
    write(&units.join("test.target"), TARGET)?;
    let log = top.join("workers.log");
    let output = format!("[Service]\nStandardOutput=append:{0}\nStandardError=append:{0}\n", log.display());
    let unit = replace(&scene.recipe("systemd", 0)?, "[Service]\n", &output)?;
    write(&units.join("ibeam-worker@.service"), &unit)?;
    scene.create_home("worker-home")?;
    let keys: String = scene
        .variables()
        .iter()
        .filter(|(name, _)| *name != "PATH")
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    write(&top.join("etc-ibeam/keys"), &keys)?;
    write(&top.join("etc-ibeam/worker.nk"), scene.worker_seed())?;
    let boot = top.join("boot.sh");
    write(&boot, BOOT)?;

    let namespaces = ["--mount", "--pid", "--fork", "--cgroup", "--uts", "--ipc", "--kill-child"];
    let mut probe = scene.command(&unshare.to_string_lossy(), top, "probe")?;
    probe.args(namespaces).args([
        "sh",
        "-c",
        "mount --make-rprivate / && mount -t cgroup2 none /sys/fs/cgroup",
    ]);
    if !start(probe)?.wait("unshare")?.success() {
        return Err(SuiteError::Missing(
            "namespaces or control groups (version 2) are not available".to_owned(),
        ));
    }
    let submitter = scene.submit()?;
    let mut command = scene.command(&unshare.to_string_lossy(), top, "systemd")?;
    command.args(namespaces).arg("sh").arg(&boot);
    command.env("TOP", top).env("SYSTEMD_UNIT_PATH", &units).env("container", "ibeam-test");
    command.env("PROGRAM", scene.program).env("SYSTEMD", systemd);
    let _instance = start(command)?;
    let workers = scene.wait_for_results(submitter)?;
    write(&top.join("stop"), "")?;
    let states = top.join("states");
    if !wait_until(|| states.exists()) {
        return Err(scene.with_logs("the units do not stop"));
    }
    let states = fs::read_to_string(&states).map_err(SuiteError::system(states.display()))?;
    let is_stopped = |line: &str| {
        ["ExecMainStatus=143", "ActiveState=inactive", "NRestarts=0"].iter().all(|state| line.contains(state))
    };
    if states.lines().count() != 2 || !states.lines().all(is_stopped) {
        return Err(scene.with_logs(&format!("the units did not stop in order:\n{states}")));
    }
    Ok(scene.describe(workers, "two units of an instance of systemd, stopped in order"))
}
