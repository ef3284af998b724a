//! scratch
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::expect_used,
    missing_docs
)]
use futures_util::StreamExt;
use ibeam_core::provider::*;
use ibeam_local::*;
use ibeam_protocol::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

struct Dir(Arc<Mutex<PathBuf>>);
impl Workspace for Dir {
    fn files(&self) -> Vec<String> {
        let root = self.0.lock().unwrap().clone();
        let mut v: Vec<String> =
            std::fs::read_dir(root).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        v.sort();
        v
    }
    fn exists(&self, p: &str) -> bool {
        self.0.lock().unwrap().join(p).is_file()
    }
}
fn has(hay: &str, needle: &str) -> bool {
    let hay = hay.to_lowercase();
    needle.to_lowercase().split('|').any(|n| hay.contains(n))
}
fn strs(v: Option<&toml::Value>) -> Vec<String> {
    v.and_then(|v| v.as_array())
        .map(|a| a.iter().map(|s| s.as_str().unwrap().to_owned()).collect())
        .unwrap_or_default()
}
fn main() {
    let filter: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/eval/tasks.toml")).unwrap();
    let doc: toml::Table = text.parse().unwrap();
    let root = Arc::new(Mutex::new(PathBuf::new()));
    let home = PathBuf::from(std::env::var("HOME").unwrap());
    let provider = LocalProvider::new(
        home.join(".local/share/ibeam/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        home.join(".cache/ibeam"),
        Box::new(Dir(root.clone())),
    );
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut ok, mut all) = (0, 0);
    for task in doc["task"].as_array().unwrap() {
        let name = task["name"].as_str().unwrap();
        if !filter.is_empty() && !filter.iter().any(|f| name.contains(f.as_str())) {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        *root.lock().unwrap() = dir.path().to_owned();
        let files = task.get("files").and_then(|f| f.as_table()).cloned().unwrap_or_default();
        for (n, t) in &files {
            std::fs::write(dir.path().join(n), t.as_str().unwrap()).unwrap();
        }
        let started = Instant::now();
        let prompt = task["prompt"].as_str().unwrap();
        println!("=== {name}: {prompt}");
        let (answer, usage) = rt.block_on(run(&provider, dir.path(), prompt));
        let mut wrong = Vec::new();
        let read = |n: &str| std::fs::read_to_string(dir.path().join(n)).unwrap_or_default();
        for a in strs(task.get("answer")) {
            if !has(&answer, &a) {
                wrong.push(format!("answer lacks {a}"));
            }
        }
        for n in strs(task.get("creates")) {
            if !dir.path().join(&n).exists() {
                wrong.push(format!("no {n}"));
            }
        }
        for n in strs(task.get("gone")) {
            if dir.path().join(&n).exists() {
                wrong.push(format!("still {n}"));
            }
        }
        for (key, want) in [("contains", true), ("lacks", false)] {
            if let Some(t) = task.get(key).and_then(|t| t.as_table()) {
                for (n, v) in t {
                    for s in strs(Some(v)) {
                        if has(&read(n), &s) != want {
                            wrong.push(format!("{n} {key} {s:?} fails: {:?}", read(n)));
                        }
                    }
                }
            }
        }
        let changes = strs(task.get("changes"));
        for (n, t) in &files {
            if !changes.contains(n) && read(n) != t.as_str().unwrap() {
                wrong.push(format!("DAMAGE {n}"));
            }
        }
        let creates = strs(task.get("creates"));
        for e in std::fs::read_dir(dir.path()).unwrap() {
            let n = e.unwrap().file_name().into_string().unwrap();
            if !files.contains_key(&n) && !creates.contains(&n) {
                println!("   extra file {n}: {:?}", read(&n));
            }
        }
        all += 1;
        if wrong.is_empty() {
            ok += 1;
        }
        println!(
            "--- {name} {} {:.1}s in {} out {} cached {} {wrong:?}\n",
            if wrong.is_empty() { "ok" } else { "FAIL" },
            started.elapsed().as_secs_f64(),
            usage.input,
            usage.output,
            usage.cache_read
        );
    }
    println!("{ok}/{all}");
}
async fn run(provider: &LocalProvider, dir: &Path, prompt: &str) -> (String, Usage) {
    let tools: Arc<[ToolSpec]> = ["read", "write", "shell"]
        .iter()
        .map(|n| ToolSpec { name: (*n).into(), description: "".into(), parameters: serde_json::json!({}) })
        .collect();
    let mut messages = vec![Arc::new(Message::User(vec![prompt.to_owned()]))];
    let mut total = Usage::default();
    for _ in 0..15 {
        let request = Arc::new(ModelRequest {
            system: "".into(),
            tools: tools.clone(),
            messages: messages.clone(),
            max_output_tokens: None,
        });
        let t = Instant::now();
        let mut s = provider.stream(request);
        let mut done = None;
        while let Some(e) = s.next().await {
            match e {
                Ok(ModelEvent::TextDelta(_)) => {}
                Ok(ModelEvent::Finished(a)) => done = Some(a),
                Ok(_) => {}
                Err(e) => {
                    println!("ERROR {e:?}");
                    return (String::new(), total);
                }
            }
        }
        let a = done.unwrap();
        let u = a.usage.unwrap();
        total = total.plus(u);
        let mut results = vec![];
        for b in &a.blocks {
            match b {
                Block::Text(t) => {
                    println!("   [{:?}] {t}", a.stop);
                    if a.stop != StopReason::ToolUse {
                        return (t.clone(), total);
                    }
                }
                Block::ToolCall(c) => {
                    println!(
                        "   ({:.1}s, in {} out {} cached {}) {} {}",
                        t.elapsed().as_secs_f64(),
                        u.input,
                        u.output,
                        u.cache_read,
                        c.name,
                        c.arguments
                    );
                    let arg = |k: &str| c.arguments[k].as_str().unwrap().to_owned();
                    let (text, is_error) = match c.name.as_str() {
                        "read" => match std::fs::read_to_string(dir.join(arg("path"))) {
                            Ok(t) => (
                                t.lines()
                                    .enumerate()
                                    .map(|(i, l)| format!("{:6}\t{l}\n", i + 1))
                                    .collect::<String>(),
                                false,
                            ),
                            Err(e) => (e.to_string(), true),
                        },
                        "write" => {
                            std::fs::write(dir.join(arg("path")), arg("fileText")).unwrap();
                            ("written".to_owned(), false)
                        }
                        _ => {
                            let o = std::process::Command::new("bash")
                                .arg("-c")
                                .arg(arg("command"))
                                .current_dir(dir)
                                .output()
                                .unwrap();
                            (
                                format!(
                                    "{}{}",
                                    String::from_utf8_lossy(&o.stdout),
                                    String::from_utf8_lossy(&o.stderr)
                                ),
                                !o.status.success(),
                            )
                        }
                    };
                    results.push(ToolResult {
                        call_id: c.id.clone(),
                        name: c.name.clone(),
                        text: text.into(),
                        is_error,
                    });
                }
                Block::Thinking { .. } => {}
            }
        }
        messages.push(Arc::new(Message::Assistant(a.blocks.clone())));
        messages.push(Arc::new(Message::ToolResults(results)));
    }
    (String::new(), total)
}
