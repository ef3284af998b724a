//! The runs that are killed: files before the run, answers of the model and expected changes.

use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Answer, Ibeam, Workspace};
use serde_json::{Value, json};

/// The session of each run. The id is fixed, so that the session can be resumed after any kill.
pub(super) const UUID: &str = "7d9f1c52-3a68-4e0b-9c41-5b2f8e6a0d13";

/// The file to which each execution of a command appends a line.
pub(super) const COUNTER: &str = "ran";

/// A run that is killed.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// The files of the workspace before the run.
    pub(super) files: Vec<(&'static str, String)>,
    /// Whether an earlier run belongs to the same session.
    pub(super) resumed: bool,
    /// Whether the run forks the session, with a generated id.
    pub(super) forked: bool,
    /// Whether calls need no approval.
    pub(super) force: bool,
    pub(super) answers: Vec<Answer>,
    /// The changes of files by calls.
    pub(super) changes: Vec<Change>,
}

/// A change of a file by a call. Afterwards the file is either old or new.
pub(super) struct Change {
    pub(super) call: &'static str,
    pub(super) path: &'static str,
    pub(super) new: Option<String>,
}

impl Scenario {
    fn new(name: &'static str, answers: Vec<Answer>) -> Self {
        let (files, changes) = (Vec::new(), Vec::new());
        Self { name, files, resumed: false, forked: false, force: true, answers, changes }
    }

    fn file(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.files.push((path, text.into()));
        self
    }

    fn change(mut self, call: &'static str, path: &'static str, new: Option<&str>) -> Self {
        self.changes.push(Change { call, path, new: new.map(str::to_owned) });
        self
    }

    /// Returns the content of a file before the run.
    pub(super) fn old(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_str())
    }

    /// Creates the workspace, executes the earlier run, if any, and starts the server for this run.
    pub(super) fn set_up(&self, durability: &str) -> Scene {
        let mut workspace =
            Workspace::new().user_config(&format!("[session]\ndurability = \"{durability}\"\n"));
        for (path, text) in &self.files {
            workspace = workspace.file(path, text);
        }
        let scene = Scene::new([answer_text("First.")]).with_workspace(workspace);
        if self.resumed {
            scene.ibeam(["-p", "before", "--resume", UUID]).run().succeeded();
        }
        scene.with_answers(self.answers.clone())
    }

    /// Returns the command of the run.
    pub(super) fn command(&self, scene: &Scene) -> Ibeam {
        let run = scene.ibeam(["-p", "do it", "--resume", UUID]);
        let run = if self.forked { run.args(["--fork"]) } else { run };
        if self.force { run.args(["--force"]) } else { run }
    }
}

pub(super) fn all() -> Vec<Scenario> {
    vec![
        text(),
        read(),
        write_new(),
        write_over(),
        edit(),
        command(),
        two_calls(),
        reads_together(),
        background(),
        failure(),
        second_run(),
        fork(),
        large(),
        denied(),
    ]
}

fn shell(id: &str, command: &str) -> Answer {
    answer_call(id, "shell", &json!({ "command": command }))
}

fn write(path: &str, text: &str) -> Value {
    json!({ "path": path, "fileText": text })
}

pub(super) fn text() -> Scenario {
    let answer = (0..12).fold(Answer::new(), |answer, number| answer.text(format!("Piece {number}. ")));
    Scenario::new("text", vec![answer])
}

pub(super) fn read() -> Scenario {
    Scenario::new(
        "read",
        vec![answer_call("t1", "read", &json!({ "path": "n.txt" })), answer_text("It is 42.")],
    )
    .file("n.txt", "42\n")
}

pub(super) fn write_new() -> Scenario {
    let answers = vec![
        answer_text("Now. ").call("t1", "write", &write("deep/new.txt", "one\ntwo\n")),
        answer_text("Done."),
    ];
    Scenario::new("write of a new file", answers).change("t1", "deep/new.txt", Some("one\ntwo\n"))
}

pub(super) fn write_over() -> Scenario {
    Scenario::new(
        "write over a file",
        vec![answer_call("t1", "write", &write("n.txt", "new\n")), answer_text("Done.")],
    )
    .file("n.txt", "old and longer\n")
    .change("t1", "n.txt", Some("new\n"))
}

pub(super) fn edit() -> Scenario {
    let arguments = json!({ "path": "n.txt", "oldText": "beta", "newText": "gamma" });
    Scenario::new("edit", vec![answer_call("t1", "edit", &arguments), answer_text("Done.")])
        .file("n.txt", "alpha\nbeta\n")
        .change("t1", "n.txt", Some("alpha\ngamma\n"))
}

pub(super) fn command() -> Scenario {
    Scenario::new("command", vec![shell("t1", "echo x >> ran; sleep 0.01; ls"), answer_text("Done.")])
}

pub(super) fn two_calls() -> Scenario {
    let both = Answer::new().text("Both. ").call("t1", "delete", &json!({ "path": "n.txt" })).call(
        "t2",
        "shell",
        &json!({ "command": "echo x >> ran" }),
    );
    Scenario::new("delete and command in one answer", vec![both, answer_text("Done.")])
        .file("n.txt", "old\n")
        .change("t1", "n.txt", None)
}

pub(super) fn reads_together() -> Scenario {
    let reads = ["a.txt", "b.txt", "c.txt"].into_iter().zip(["t1", "t2", "t3"]);
    let answer =
        reads.fold(Answer::new(), |answer, (path, id)| answer.call(id, "read", &json!({ "path": path })));
    let files = Scenario::new("reads together", vec![answer, answer_text("All read.")]);
    files.file("a.txt", "a\n").file("b.txt", "b\n").file("c.txt", "c\n")
}

pub(super) fn background() -> Scenario {
    let arguments = json!({ "command": "echo x >> ran; sleep 60", "isBackground": true });
    Scenario::new(
        "command in the background",
        vec![answer_call("t1", "shell", &arguments), answer_text("It runs.")],
    )
}

pub(super) fn failure() -> Scenario {
    let wrong = json!({ "path": "n.txt", "oldText": "nowhere", "newText": "x" });
    let answers = vec![
        answer_call("t1", "edit", &wrong),
        shell("t2", "echo x >> ran; exit 3"),
        answer_call("t3", "write", &write("n.txt", "new\n")),
        answer_text("Done at last."),
    ];
    Scenario::new("failures, then success", answers).file("n.txt", "old\n").change(
        "t3",
        "n.txt",
        Some("new\n"),
    )
}

pub(super) fn second_run() -> Scenario {
    let answers = vec![
        answer_text("Again. ").call("t1", "shell", &json!({ "command": "echo x >> ran" })),
        answer_text("Done."),
    ];
    Scenario { resumed: true, ..Scenario::new("second run of a session", answers) }
}

pub(super) fn fork() -> Scenario {
    Scenario { name: "fork of a session", forked: true, ..second_run() }
}

/// The payloads are larger than a record of the journal may be.
pub(super) fn large() -> Scenario {
    let text = "a line of some length that is there many times\n".repeat(4000);
    let answers = vec![
        answer_text(&"A long answer. ".repeat(6000)).call("t1", "write", &write("large.txt", &text)),
        answer_call("t2", "shell", &json!({ "command": "echo x >> ran; cat large.txt" })),
        answer_text("Done."),
    ];
    Scenario::new("large payloads", answers).change("t1", "large.txt", Some(&text))
}

pub(super) fn denied() -> Scenario {
    let answers = vec![shell("t1", "echo x >> ran"), answer_text("Then not.")];
    Scenario { force: false, ..Scenario::new("refused command", answers) }
}
