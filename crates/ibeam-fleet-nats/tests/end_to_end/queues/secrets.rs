//! No secret is in any message of a queue.
//!
//! A client of its own subscribes to everything and keeps each byte that the server sends to it: tasks, results, progress,
//! changes of keys, chunks of objects, and the requests and answers about streams.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;

/// The secrets, each with the place that it is in.
const SECRETS: [(&str, &str); 6] = [
    ("the key of the worker", "sk-worker-5f0e7a31c2d94b86"),
    ("the key of the submitter", "sk-submitter-93b1de60a7f2485c"),
    ("another variable", "variable-2c7d9e04b6a1f835"),
    ("a header in the configuration", "header-e81f46b0c95d7a23"),
    ("a header of a flag", "flag-70ab3c5d1e92f648"),
    ("a file that no run changes", "file-b46d02e8f15c9a37"),
];

fn secret(place: &str) -> &'static str {
    SECRETS.iter().find(|(found, _)| *found == place).unwrap().1
}

/// A client that receives every message.
struct Listener {
    received: Arc<Mutex<Vec<u8>>>,
    is_ended: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Listener {
    fn start(server: &Server) -> Self {
        let address = server.url.strip_prefix("nats://").unwrap().split('/').next().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        stream.write_all(b"CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB > 1\r\nPING\r\n").unwrap();
        let (received, is_ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let listener = Self {
            received: Arc::clone(&received),
            is_ended: Arc::clone(&is_ended),
            thread: {
                thread::spawn(move || {
                    let mut buffer = vec![0; 1 << 20];
                    while !is_ended.load(Ordering::Relaxed) {
                        match stream.read(&mut buffer) {
                            Ok(0) => panic!("the server closed the connection of the listener"),
                            Ok(count) => {
                                received.lock().unwrap().extend_from_slice(&buffer[..count]);
                                // The server asks now and then whether the client is there.
                                stream.write_all(b"PONG\r\n").unwrap();
                            }
                            Err(error)
                                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            },
        };
        // The answer to PING: the subscription counts from now on.
        while !String::from_utf8_lossy(&listener.received.lock().unwrap()).contains("PONG\r\n") {
            thread::sleep(Duration::from_millis(10));
        }
        listener
    }

    /// Returns all messages.
    fn finish(self) -> String {
        thread::sleep(Duration::from_millis(300));
        self.is_ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        String::from_utf8_lossy(&self.received.lock().unwrap()).into_owned()
    }
}

#[test]
fn no_message_of_a_queue_has_a_secret() {
    let Some(server) = Server::start() else { return };
    let key = secret("the key of the worker");
    let quoted = format!("the key {key} has no access");
    let scene = Scene::new([
        // The model knows a key, and repeats it.
        answer_text(&format!("I use {key}.")),
        answer_call("w", "write", &json!({ "path": "new.txt", "fileText": "new\n" })),
        answer_text("done"),
        Answer::error(400, "invalid_request_error", &quoted),
    ]);
    let header = secret("a header in the configuration");
    let config = format!("[providers.anthropic.headers]\nAuthorization-Gateway = \"{header}\"\n");
    let workspace = ibeam_testkit::Workspace::new()
        .file("a.txt", "a\n")
        .file("settings.env", secret("a file that no run changes"))
        .user_config(&config);
    let scene = scene.with_workspace(workspace);
    let tasks = [
        task(&scene, "repeats"),
        with(task(&scene, "writes"), "needs", json!(["repeats"])),
        with(task(&scene, "fails"), "needs", json!(["writes"])),
    ];
    let file = task_file(&scene, &tasks);
    let listener = Listener::start(&server);
    let args = ["fleet", "run", file.to_str().unwrap(), "--queue", &server.url];
    let submitter = scene
        .ibeam_without_model(args)
        .env("ANTHROPIC_API_KEY", secret("the key of the submitter"))
        .env("DATABASE_PASSWORD", secret("another variable"))
        .timeout(Duration::from_secs(200))
        .start();
    let directory = scene.workspace.outside().join("w1");
    let flag = format!("X-Gateway: {}", secret("a header of a flag"));
    let allowed = scene.workspace.path().to_str().unwrap();
    let worker = scene
        .ibeam(["fleet", "worker", "--queue", &server.url, "--dir", directory.to_str().unwrap()])
        .args(["--until-drained", "--force", "--allow-workspaces", allowed, "--header", &flag])
        .env("ANTHROPIC_API_KEY", key)
        .env("DATABASE_PASSWORD", secret("another variable"))
        .timeout(Duration::from_secs(200))
        .start();
    let output = submitter.finish();
    let found = results(&output);
    let outcomes: Vec<&str> =
        ["repeats", "writes", "fails"].map(|id| found[id]["outcome"].as_str().unwrap()).into();
    assert_eq!(outcomes, ["passed", "passed", "failed"], "{output}");
    worker.finish().succeeded();
    scene.server.assert_all_answers_sent();

    // The secrets were in use, and the listener received what the queue has.
    let request = &scene.server.requests()[0];
    for (name, place) in [
        ("x-api-key", "the key of the worker"),
        ("authorization-gateway", "a header in the configuration"),
        ("x-gateway", "a header of a flag"),
    ] {
        assert_eq!(request.header(name), Some(secret(place)), "{:?}", request.headers);
    }
    let messages = listener.finish();
    for part in ["task repeats", "\"passed\"", "has no access", "new.txt", "$KV.ibeam-f.result.fails"] {
        assert!(messages.contains(part), "`{part}` is in no message");
    }
    for (place, secret) in SECRETS {
        assert!(!messages.contains(secret), "{place} is in a message");
    }
}
