//! The inline screen in tmux, a terminal of others: suspending, resizing, typing ahead.

use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ibeam_testkit::scene::{KEY, Scene, answer_shell, answer_text, model_name};
use ibeam_testkit::{Answer, program_path};

/// The longest wait for a text on the screen.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The time between two looks at the screen.
const INTERVAL: Duration = Duration::from_millis(50);

/// A server of tmux with one window, in which a shell runs.
pub(super) struct Tmux {
    socket: String,
}

impl Tmux {
    /// Starts a shell in the workspace of `scene`; `None` without tmux.
    pub(super) fn start(scene: &Scene, name: &str, width: u16, height: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("SKIP: tmux is not installed");
            return None;
        }
        let tmux = Self { socket: format!("ibeam-{name}-{}", std::process::id()) };
        let (width, height) = (width.to_string(), height.to_string());
        let mut command = tmux.command();
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height]);
        command.arg("-c").arg(scene.workspace.path());
        command.args(["env", "-i", "PS1=shell> ", "TERM=tmux-256color", "LC_ALL=C.UTF-8"]);
        for (name, value) in scene.workspace.environment() {
            command.arg(format!("{name}={}", value.display()));
        }
        command.arg(format!("ANTHROPIC_BASE_URL={}", scene.server.url()));
        command.arg(format!("ANTHROPIC_API_KEY={KEY}"));
        command.args(["bash", "--norc", "--noprofile", "-i"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        tmux.wait_for("shell>");
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket]);
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Output {
        let output = self.command().args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Starts the program in the shell.
    fn start_ibeam(&self, scene: &Scene, arguments: &str) {
        self.start_program(scene, arguments);
        self.wait_for("/help lists commands");
    }

    /// Starts the program on a screen of any size.
    pub(super) fn start_program(&self, scene: &Scene, arguments: &str) {
        self.type_line(&format!("{} --model {} {arguments}", program_path(), model_name(scene.wire)));
        self.wait_for("❯");
    }

    /// Pastes a text, as a terminal with bracketed paste does.
    pub(super) fn paste(&self, text: &str) {
        self.run(&["set-buffer", text]);
        self.run(&["paste-buffer", "-p", "-r"]);
    }

    pub(super) fn type_text(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
    }

    pub(super) fn press(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    pub(super) fn type_line(&self, text: &str) {
        self.type_text(text);
        self.press("Enter");
    }

    /// Returns the scrollback and the screen. Lines that tmux has wrapped are whole.
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.run(&["capture-pane", "-p", "-J", "-S", "-"]).stdout).unwrap()
    }

    /// Returns the screen alone.
    fn screen(&self) -> String {
        String::from_utf8(self.run(&["capture-pane", "-p"]).stdout).unwrap()
    }

    #[track_caller]
    pub(super) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_reached: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !is_reached(&self.text()) {
            assert!(start.elapsed() < TIMEOUT, "no `{what}` on the screen:\n{}", self.text());
            sleep(INTERVAL);
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // The server ends with its programs.
        let _ = self.command().arg("kill-server").output();
    }
}

#[test]
fn control_z_gives_the_terminal_to_the_shell_and_fg_restores_the_screen() {
    let scene = Scene::new([answer_text("The answer.\n")]);
    let Some(tmux) = Tmux::start(&scene, "suspend", 80, 24) else { return };
    tmux.start_ibeam(&scene, "");
    tmux.type_text("a draft");
    tmux.wait_for("❯ a draft");
    tmux.press("C-z");
    tmux.wait_for("Stopped");
    assert!(!tmux.screen().contains("❯"), "the live rows are gone:\n{}", tmux.screen());
    // The shell has the terminal with its own settings: it echoes, and a line ends a command.
    tmux.type_line("echo sum-$((20 + 22))");
    tmux.wait_for("sum-42");
    tmux.type_line("fg");
    tmux.wait_for("❯ a draft");
    tmux.type_text(" and more");
    tmux.wait_for("❯ a draft and more");
    tmux.press("Enter");
    tmux.wait_for("The answer.");
    tmux.type_line("/exit");
    tmux.wait_until("a new prompt of the shell", |text| text.trim_end().ends_with("shell>"));
    let requests = scene.server.requests();
    assert_eq!(requests[0].transcript(), ["user: a draft and more"]);
}

