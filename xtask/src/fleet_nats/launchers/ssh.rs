//! Workers that `ssh` starts on three hosts: a server of OpenSSH on three loopback ports, each with a home of its own.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::launcher_scene::{LauncherScene, find_programs, start, wait_until, write};
use crate::servers::server_process::free_address;
use crate::suite::SuiteError;

/// The hosts of the recipe.
const HOSTS: [&str; 3] = ["a", "b", "c"];

pub(super) fn run(scene: &LauncherScene<'_>) -> Result<String, SuiteError> {
    let programs = [("sshd", "openssh-server"), ("ssh", "openssh-client"), ("ssh-keygen", "openssh-client")];
    let [server, client, keygen] = find_programs(programs)?;
    let top = scene.directory();
    for key in ["host-key", "user-key"] {
        let mut command = Command::new(&keygen);
        command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(top.join(key));
        let status = command.status().map_err(SuiteError::system(keygen.display()))?;
        if !status.success() {
            return Err(SuiteError::Failed(format!("ssh-keygen: {status}")));
        }
    }
    // The server demands this directory if it is started by root.
    if rustix::process::geteuid().is_root() {
        fs::create_dir_all("/run/sshd").map_err(SuiteError::system("/run/sshd"))?;
    }
    let shown = top.display();
    let mut server_config = format!(
        "HostKey {shown}/host-key\nAuthorizedKeysFile {shown}/user-key.pub\nStrictModes no\nPidFile none\nUsePAM no\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
    );
    let mut client_config = format!(
        "IdentityFile {shown}/user-key\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n\
         HostName 127.0.0.1\nBatchMode yes\n"
    );
    let mut sections = String::new();
    let mut addresses = Vec::new();
    for host in HOSTS {
        let address = free_address()?;
        let home = scene.create_home(&format!("home-{host}"))?;
        let mut variables = format!("HOME={}", home.display());
        for (name, value) in scene.variables() {
            // Writing to a string cannot fail.
            let _ = write!(variables, " \"{name}={value}\"");
        }
        server_config.push_str(&format!("ListenAddress {address}\n"));
        sections.push_str(&format!("Match LocalPort {}\n  SetEnv {variables}\n", address.port()));
        client_config.push_str(&format!("Host {host}\n  Port {}\n", address.port()));
        addresses.push(address);
    }
    let (server_file, client_file) = (top.join("sshd.conf"), top.join("ssh.conf"));
    write(&server_file, &(server_config + &sections))?;
    write(&client_file, &client_config)?;
    // The recipe calls `ssh` without a configuration.
    let wrapper = top.join("bin/ssh");
    write(&wrapper, &format!("#!/bin/sh\nexec {} -F {} \"$@\"\n", client.display(), client_file.display()))?;
    fs::set_permissions(&wrapper, Permissions::from_mode(0o755))
        .map_err(SuiteError::system(wrapper.display()))?;

    let mut daemon = scene.command(&server.to_string_lossy(), top, "sshd")?;
    daemon.args(["-D", "-e", "-f"]).arg(&server_file);
    let _daemon = start(daemon)?;
    if !wait_until(|| addresses.iter().all(|address| TcpStream::connect(address).is_ok())) {
        return Err(scene.with_logs("sshd does not answer"));
    }
    let submitter = scene.submit()?;
    let mut recipe = scene.command("sh", top, "ssh")?;
    recipe.arg("-c").arg(scene.recipe("ssh", 0)?);
    let launched = start(recipe)?;
    let workers = scene.wait_for_results(submitter)?;
    launched.wait("the workers of the hosts")?;
    Ok(scene.describe(workers, "started over a server of OpenSSH as three hosts"))
}
