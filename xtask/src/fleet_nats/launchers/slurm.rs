//! Workers of an array job: a cluster of Slurm with one node, on loopback.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::launcher_scene::{LauncherScene, find_programs, needs_root, start, wait_until, write};
use crate::servers::server_process::free_address;
use crate::suite::SuiteError;

/// The array of the test; the recipe has more workers than one machine needs.
const ARRAY: &str = "--array=0-2";
const ARRAY_SIZE: usize = 3;

pub(super) fn run(scene: &LauncherScene<'_>) -> Result<String, SuiteError> {
    let programs = [
        ("slurmctld", "slurmctld"),
        ("slurmd", "slurmd"),
        ("sbatch", "slurm-client"),
        ("sinfo", "slurm-client"),
        ("scontrol", "slurm-client"),
        ("munged", "munge"),
    ];
    let [controller, node, sbatch, sinfo, scontrol, munged] = find_programs(programs)?;
    needs_root()?;
    let top = scene.directory();
    let config = top.join("slurm.conf");
    write(&config, &configuration(top)?)?;
    for directory in ["state", "spool"] {
        let path = top.join(directory);
        fs::create_dir(&path).map_err(SuiteError::system(path.display()))?;
    }
    let key = top.join("munge.key");
    write(&key, &"ibeam-launcher-test-".repeat(8))?;
    fs::set_permissions(&key, Permissions::from_mode(0o400)).map_err(SuiteError::system(key.display()))?;
    let home = scene.create_home("worker-home")?;
    let command = |program: &Path, name: &str| {
        let mut command = scene.command(&program.to_string_lossy(), &home, name)?;
        command.env("SLURM_CONF", &config).current_dir(top);
        Ok::<Command, SuiteError>(command)
    };

    let mut munge = command(&munged, "munged")?;
    munge.args(["--foreground", "--force", "--num-threads=2"]);
    for (flag, file) in [
        ("key-file", "munge.key"),
        ("socket", "munge.sock"),
        ("pid-file", "munge.pid"),
        ("seed-file", "munge.seed"),
        ("log-file", "munge-daemon.log"),
    ] {
        munge.arg(format!("--{flag}={}", top.join(file).display()));
    }
    let _munge = start(munge)?;
    if !wait_until(|| top.join("munge.sock").exists()) {
        return Err(scene.with_logs("munged does not start"));
    }
    let mut controller = command(&controller, "slurmctld")?;
    controller.arg("-D");
    let _controller = start(controller)?;
    let mut node = command(&node, "slurmd")?;
    node.arg("-D");
    let _node = start(node)?;
    let output_of = |program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).env("SLURM_CONF", &config);
        command
            .output()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .unwrap_or_default()
    };
    if !wait_until(|| output_of(&sinfo, &["--noheader", "--format=%t"]).trim() == "idle") {
        return Err(scene.with_logs("the node of Slurm is not ready"));
    }

    let submitter = scene.submit()?;
    let script = top.join("worker.sh");
    write(&script, &scene.recipe("Slurm", 0)?)?;
    let mut batch = command(&sbatch, "sbatch")?;
    batch.args([ARRAY, "--parsable"]).arg(&script);
    let batch = start(batch)?;
    if !batch.wait("sbatch")?.success() {
        return Err(scene.with_logs("sbatch failed"));
    }
    let workers = scene.wait_for_results(submitter)?;
    // Slurm remembers ended jobs for some minutes.
    let jobs = || output_of(&scontrol, &["show", "job"]);
    let completed = || jobs().matches("JobState=COMPLETED").count();
    if !wait_until(|| completed() == ARRAY_SIZE) {
        return Err(scene.with_logs(&format!("not all jobs completed:\n{}", jobs())));
    }
    Ok(scene.describe(workers, &format!("`sbatch {ARRAY}` on one node, all jobs completed")))
}

/// Returns the configuration of a cluster whose only node is this machine.
fn configuration(top: &Path) -> Result<String, SuiteError> {
    let port = || free_address().map(|address| address.port());
    let host =
        fs::read_to_string("/proc/sys/kernel/hostname").map_err(SuiteError::system("the host name"))?;
    let host = host.trim().split('.').next().unwrap_or_default().to_owned();
    let top = top.display();
    Ok(format!(
        "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\nSlurmUser=root\n\
         SlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket={top}/munge.sock\nCredType=cred/munge\n\
         MpiDefault=none\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\n\
         AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\nReturnToService=2\n\
         StateSaveLocation={top}/state\nSlurmdSpoolDir={top}/spool\nSlurmctldPidFile={top}/slurmctld.pid\n\
         SlurmdPidFile={top}/slurmd.pid\nSlurmctldLogFile={top}/slurmctld-daemon.log\n\
         SlurmdLogFile={top}/slurmd-daemon.log\nNodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN\n\
         PartitionName=main Nodes=ALL Default=YES State=UP\n",
        port()?,
        port()?
    ))
}
