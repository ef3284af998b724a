//! What supervision costs: `true` started and waited for, plainly and through the fork server.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench that fails should stop")]

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use divan::Bencher;
use ibeam_sandbox::{ForkServer, Launch, PROCESSES};

fn main() {
    divan::main();
}

/// The least program, and the shell as commands get it.
const COMMANDS: [&[&str]; 2] = [&["/bin/true"], &["/bin/bash", "--norc", "--noprofile", "-c", ":"]];

#[divan::bench(args = [0, 1])]
fn plain(bencher: Bencher<'_, '_>, command: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (program, arguments) = COMMANDS[command].split_first().unwrap();
    bencher.bench_local(|| {
        runtime.block_on(async {
            let mut command = tokio::process::Command::new(program);
            command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().await.unwrap()
        })
    });
}

#[divan::bench(args = [0, 1])]
fn supervised(bencher: Bencher<'_, '_>, command: usize) {
    let server = ForkServer::start(PROCESSES).unwrap();
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let arguments: Vec<&OsStr> = COMMANDS[command].iter().map(OsStr::new).collect();
    let launch = Launch {
        program: Path::new(COMMANDS[command][0]),
        arguments: &arguments,
        environment: &[],
        directory: Path::new("/"),
        stdio: [null.as_fd(); 3],
    };
    bencher.bench_local(|| {
        let mut tree = server.spawn(&launch).unwrap();
        assert!(tree.wait_until_gone(Duration::from_secs(10)));
    });
}

#[divan::bench]
fn server(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| ForkServer::start(PROCESSES).unwrap());
}
