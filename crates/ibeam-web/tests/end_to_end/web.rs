//! `web_fetch`: fetches only pages that a rule allows, and only from checked addresses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use ibeam_testkit::hook_files::write_hooks;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{ProgramOutput, Workspace};
use serde_json::{Value, json};

/// A site on loopback that always sends the same answer and records the heads of requests.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) fn start(answer: impl Into<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&requests), answer.into());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|count| count > 0) {
                    head.extend(byte);
                }
                seen.lock().unwrap().push(String::from_utf8(head).unwrap());
                drop(client.write_all(answer.as_bytes()));
            }
        });
        Self { address, requests }
    }

    fn page() -> Self {
        let page = "<title>Docs</title><p>Read <a href=\"/more\">more</a>.";
        Self::start(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{page}",
            page.len()
        ))
    }

    fn redirecting(to: &str) -> Self {
        Self::start(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"))
    }

    /// Returns the first lines of the requests so far.
    pub(crate) fn request_lines(&self) -> Vec<String> {
        let first = |head: &String| head.lines().next().unwrap_or_default().to_owned();
        self.requests.lock().unwrap().iter().map(first).collect()
    }

    /// Returns a configuration that pins these names to the address of the site.
    fn pinned_as(&self, names: &[&str]) -> String {
        let pins: String = names.iter().map(|name| format!("\"{name}\" = \"{}\"\n", self.address)).collect();
        format!("[network.resolve]\n{pins}")
    }
}

/// The rules of most tests in this file.
const RULES: [&str; 4] = ["--allow", "WebFetch(docs.example.test)", "--allow", "WebFetch(*.good.test)"];
/// Most tests run no commands.
const NO_SANDBOX: [&str; 2] = ["--sandbox", "disabled"];

fn scene(config: &str, url: &str) -> Scene {
    let answers = [answer_call("toolu_web", "web_fetch", &json!({ "url": url })), answer_text("done")];
    Scene::new(answers).with_workspace(Workspace::new().user_config(config))
}

/// Fetches a page. Returns the arm and the payload of the call, and the output of the run.
#[track_caller]
fn fetch(config: &str, url: &str, flags: &[&str]) -> (String, Value, ProgramOutput) {
    let scene = scene(config, url);
    let output = scene.print([&NO_SANDBOX, flags].concat()).run().succeeded();
    let (arm, payload) = result(&output);
    (arm, payload, output)
}

#[track_caller]
fn result(output: &ProgramOutput) -> (String, Value) {
    let stream = output.stream();
    let completed = stream.completed();
    assert_eq!(completed.len(), 1, "{output}");
    let (key, call) = completed[0];
    assert_eq!(key, "webFetchToolCall", "{output}");
    let (arm, payload) = call["result"].as_object().unwrap().iter().next().unwrap();
    (arm.clone(), payload.clone())
}

#[track_caller]
fn check_rejected(config: &str, url: &str, flags: &[&str], message: &str) {
    let (arm, payload, output) = fetch(config, url, flags);
    assert_eq!(arm, "rejected", "{url}: {output}");
    assert!(payload["reason"].as_str().unwrap().contains(message), "{url}: {payload}");
}

#[test]
fn an_allowed_page_is_fetched_as_markdown() {
    let site = Site::page();
    let scene = scene(&site.pinned_as(&["docs.example.test"]), "http://docs.example.test/x#part");
    let output = scene.print([&NO_SANDBOX[..], &RULES].concat()).run().succeeded();
    let markdown = "# Docs\n\nRead [more](http://docs.example.test/more).";
    let page = json!({ "url": "http://docs.example.test/x", "markdown": markdown });
    assert_eq!(result(&output), ("success".to_owned(), page), "{output}");
    assert_eq!(site.request_lines(), ["GET /x HTTP/1.1"]);
    assert_eq!(output.stream().completed()[0].1["args"], json!({ "url": "http://docs.example.test/x#part" }));
    let reported = scene.server.requests()[1].transcript().join("\n");
    assert!(reported.contains("Read [more](http://docs.example.test/more)."), "{reported}");
}