#[test]
fn a_resize_while_text_arrives_leaves_each_line_once() {
    const LINES: usize = 120;
    let line = |number: usize| format!("line {number:03} of it");
    let answer = (0..LINES).fold(Answer::new(), |answer, number| {
        answer.text(format!("{}\n\n", line(number))).pause(Duration::from_millis(25))
    });
    let scene = Scene::new([answer.text("That is all.\n")]);
    let Some(tmux) = Tmux::start(&scene, "resize", 80, 24) else { return };
    tmux.start_ibeam(&scene, "");
    tmux.type_line("count");
    tmux.wait_for(&line(3));
    let sizes = [("60", "20"), ("132", "43"), ("40", "12"), ("80", "24"), ("100", "9"), ("50", "30")];
    let mut resizes = 0;
    while !tmux.text().contains("That is all.") {
        let (width, height) = sizes[resizes % sizes.len()];
        tmux.run(&["resize-window", "-x", width, "-y", height]);
        resizes += 1;
        sleep(Duration::from_millis(60));
        assert!(resizes < 1000, "the answer has an end:\n{}", tmux.text());
    }
    assert!(resizes > 5, "{resizes} resizes while text arrived");
    tmux.type_line("/exit");
    tmux.wait_until("a new prompt of the shell", |text| text.trim_end().ends_with("shell>"));
    let text = tmux.text();
    for number in 0..LINES {
        let count = text.lines().filter(|row| row.trim() == line(number)).count();
        assert_eq!(count, 1, "`{}` after {resizes} resizes:\n{text}", line(number));
    }
}

#[test]
fn the_progress_of_a_run_is_gone_at_its_end_also_through_another_program() {
    let answer = Answer::new().pause(Duration::from_millis(1500)).text("The answer.\n");
    let scene = Scene::new([answer]);
    let Some(tmux) = Tmux::start(&scene, "progress", 80, 24) else { return };
    let model = model_name(scene.wire);
    tmux.type_line(&format!("{} --model {model} -p --output-format text wait | cat", program_path()));
    tmux.wait_for("waiting for");
    tmux.wait_for("The answer.");
    tmux.wait_until("a new prompt of the shell", |text| text.trim_end().ends_with("shell>"));
    let text = tmux.text();
    assert!(!text.contains("waiting for") && text.lines().any(|row| row == "The answer."), "{text}");
}

#[test]
fn keys_that_arrive_with_a_question_do_not_answer_it() {
    let call = answer_shell("touch made").pause(Duration::from_millis(1500));
    let scene = Scene::new([call, answer_text("So be it.\n")]);
    let Some(tmux) = Tmux::start(&scene, "ahead", 80, 24) else { return };
    tmux.start_ibeam(&scene, "--sandbox disabled");
    tmux.type_line("make it");
    scene.server.wait_for_requests(1);
    let start = Instant::now();
    // Keys from before the question until after it was drawn, with less than the pause between them.
    let mut after = 0;
    while after < 5 {
        tmux.type_text("y");
        after += usize::from(tmux.screen().contains("Allow this?"));
        sleep(Duration::from_millis(100));
        assert!(start.elapsed() < TIMEOUT, "no question:\n{}", tmux.text());
    }
    let screen = tmux.screen();
    assert!(screen.contains("Allow this?") && screen.contains("❯ yyy"), "{screen}");
    assert_eq!(scene.workspace.read("made"), None);
    sleep(Duration::from_millis(900));
    tmux.type_text("n");
    tmux.wait_for("So be it.");
    assert_eq!(scene.workspace.read("made"), None);
    assert!(tmux.screen().contains("❯ yyy"), "what was typed stays in the input:\n{}", tmux.screen());
}
