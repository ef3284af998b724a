//! Real NATS servers on loopback ports.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::servers::server_process::{free_address, request_status};
use crate::suite::SuiteError;

/// The maximum time from the start of a server until it answers.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The time between two requests to a server that starts.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Servers of one cluster, killed when they are dropped.
pub(super) struct Cluster {
    program: PathBuf,
    home: tempfile::TempDir,
    nodes: Vec<Node>,
}

/// A server, which may be stopped.
struct Node {
    address: SocketAddr,
    /// The address for questions about its health.
    monitor: SocketAddr,
    process: Option<Child>,
}

impl Cluster {
    /// Starts servers and waits until they answer. `configuration` is added to the configuration of each.
    pub(super) fn start(program: &Path, size: usize, configuration: &str) -> Result<Self, SuiteError> {
        let home = tempfile::tempdir().map_err(SuiteError::system("a temporary directory"))?;
        let mut nodes = Vec::new();
        let mut routes = Vec::new();
        for _ in 0..size {
            nodes.push(Node { address: free_address()?, monitor: free_address()?, process: None });
            routes.push(free_address()?);
        }
        let urls = routes.iter().map(|route| format!("\"nats://{route}\"")).collect::<Vec<_>>().join(", ");
        for (number, (node, route)) in nodes.iter().zip(&routes).enumerate() {
            let store = home.path().join(format!("n{number}"));
            let mut text = format!(
                "listen: \"{}\"\nhttp: \"{}\"\nserver_name: n{number}\njetstream {{ store_dir: {store:?} }}\n{configuration}\n",
                node.address, node.monitor
            );
            if size > 1 {
                text.push_str(&format!("cluster {{ name: c, listen: \"{route}\", routes: [{urls}] }}\n"));
            }
            let path = home.path().join(format!("n{number}.conf"));
            fs::write(&path, text).map_err(SuiteError::system(path.display()))?;
        }
        let mut cluster = Self { program: program.to_owned(), home, nodes };
        for number in 0..size {
            cluster.start_node(number)?;
        }
        cluster.wait_until_healthy()?;
        Ok(cluster)
    }

    /// Starts a server that does not run.
    pub(super) fn start_node(&mut self, number: usize) -> Result<(), SuiteError> {
        let log = self.log(number);
        let output = File::options().create(true).append(true).open(&log);
        let output = output.map_err(SuiteError::system(log.display()))?;
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.home.path().join(format!("n{number}.conf")));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        let process = command.spawn().map_err(SuiteError::system(self.program.display()))?;
        if let Some(node) = self.nodes.get_mut(number) {
            node.process = Some(process);
        }
        Ok(())
    }

    /// Kills a server at once.
    pub(super) fn kill_node(&mut self, number: usize) {
        if let Some(mut process) = self.nodes.get_mut(number).and_then(|node| node.process.take()) {
            // It may have ended already.
            drop(process.kill());
            drop(process.wait());
        }
    }

    /// Waits until every server is healthy, which includes the replicas that it has.
    fn wait_until_healthy(&self) -> Result<(), SuiteError> {
        let start = Instant::now();
        for (number, node) in self.nodes.iter().enumerate() {
            while !node.is_healthy() {
                if start.elapsed() > START_TIMEOUT {
                    let log = fs::read_to_string(self.log(number)).unwrap_or_default();
                    return Err(SuiteError::Failed(format!("a NATS server is not healthy\n{log}")));
                }
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        Ok(())
    }

    /// Whether every server runs and is healthy.
    pub(super) fn is_healthy(&self) -> bool {
        self.nodes.iter().all(Node::is_healthy)
    }

    /// Returns the address of a fleet.
    pub(super) fn url(&self, fleet: &str) -> String {
        let hosts: Vec<String> = self.nodes.iter().map(|node| node.address.to_string()).collect();
        format!("nats://{}/{fleet}", hosts.join(","))
    }

    pub(super) fn size(&self) -> usize {
        self.nodes.len()
    }

    fn log(&self, number: usize) -> PathBuf {
        self.home.path().join(format!("n{number}.log"))
    }
}

impl Node {
    fn is_healthy(&self) -> bool {
        request_status(self.monitor, "/healthz").is_ok_and(|status| status == "200")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.size()).for_each(|number| self.kill_node(number));
    }
}
