//! A proxy on its own loopback socket, which speaks HTTP (requests and `CONNECT`) and SOCKS 5 on one port.
//!
//! Every target leads to one server, so that tests can use names that do not exist.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A running proxy. Its threads end with the test process.
pub struct ProxyServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

/// The behavior of a proxy.
#[derive(Clone, Debug, Default)]
struct Behavior {
    /// The server that every target leads to; `None` if no target can be reached.
    server: Option<SocketAddr>,
    /// The user and the password that the proxy requires.
    credentials: Option<(String, String)>,
}

impl ProxyServer {
    /// Starts a proxy whose targets all lead to the server at `url`.
    pub fn start(url: &str) -> Self {
        Self::with_behavior(Behavior { server: Some(server_address(url)), credentials: None })
    }

    /// Like [`Self::start`], for a proxy that requires a user and a password.
    pub fn with_credentials(url: &str, user: &str, password: &str) -> Self {
        let credentials = Some((user.to_owned(), password.to_owned()));
        Self::with_behavior(Behavior { server: Some(server_address(url)), credentials })
    }

    /// Starts a proxy that reaches no target.
    pub fn without_targets() -> Self {
        Self::with_behavior(Behavior::default())
    }

    fn with_behavior(behavior: Behavior) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = listener.local_addr().expect("the address of the listener");
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let recorded = Arc::clone(&requests);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (behavior, recorded) = (behavior.clone(), Arc::clone(&recorded));
                thread::spawn(move || {
                    let record =
                        |request| recorded.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                    drop(behavior.serve(client, record));
                });
            }
        });
        Self { address, requests }
    }

    /// Returns the address, e.g. `127.0.0.1:4000`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Returns the requests so far, each as the method (`CONNECT`, `GET`, `POST`, `SOCKS5`) and the target.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the address in a URL such as `http://127.0.0.1:4000`.
fn server_address(url: &str) -> SocketAddr {
    let authority = url.rsplit('/').next().unwrap_or(url);
    authority.replace("localhost", "127.0.0.1").parse().expect("a URL with an address")
}

impl Behavior {
    fn serve(&self, mut client: TcpStream, record: impl Fn(String)) -> io::Result<()> {
        let mut first = [0];
        client.read_exact(&mut first)?;
        match first {
            [5] => self.serve_socks(client, record),
            [byte] => self.serve_http(client, byte, record),
        }
    }

    fn serve_http(&self, mut client: TcpStream, first: u8, record: impl Fn(String)) -> io::Result<()> {
        let mut head = vec![first];
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte)?;
            head.extend(byte);
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        let mut words = text.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        record(format!("{method} {target}"));
        let wanted = self.credentials.as_ref().map(|(user, password)| {
            format!("proxy-authorization: Basic {}", STANDARD.encode(format!("{user}:{password}")))
        });
        if wanted.is_some_and(|wanted| !text.lines().any(|line| line.eq_ignore_ascii_case(&wanted))) {
            let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n";
            return client.write_all(refusal);
        }
        let Some(mut server) = self.server.and_then(|address| TcpStream::connect(address).ok()) else {
            return client.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
        };
        match method {
            "CONNECT" => client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?,
            _ => server.write_all(&head)?,
        }
        relay(client, server)
    }

    fn serve_socks(&self, mut client: TcpStream, record: impl Fn(String)) -> io::Result<()> {
        let mut methods = vec![0; usize::from(read_byte(&mut client)?)];
        client.read_exact(&mut methods)?;
        match &self.credentials {
            None => client.write_all(&[5, 0])?,
            Some(_) if !methods.contains(&2) => return client.write_all(&[5, 0xff]),
            Some((user, password)) => {
                client.write_all(&[5, 2])?;
                let _version = read_byte(&mut client)?;
                let is_right =
                    (read_text(&mut client)?, read_text(&mut client)?) == (user.clone(), password.clone());
                client.write_all(&[1, u8::from(!is_right)])?;
                if !is_right {
                    return Ok(());
                }
            }
        }
        let mut head = [0; 4];
        client.read_exact(&mut head)?;
        let host = match head {
            [.., 3] => read_text(&mut client)?,
            [.., 4] => {
                let mut address = [0; 16];
                client.read_exact(&mut address)?;
                format!("[{}]", Ipv6Addr::from(address))
            }
            [..] => {
                let mut address = [0; 4];
                client.read_exact(&mut address)?;
                Ipv4Addr::from(address).to_string()
            }
        };
        let mut port = [0; 2];
        client.read_exact(&mut port)?;
        record(format!("SOCKS5 {host}:{}", u16::from_be_bytes(port)));
        // 5: connection refused.
        let reply = |code: u8| [5, code, 0, 1, 0, 0, 0, 0, 0, 0];
        let Some(server) = self.server.and_then(|address| TcpStream::connect(address).ok()) else {
            return client.write_all(&reply(5));
        };
        client.write_all(&reply(0))?;
        relay(client, server)
    }
}

fn read_byte(client: &mut TcpStream) -> io::Result<u8> {
    let mut byte = [0];
    client.read_exact(&mut byte)?;
    Ok(u8::from_be_bytes(byte))
}

/// Reads a text with its length in front.
fn read_text(client: &mut TcpStream) -> io::Result<String> {
    let mut bytes = vec![0; usize::from(read_byte(client)?)];
    client.read_exact(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Copies the bytes of both directions to their ends.
fn relay(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let upload = thread::spawn(move || {
        drop(io::copy(&mut from_client, &mut to_server));
        drop(to_server.shutdown(Shutdown::Write));
    });
    let (mut server, mut client) = (server, client);
    drop(io::copy(&mut server, &mut client));
    drop(client.shutdown(Shutdown::Write));
    drop(upload.join());
    Ok(())
}
