//! Screens of a scripted conversation, which the documentation shows.
//!
//! `cargo xtask screens` writes them after an intended change.

#![expect(clippy::disallowed_methods, reason = "only the display itself must not open files")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ibeam_output::{Catalogue, Locale};
use ibeam_protocol::tool_output::{EditOutput, ReadOutput, ShellOutput, Todo, TodoStatus};
use ibeam_protocol::{Event, EventKind, ModelCallId, ToolCall, ToolFailure, ToolOutcome, ToolOutput};
use ibeam_tui::{
    Color, DialogGuard, DialogInput, DialogOptions, EscapeEffect, LastingAnswers, Line, PagerStart, Palette,
    PickerEntry, PickerOptions, Question, Screen, Style, TerminalEvent, TerminalTraits, TuiLine, Ui,
    UiOptions, diff_lines, proposed_change,
};
use serde_json::{Value, json};

use crate::svg;
use crate::terminal::Terminal;

const DIFF: &str = "\
--- a/src/parse.rs
+++ b/src/parse.rs
@@ -12,7 +12,7 @@
     let mut fields = line.split(',');
     let name = fields.next()?;
-    let age = fields.next().unwrap().parse().unwrap();
+    let age = fields.next()?.trim().parse().ok()?;
     Some(Person { name, age })
 }
";

/// The texts of a conversation in one language.
struct Script {
    prompt: &'static str,
    todos: [&'static str; 3],
    answer: &'static str,
    next_prompt: &'static str,
    typed: &'static str,
}

const ENGLISH: Script = Script {
    prompt: "The test for ages with spaces fails. Find out why and fix it.",
    todos: ["Find the failing test", "Fix the parser", "Run all tests"],
    answer: "## Cause\n\n`parse` called `unwrap` on a field with **spaces**.\n\n\
             | input | before | now |\n|---|---|---|\n| `Ada,36` | 36 | 36 |\n| `Ada, 36` | panic | 36 |\n\n\
             ```rust\nlet age = fields.next()?.trim().parse().ok()?; // no panic\n```\n\n",
    next_prompt: "Now add a test for an empty line.",
    typed: "and mention it in the change",
};

const JAPANESE: Script = Script {
    prompt: "空白を含む年齢のテストが失敗します。原因を調べて直してください。",
    todos: ["失敗するテストを見つける", "構文解析を直す", "すべてのテストを実行する"],
    answer: "## 原因\n\n`parse` は**空白**を含む欄に対して `unwrap` を呼んでいました。\n\n\
             | 入力 | 以前 | 現在 |\n|---|---|---|\n| `Ada,36` | 36 | 36 |\n| `Ada, 36` | パニック | 36 |\n\n\
             ```rust\nlet age = fields.next()?.trim().parse().ok()?; // パニックしない\n```\n\n",
    next_prompt: "空行のテストも追加してください。",
    typed: "変更履歴にも書いて",
};

/// The display of a scripted conversation.
struct Scene {
    terminal: Terminal,
    ui: Ui<Terminal>,
    catalogue: Arc<Catalogue>,
    started: Instant,
    now: Instant,
    calls: u32,
}

impl Scene {
    fn new(locale: Locale, width: u16, height: u16) -> Self {
        let terminal = Terminal::new(width, height);
        let catalogue = Arc::new(Catalogue::new(locale));
        let options = UiOptions {
            catalogue: Arc::clone(&catalogue),
            history: Vec::new(),
            commands: Vec::new(),
            list_files: Box::new(|_| Vec::new()),
            title: None,
        };
        let traits = TerminalTraits { palette: Palette::Dark, reflows: false };
        let now = Instant::now();
        let screen = Screen::new(terminal.clone(), traits, width.into(), height.into());
        let mut scene =
            Self { terminal, ui: Ui::new(screen, options), catalogue, started: now, now, calls: 0 };
        scene.ui.start(scene.now).unwrap();
        let welcome = TuiLine::Welcome { model: "Sonnet", directory: "~/people" };
        let lines = [welcome, TuiLine::WelcomeHelp].map(|line| scene.catalogue.line(&line));
        scene.ui.print(lines.iter().map(|line| Line::new(Style::DIM, line)).collect(), scene.now).unwrap();
        scene
    }

