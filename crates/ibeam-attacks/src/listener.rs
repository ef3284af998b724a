//! Sockets that count incoming connections: TCP, UDP and two unix sockets, an abstract one and one with a path.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name of the unix socket in the abstract name space.
const UNIX_SOCKET_NAME: &str = "agentprobe";
/// The name of the unix socket in the outside directory.
const UNIX_SOCKET_FILE: &str = "listener.sock";
/// The answer to every TCP connection.
const ANSWER: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\nconnection: close\r\n\r\nhello\n";

/// The connections, datagrams and name queries of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReceivedTraffic {
    pub(crate) connections: usize,
    pub(crate) datagrams: usize,
    pub(crate) unix_connections: usize,
    /// The names that were queried.
    pub(crate) names: Vec<String>,
}

/// The open sockets.
pub(crate) struct Listener {
    port: u16,
    stop: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<()>>,
    udp: Vec<UdpSocket>,
    unix: Vec<UnixListener>,
}

impl Listener {
    /// Listens on a free port of the loopback addresses.
    pub(crate) fn start() -> io::Result<Self> {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = first.local_addr()?.port();
        let mut listener = Self {
            port,
            stop: Arc::default(),
            connections: Arc::default(),
            threads: Vec::new(),
            udp: vec![UdpSocket::bind((Ipv4Addr::LOCALHOST, port))?],
            unix: Vec::new(),
        };
        listener.spawn_accept_loop(first)?;
        // A machine may have no IPv6.
        if let Ok(second) = TcpListener::bind((Ipv6Addr::LOCALHOST, port)) {
            listener.spawn_accept_loop(second)?;
            listener.udp.extend(UdpSocket::bind((Ipv6Addr::LOCALHOST, port)));
        }
        listener.udp.iter().try_for_each(|socket| socket.set_nonblocking(true))?;
        Ok(listener)
    }

    /// Listens on the web ports and on `addresses`, which is possible only in a network namespace.
    pub(crate) fn listen_on_web_ports(&mut self, addresses: &[Ipv4Addr]) -> io::Result<()> {
        for address in [&[Ipv4Addr::LOCALHOST], addresses].concat() {
            for port in [80, 443] {
                self.spawn_accept_loop(TcpListener::bind((address, port))?)?;
            }
        }
        for address in addresses {
            self.spawn_accept_loop(TcpListener::bind((*address, self.port))?)?;
        }
        if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 80)) {
            self.spawn_accept_loop(listener)?;
        }
        Ok(())
    }

    /// Listens on the abstract unix socket, whose name can be used once per network, and on a socket in `directory`.
    /// Returns the path of the second socket.
    pub(crate) fn listen_on_unix(&mut self, directory: &Path) -> io::Result<PathBuf> {
        let path = directory.join(UNIX_SOCKET_FILE);
        for address in
            [UnixAddress::from_abstract_name(UNIX_SOCKET_NAME)?, UnixAddress::from_pathname(&path)?]
        {
            let listener = UnixListener::bind_addr(&address)?;
            listener.set_nonblocking(true)?;
            self.unix.push(listener);
        }
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
        Ok(path)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Closes all sockets and returns what they received.
    pub(crate) fn finish(self) -> ReceivedTraffic {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.threads {
            // The thread cannot panic, and its counts are shared in any case.
            drop(thread.join());
        }
        let mut buffer = [0; 2048];
        let mut datagrams = 0;
        for socket in &self.udp {
            while socket.recv_from(&mut buffer).is_ok() {
                datagrams += 1;
            }
        }
        let mut unix_connections = 0;
        for listener in &self.unix {
            while listener.accept().is_ok() {
                unix_connections += 1;
            }
        }
        let connections = self.connections.load(Ordering::SeqCst);
        ReceivedTraffic { connections, datagrams, unix_connections, names: Vec::new() }
    }

    /// Accepts and answers connections on a thread until the end, including those that are pending then.
    fn spawn_accept_loop(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let (stop, connections) = (Arc::clone(&self.stop), Arc::clone(&self.connections));
        let serve = move || {
            loop {
                let is_last = stop.load(Ordering::SeqCst);
                while let Ok((stream, _)) = listener.accept() {
                    connections.fetch_add(1, Ordering::SeqCst);
                    // The client may disconnect at any time.
                    drop(answer(stream));
                }
                if is_last {
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        self.threads.push(std::thread::Builder::new().name("listener".to_owned()).spawn(serve)?);
        Ok(())
    }
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let _request_size = stream.read(&mut [0; 8192])?;
    stream.write_all(ANSWER.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn every_connection_is_counted() {
        let mut listener = Listener::start().unwrap();
        let port = listener.port();
        let top = tempfile::tempdir().unwrap();
        if let Err(error) = listener.listen_on_unix(top.path()) {
            eprintln!("SKIP: another process has the unix socket: {error}");
            return;
        }
        let mut web = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        web.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut response = String::new();
        web.read_to_string(&mut response).unwrap();
        assert!(response.ends_with("hello\n"), "{response}");
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        sender.send_to(b"leak", (Ipv4Addr::LOCALHOST, port)).unwrap();
        let name = UnixAddress::from_abstract_name(UNIX_SOCKET_NAME).unwrap();
        UnixStream::connect_addr(&name).unwrap();
        std::fs::rename(top.path().join(UNIX_SOCKET_FILE), top.path().join("renamed")).unwrap();
        UnixStream::connect(top.path().join("renamed")).unwrap();
        let traffic = listener.finish();
        assert_eq!(
            traffic,
            ReceivedTraffic { connections: 1, datagrams: 1, unix_connections: 2, names: Vec::new() }
        );
    }

    #[test]
    fn without_a_client_nothing_is_counted() {
        assert_eq!(Listener::start().unwrap().finish(), ReceivedTraffic::default());
    }
}