#[test]
fn a_star_allows_the_names_below_it() {
    let site = Site::page();
    let (arm, ..) = fetch(&site.pinned_as(&["a.good.test"]), "http://a.good.test/", &RULES);
    assert_eq!((arm.as_str(), site.request_lines().len()), ("success", 1));
}

#[test]
fn an_unusual_port_must_be_named() {
    let url = "http://docs.example.test:8080/";
    let rules = |token: &'static str| ["--allow", token];
    for token in ["WebFetch(docs.example.test)", "WebFetch(*)", "WebFetch(docs.example.test:8081)"] {
        let site = Site::page();
        let config = site.pinned_as(&["docs.example.test"]);
        check_rejected(&config, url, &rules(token), "WebFetch(docs.example.test:8080)");
        assert!(site.request_lines().is_empty(), "{token}");
    }
    for token in ["WebFetch(docs.example.test:8080)", "WebFetch(*.example.test:8080)"] {
        let site = Site::page();
        let (arm, ..) = fetch(&site.pinned_as(&["docs.example.test"]), url, &rules(token));
        assert_eq!((arm.as_str(), site.request_lines().len()), ("success", 1), "{token}");
    }
}

#[test]
fn uncovered_pages_are_rejected_without_a_connection() {
    let site = Site::page();
    let names = ["docs.example.test.evil.test", "evil.test", "evilgood.test", "good.test"];
    let (config, port) = (site.pinned_as(&names), site.address.port());
    for url in [
        "http://docs.example.test.evil.test/",
        "http://evil.test/docs.example.test",
        "http://docs.example.test@evil.test/",
        "http://evil.test\\@docs.example.test/",
        "http://docs.example.test%00.evil.test/",
        "http://xn--docs-example.test/",
        "http://evilgood.test/",
        "http://good.test/",
        &format!("http://2130706433:{port}/"),
        &format!("http://0x7f.1:{port}/"),
        &format!("http://[::1]:{port}/"),
        &format!("http://127.0.0.1:{port}/"),
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
        &format!("gopher://127.0.0.1:{port}/_x"),
    ] {
        check_rejected(&config, url, &RULES, "");
    }
    assert!(site.request_lines().is_empty());
}

#[test]
fn force_overrides_neither_a_denial_nor_the_address_check() {
    let site = Site::page();
    let (config, port) = (site.pinned_as(&["docs.example.test"]), site.address.port());
    assert_eq!(fetch(&config, "http://docs.example.test/", &["--force"]).0, "success");
    let deny = ["--force", "--deny", "WebFetch(*)"];
    check_rejected(&config, "http://docs.example.test/", &deny, "denied by the rule `WebFetch(*)`");
    for (host, message) in [
        ("127.0.0.1", "`127.0.0.1` is a loopback address"),
        ("localhost", "`localhost` leads to "),
        ("[::ffff:7f00:1]", "loopback"),
        ("2130706433", "write it as `127.0.0.1`"),
    ] {
        check_rejected(&config, &format!("http://{host}:{port}/"), &["--force"], message);
    }
    assert_eq!(site.request_lines().len(), 1);
    // A person may grant this one address.
    let grant = format!("127.0.0.1:{port}");
    let url = format!("http://{grant}/");
    assert_eq!(fetch(&config, &url, &["--force", "--allow-net", &grant]).0, "success");
}

#[test]
fn a_redirect_is_checked_again() {
    let (far, loopback) = (Site::page(), Site::page());
    for (to, flags, message) in [
        ("http://far.test/".to_owned(), &RULES[..], "redirects to `http://far.test/`, which no rule allows"),
        (format!("http://{}/", loopback.address), &["--force"], "a loopback address"),
        ("http://169.254.169.254/".to_owned(), &["--force"], "an address of cloud metadata"),
    ] {
        let near = Site::redirecting(&to);
        let pins = format!("{}\"far.test\" = \"{}\"\n", near.pinned_as(&["docs.example.test"]), far.address);
        check_rejected(&pins, "http://docs.example.test/", flags, message);
        assert_eq!(near.request_lines().len(), 1);
    }
    assert!(far.request_lines().is_empty() && loopback.request_lines().is_empty());
}