    fn after(&mut self, ms: u64) -> &mut Self {
        self.now += Duration::from_millis(ms);
        self
    }

    fn send(&mut self, kind: EventKind) {
        let at_ms = u64::try_from((self.now - self.started).as_millis()).unwrap();
        self.ui.on_event(&Event { seq: 0, at_ms, kind }, self.now);
        self.ui.draw(self.now).unwrap();
    }

    fn prompt(&mut self, text: &str) {
        self.send(EventKind::UserMessage { content: vec![text.to_owned()], attachments: Vec::new() });
        self.ui.set_busy(true, self.now).unwrap();
    }

    fn text(&mut self, text: &str) {
        for fragment in text.split_inclusive(' ') {
            self.send(EventKind::TextDelta { text: fragment.to_owned() });
        }
    }

    fn start_call(&mut self, name: &str, arguments: Value) -> ToolCall {
        self.calls += 1;
        let call =
            ToolCall { id: format!("call_{}", self.calls).as_str().into(), name: name.to_owned(), arguments };
        self.send(EventKind::ToolCallStarted {
            model_call_id: ModelCallId("m1".to_owned()),
            call: call.clone(),
        });
        call
    }

    fn call(&mut self, name: &str, arguments: Value, ms: u64, outcome: ToolOutcome) {
        let call = self.start_call(name, arguments);
        self.after(ms);
        let (model_call_id, outcome) = (ModelCallId("m1".to_owned()), Box::new(outcome));
        self.send(EventKind::ToolCallFinished { model_call_id, call, outcome });
    }

