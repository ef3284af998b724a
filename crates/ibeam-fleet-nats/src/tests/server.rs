//! Real servers on loopback.
#![expect(clippy::disallowed_types, reason = "finds free ports for the servers")]

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use async_nats::jetstream;

use crate::address::QueueAddress;

/// The variable with the path of the server.
const VARIABLE: &str = "IBEAM_TEST_NATS_SERVER";

/// Returns the program of the server, or prints why the test does nothing.
pub(crate) fn program() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "tests find the server there")]
    let program = std::env::var_os(VARIABLE).map(PathBuf::from);
    if program.is_none() {
        println!("skipped: `{VARIABLE}` does not name a nats-server; `cargo xtask fleet-nats` installs one");
    }
    program
}

/// Servers of one cluster, killed at the end.
pub(crate) struct Cluster {
    program: PathBuf,
    home: tempfile::TempDir,
    ports: Vec<u16>,
    nodes: Vec<Option<Child>>,
}

impl Cluster {
    /// Starts servers. `configuration` is added to the configuration of each.
    pub(crate) fn start(program: PathBuf, size: usize, configuration: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let ports = free_ports(size * 2);
        let (ports, routes) = ports.split_at(size);
        for node in 0..size {
            let mut text = format!(
                "port: {}\nhost: 127.0.0.1\nserver_name: n{node}\njetstream {{ store_dir: \"{}\" }}\n{configuration}\n",
                ports[node],
                home.path().join(format!("n{node}")).display()
            );
            if size > 1 {
                let urls: Vec<String> =
                    routes.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
                text.push_str(&format!(
                    "cluster {{ name: c, host: 127.0.0.1, port: {}, routes: [{}] }}\n",
                    routes[node],
                    urls.join(", ")
                ));
            }
            fs::write(home.path().join(format!("n{node}.conf")), text).unwrap();
        }
        let nodes = (0..size).map(|_| None).collect();
        let mut cluster = Self { program, home, ports: ports.to_vec(), nodes };
        (0..size).for_each(|node| cluster.start_node(node));
        cluster
    }

    pub(crate) fn start_node(&mut self, node: usize) {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.home.path().join(format!("n{node}.log")))
            .unwrap();
        let child = Command::new(&self.program)
            .arg("-c")
            .arg(self.home.path().join(format!("n{node}.conf")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.nodes[node] = Some(child);
    }

    /// Kills a server at once.
    pub(crate) fn kill_node(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Waits until the servers have elected a leader.
    pub(crate) fn wait_until_ready(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let start = Instant::now();
        loop {
            let servers: Vec<String> =
                self.ports.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
            let ready = runtime.block_on(async {
                let client = async_nats::connect(servers).await?;
                let mut context = jetstream::new(client);
                context.set_timeout(Duration::from_secs(1));
                let config = jetstream::stream::Config {
                    name: "ready".to_owned(),
                    num_replicas: self.ports.len(),
                    ..Default::default()
                };
                context.create_stream(config).await?;
                context.delete_stream("ready").await?;
                Ok::<(), async_nats::Error>(())
            });
            match ready {
                Ok(()) => return,
                Err(error) if start.elapsed() > Duration::from_secs(30) => panic!("{error}: {}", self.log()),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    pub(crate) fn address(&self, fleet: &str) -> QueueAddress {
        QueueAddress::parse(&self.address_text(fleet)).unwrap()
    }

    pub(crate) fn address_text(&self, fleet: &str) -> String {
        let hosts: Vec<String> = self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("nats://{}/{fleet}", hosts.join(","))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("n0.log")).unwrap_or_default()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|node| self.kill_node(node));
    }
}

fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}