#[test]
fn the_tool_is_offered_where_some_page_could_be_fetched() {
    for (flags, offered) in [
        (&[][..], false),
        (&["--allow", "Shell(ls)", "--deny", "WebFetch(a.test)"], false),
        (&["--allow", "WebFetch(a.test)"], true),
        (&["--force"], true),
    ] {
        let scene = Scene::new([answer_text("done")]);
        let output = scene.print([&NO_SANDBOX, flags].concat()).run().succeeded();
        let tools = output.stream().init()["tools"].to_string();
        assert_eq!(tools.contains("\"web_fetch\""), offered, "{flags:?}: {tools}");
        let request = scene.server.requests()[0].body.to_string();
        assert_eq!(request.contains("web_fetch"), offered, "{flags:?}");
    }
}

/// A repository must not choose the address of a host name.
#[test]
fn a_project_cannot_pin_a_name() {
    let site = Site::page();
    let answers = [
        answer_call("toolu_web", "web_fetch", &json!({ "url": "http://docs.example.test/" })),
        answer_text("done"),
    ];
    let project = Workspace::new().file(".ibeam/config.toml", site.pinned_as(&["docs.example.test"]));
    let scene = Scene::new(answers).with_workspace(project);
    let output = scene.print([&NO_SANDBOX[..], &RULES, &["--trust"]].concat()).run().succeeded();
    assert_eq!(result(&output).0, "error", "{output}");
    assert!(site.request_lines().is_empty());
}

#[test]
fn invalid_pins_and_grants_are_reported_before_any_request() {
    for (config, flags, exit, message) in [
        ("[network.resolve]\n\"a.test\" = \"b.test\"\n", &[][..], 78, "`b.test` should be an address"),
        ("[network.resolve]\n\"http://a\" = \"127.0.0.1\"\n", &[], 78, "not the name of a host"),
        ("[network]\nallow = [\"a.test\"]\n", &[], 78, "write `a.test:443`"),
        ("", &["--allow-net", "a.test"], 2, "write `a.test:443`"),
        ("", &["--allow-net", "2130706433:80"], 2, "write the host as `127.0.0.1`"),
    ] {
        let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
        let output = scene.print([&NO_SANDBOX, flags].concat()).run();
        assert_eq!(output.code, Some(exit), "{output}");
        assert!(output.stderr_lines("error: ")[0].contains(message), "{output}");
        assert!(scene.server.requests().is_empty());
    }
}

#[test]
fn the_text_format_names_the_fetched_page() {
    let site = Site::page();
    let scene = scene(&site.pinned_as(&["docs.example.test"]), "http://docs.example.test/");
    let flags = [&NO_SANDBOX[..], &RULES, &["--output-format", "text", "--verbose"]].concat();
    let output = scene.print(flags).run().succeeded();
    assert_eq!(output.stdout, "Fetched web page: http://docs.example.test/\n\ndone\n");
}

/// A proxy resolves host names itself; requests to pinned names do not use the proxy.
#[test]
fn the_proxy_of_the_environment_is_used() {
    let (proxy, site) = (Site::page(), Site::page());
    let through = |config: &str, url: &str| {
        let scene = scene(config, url);
        let flags = [&NO_SANDBOX[..], &RULES].concat();
        let output =
            scene.print(flags).env("http_proxy", format!("http://{}", proxy.address)).run().succeeded();
        assert_eq!(result(&output).0, "success", "{output}");
    };
    through("", "http://docs.example.test/a");
    through(&site.pinned_as(&["b.good.test"]), "http://b.good.test/b");
    assert_eq!(proxy.request_lines(), ["GET http://docs.example.test/a HTTP/1.1"]);
    assert_eq!(site.request_lines(), ["GET /b HTTP/1.1"]);
}