    /// Plays the part that all screens have: a task with calls, and its answer.
    fn play(&mut self, script: &Script) {
        self.prompt(script.prompt);
        self.after(1200);
        let states = [TodoStatus::InProgress, TodoStatus::Pending, TodoStatus::Pending];
        let todos = script.todos.iter().zip(states).enumerate();
        let todos = todos.map(|(at, (content, status))| Todo {
            id: at.to_string(),
            content: (*content).to_owned(),
            status,
        });
        self.call("update_todos", json!({ "todos": [] }), 0, success(ToolOutput::Todos(todos.collect())));
        self.call("shell", json!({ "command": "cargo test" }), 4300, failed_test());
        let content = "line\n".repeat(48);
        let read = ReadOutput {
            media: Vec::new(),
            is_empty: false,
            exceeded_limit: false,
            total_lines: 48,
            total_chars: 240,
            content,
        };
        self.call("read", json!({ "path": "src/parse.rs" }), 2, success(ToolOutput::Read(read)));
        let edit = EditOutput {
            path: "/home/me/people/src/parse.rs".into(),
            lines_added: 1,
            lines_removed: 1,
            diff: DIFF.to_owned(),
            message: "The file was edited.".to_owned(),
        };
        self.call("edit", json!({ "path": "src/parse.rs" }), 3, success(ToolOutput::Edit(edit)));
        self.text(script.answer);
        self.ui.set_busy(false, self.now).unwrap();
    }
}

fn success(output: ToolOutput) -> ToolOutcome {
    ToolOutcome::Success { output, for_model: "".into() }
}

fn failed_test() -> ToolOutcome {
    let lines: Vec<String> = (1..=9).map(|n| format!("test parse::case_{n} ... ok")).collect();
    let output = format!(
        "{}\ntest parse::age_with_spaces ... FAILED\n\ntest result: FAILED. 9 passed; 1 failed\n",
        lines.join("\n")
    );
    let failure = ToolFailure::CommandFailed(ShellOutput {
        command: "cargo test".to_owned(),
        working_directory: "/home/me/people".into(),
        exit_code: 101,
        interleaved: output.clone(),
        stdout: output,
        ..ShellOutput::default()
    });
    ToolOutcome::Failure { failure, for_model: "".into() }
}

/// Returns the screen after an answer, while the next turn runs a command and a message waits.
fn working(script: &Script, locale: Locale, width: u16, height: u16) -> Scene {
    let mut scene = Scene::new(locale, width, height);
    scene.play(script);
    scene.prompt(script.next_prompt);
    scene.after(900).start_call("shell", json!({ "command": "cargo test --workspace" }));
    scene.after(7100).ui.push_prompt(script.typed.to_owned(), true);
    scene.ui.draw(scene.now).unwrap();
    scene
}

/// Returns the screen with the question about a change.
fn question(script: &Script, locale: Locale, width: u16, height: u16) -> Scene {
    let mut scene = Scene::new(locale, width, height);
    scene.play(script);
    scene.prompt(script.next_prompt);
    let edit = json!({ "oldText": "    #[test]\n", "newText": "    #[test]\n    fn an_empty_line_is_nobody() {\n        assert_eq!(parse(\"\"), None);\n    }\n\n    #[test]\n" });
    let call = ToolCall {
        id: "call_9".into(),
        name: "edit".to_owned(),
        arguments: json!({ "path": "src/parse.rs", "strReplace": edit }),
    };
    let mut body = vec![Line::new(Style::color(Color::Yellow), "approval = \"allowlist\"")];
    body.push(Line::new(Style::BOLD, "  src/parse.rs"));
    let rule = Some("Write(src/**)".to_owned());
    let change = proposed_change(&call);
    let lasting = LastingAnswers { same_call: true, rule, ..LastingAnswers::default() };
    let question = Question { call: call.id, body, change, lasting, reply: Box::new(drop) };
    scene.ui.ask(question, scene.now).unwrap();
    scene
}

/// Returns the question about a folder with hooks, settings and instructions, with the second choice selected.
fn trust(locale: Locale, width: u16, height: u16) -> Scene {
    let mut scene = Scene::new(locale, width, height);
    let catalogue = Arc::clone(&scene.catalogue);
    let file = ".ibeam/hooks.json";
    let entries = [
        TuiLine::TrustSetting { text: "permissions.allow = [\"Shell(rm)\"]", file: ".ibeam/config.toml:2" },
        TuiLine::TrustHook { event: "sessionStart", command: "./scripts/prepare.sh", file },
        TuiLine::TrustHook { event: "stop", command: "./scripts/notify.sh --all", file },
        TuiLine::TrustServer { name: "db", target: "npx db-server", file: ".mcp.json" },
        TuiLine::TrustRules { names: "AGENTS.md, .ibeam/rules/tests.md" },
    ];
    let title = catalogue.line(&TuiLine::TrustFolder { directory: "/home/me/people" });
    let mut lines = vec![Line::new(Style::color(Color::Yellow), &title)];
    lines.extend(entries.iter().map(|entry| Line::plain(&format!("  {}", catalogue.line(entry)))));
    lines.push(Line::plain(&catalogue.line(&TuiLine::TrustMeaning)));
    scene.ui.print(lines, scene.now).unwrap();
    let choices = [TuiLine::TrustYes, TuiLine::TrustNo, TuiLine::DialogLeave];
    let options = DialogOptions {
        title: catalogue.line(&TuiLine::TrustQuestion),
        input: DialogInput::Choice(choices.map(|choice| catalogue.line(&choice)).into()),
        guard: DialogGuard::Consent,
        escape: EscapeEffect::Leaves,
        reply: Box::new(drop),
    };
    scene.ui.show_dialog(options, scene.now).unwrap();
    scene.after(1000);
    for _ in 0..2 {
        let key = KeyEvent::new(KeyCode::Down, KeyModifiers::NONE);
        scene.ui.handle(TerminalEvent::Key(key), scene.now).unwrap();
    }
    scene
}

/// Returns the picker over a conversation, with a filter.
fn picker(titles: [&'static str; 6], locale: Locale, width: u16, height: u16) -> Scene {
    let mut scene = Scene::new(locale, width, height);
    let catalogue = Arc::clone(&scene.catalogue);
    let ages = [
        TuiLine::Minutes { count: 4 },
        TuiLine::Minutes { count: 38 },
        TuiLine::Hours { count: 2 },
        TuiLine::Hours { count: 21 },
        TuiLine::Days { count: 3 },
        TuiLine::Days { count: 40 },
    ];
    let sizes = ["38 kB", "212 kB", "9 kB", "3 MB", "77 kB", "54 kB"];
    let entry = move |(at, ((title, age), size)): (usize, ((&str, TuiLine<'_>), &str))| PickerEntry {
        id: format!("{at:032x}"),
        title: title.to_owned(),
        age: catalogue.line(&age),
        size: size.to_owned(),
        directory: if at % 3 == 2 { "/home/me/blog" } else { "/home/me/people" }.to_owned(),
        is_here: at % 3 != 2,
    };
    let entries: Vec<PickerEntry> = titles.into_iter().zip(ages).zip(sizes).enumerate().map(entry).collect();
    let options =
        PickerOptions { entries: Box::new(entries.into_iter()), notice: None, reply: Box::new(drop) };
    scene.ui.show_picker(options, scene.now).unwrap();
    for code in [KeyCode::Tab, KeyCode::Down] {
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        scene.ui.handle(TerminalEvent::Key(key), scene.now).unwrap();
    }
    scene
}

const ENGLISH_TITLES: [&str; 6] = [
    "The test for ages with spaces fails. Find out why and fix it.",
    "Add a column for the country",
    "Write a post about the parser",
    "Review the changes since the last release",
    "Explain how lines are parsed",
    "Move the page about me to the front",
];

const JAPANESE_TITLES: [&str; 6] = [
    "空白を含む年齢のテストが失敗します。原因を調べて直してください。",
    "国の列を追加する",
    "構文解析についての記事を書く",
    "前回のリリース以降の変更を確認する",
    "行の構文解析のしくみを説明する",
    "自己紹介のページを先頭に移す",
];

/// Returns the view of a change, with a search.
fn changes(locale: Locale, width: u16, height: u16) -> Scene {
    let mut scene = Scene::new(locale, width, height);
    let title = scene.catalogue.line(&TuiLine::ChangesTitle);
    scene.ui.show_pager(title, diff_lines(DIFF), PagerStart::Top, scene.now).unwrap();
    for c in ['/', 'a', 'g', 'e'] {
        let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
        scene.ui.handle(TerminalEvent::Key(key), scene.now).unwrap();
    }
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    scene.ui.handle(TerminalEvent::Key(enter), scene.now).unwrap();
    scene
}

/// Returns the name and the image of each screen.
fn images() -> Vec<(&'static str, String)> {
    let scenes = [
        ("working-80x24", working(&ENGLISH, Locale::En, 80, 24)),
        ("working-200x50", working(&ENGLISH, Locale::En, 200, 50)),
        ("working-ja-80x24", working(&JAPANESE, Locale::Ja, 80, 24)),
        ("question-80x24", question(&ENGLISH, Locale::En, 80, 24)),
        ("question-ja-80x24", question(&JAPANESE, Locale::Ja, 80, 24)),
        ("trust-80x24", trust(Locale::En, 80, 24)),
        ("trust-ja-80x24", trust(Locale::Ja, 80, 24)),
        ("picker-80x24", picker(ENGLISH_TITLES, Locale::En, 80, 24)),
        ("picker-ja-80x24", picker(JAPANESE_TITLES, Locale::Ja, 80, 24)),
        ("changes-80x24", changes(Locale::En, 80, 24)),
    ];
    scenes.map(|(name, scene)| (name, scene.terminal.read(svg::render))).into()
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/screens").join(format!("{name}.svg"))
}

#[test]
fn the_screens_in_the_documentation_are_what_the_display_draws() {
    for (name, image) in images() {
        let documented = fs::read_to_string(path(name)).unwrap_or_default();
        assert!(documented == image, "docs/screens/{name}.svg is outdated; run `cargo xtask screens`");
    }
}

#[test]
#[ignore = "a chore, which writes files"]
fn write_the_screens() {
    for (name, image) in images() {
        fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        fs::write(path(name), image).unwrap();
    }
}