/// Returns the output of `curl` in the sandbox for `url`; `None` if curl is not installed.
#[track_caller]
fn curl(config: &str, url: &str, flags: &[&str]) -> Option<String> {
    let command = format!("curl -sS --max-time 20 {url}; true");
    let scene = Scene::new([answer_shell(&command), answer_text("done")])
        .with_workspace(Workspace::new().user_config(config));
    let output = scene.print([&["--sandbox", "enabled"], flags].concat()).run().succeeded();
    let stream = output.stream();
    let result = &stream.completed()[0].1["result"]["success"];
    let printed = result["interleavedOutput"].as_str().unwrap_or_else(|| panic!("{output}")).to_owned();
    if printed.contains("command not found") {
        eprintln!("SKIP: curl: {printed}");
        return None;
    }
    Some(printed)
}

#[test]
fn a_confined_command_reaches_only_granted_hosts() {
    let site = Site::page();
    let config = site.pinned_as(&["docs.example.test", "other.test"]);
    let check = |url: &str, flags: &[&str], message: &str| {
        if let Some(printed) = curl(&config, url, flags) {
            assert!(printed.contains(message), "{url} {flags:?}: {printed}");
        }
    };
    let grant = ["--allow-net", "docs.example.test:80"];
    check("http://docs.example.test/by-grant", &grant, "<title>Docs</title>");
    check(
        "http://docs.example.test/by-rule",
        &["--allow", "WebFetch(docs.example.test)"],
        "<title>Docs</title>",
    );
    check(
        "http://other.test/",
        &grant,
        "`other.test` at port 80; a person may allow it with `--allow-net other.test:80`",
    );
    check("http://docs.example.test:81/", &grant, "--allow-net docs.example.test:81");
    check("https://docs.example.test/", &grant, "403");
    check("http://docs.example.test/", &[], "Could not resolve host");
    check("http://docs.example.test/", &["--force"], "Could not resolve host");
    let denied = ["--allow-net", "*:80", "--deny", "WebFetch(docs.example.test)"];
    check("http://docs.example.test/", &denied, "a rule denies it");
    let own = format!("http://{}/", site.address);
    check(
        &format!("--noproxy '' {own}"),
        &["--allow-net", "*:80"],
        "may allow it with `--allow-net 127.0.0.1:",
    );
    check(&own, &["--allow-net", "*:80"], "connect");
    check(&own, &["--allow-net", &site.address.to_string()], "<title>Docs</title>");
    let lines = site.request_lines();
    assert!(lines.len() <= 3 && lines.iter().all(|line| !line.contains("other")), "{lines:?}");
}

/// After a change outside of the sandbox to a file that it mounts, the sandbox is restarted with a new network
/// namespace.
#[test]
fn a_restarted_sandbox_reaches_granted_hosts() {
    let site = Site::page();
    let fetch = |path: &str| format!("curl -sS --max-time 20 http://docs.example.test/{path}; true");
    let workspace = Workspace::new()
        .user_config(&site.pinned_as(&["docs.example.test"]))
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/config", "[core]\n")
        .file("new", "[core]\n\tbare = false\n");
    let scene =
        Scene::new([answer_shell(&fetch("first")), answer_shell(&fetch("second")), answer_text("done")])
            .with_workspace(workspace);
    // A hook runs outside of the sandbox. It replaces a file like an editor that saves by renaming.
    let root = scene.workspace.path().display().to_string();
    let save = format!("cat > /dev/null; cd '{root}'; mv -f new .git/config 2> /dev/null; echo '{{}}'");
    write_hooks(&scene.workspace, &json!({"afterShellExecution": [{"command": save}]}));
    let run = scene.print(["--sandbox", "enabled", "--allow-net", "docs.example.test:80"]);
    let output = run.run().succeeded();
    if output.stdout.contains("command not found") {
        return eprintln!("SKIP: curl is not installed");
    }
    assert!(scene.workspace.read(".git/config").is_some_and(|config| config.contains("bare")), "{output}");
    assert_eq!(site.request_lines(), ["GET /first HTTP/1.1", "GET /second HTTP/1.1"], "{output}");
}
