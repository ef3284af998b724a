//! The pages of `ibeam help TOPIC`: rendered on a terminal and in a pager, Markdown elsewhere.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ibeam_protocol::Signal;
use ibeam_testkit::scene::Scene;
use ibeam_testkit::{Ibeam, ProgramOutput};
use unicode_width::UnicodeWidthStr as _;

/// A terminal of 80 by 24 cells.
const SMALL: &str = "stty cols 80 rows 24";

/// Returns a call of `help` on a terminal of the size that `stty` sets, without a pager.
fn help(scene: &Scene, stty: &str, args: &[&str]) -> Ibeam {
    let args = [&["help"], args].concat();
    scene.ibeam_without_model(args).terminal().after(stty).env("TERM", "xterm").env("PAGER", "cat")
}

/// Returns the rows on the terminal without styles.
fn rows(output: &ProgramOutput) -> Vec<String> {
    let mut pieces = output.stdout.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    let text = pieces.fold(first, |text, piece| text + piece.split_once('m').unwrap().1);
    text.replace("\r\n", "\n").lines().map(str::to_owned).collect()
}

#[test]
fn pages_are_rendered_for_the_width_of_the_terminal() {
    let scene = Scene::new([]);
    let topics = scene.ibeam_without_model(["help", "topics"]).run().succeeded().stdout;
    for topic in topics.lines().map(|line| line.split(' ').next().unwrap()) {
        for (columns, lang) in [(80, "en"), (40, "en"), (40, "ja")] {
            let output = help(&scene, &format!("stty cols {columns}"), &[topic, "--lang", lang]).run();
            let rows = rows(&output.succeeded());
            // Code is indented, and keeps its lines.
            let long = rows.iter().find(|row| row.width() > columns && !row.starts_with("  "));
            assert_eq!(long, None, "{topic}, {columns}");
            let raw = ["|---", "## ", "```", "]("];
            let is_raw = |row: &&String| !row.starts_with("  ") && raw.iter().any(|text| row.contains(text));
            assert_eq!(rows.iter().find(is_raw), None, "{topic}, {columns}");
            assert_eq!(rows[0].contains("このページは英語です"), lang == "ja", "{topic}: {}", rows[0]);
        }
    }
}

#[test]
fn a_table_has_columns_or_becomes_a_list() {
    let scene = Scene::new([]);
    let wide = rows(&help(&scene, "stty cols 80", &["hooks"]).run().succeeded());
    assert!(wide.iter().any(|row| row.starts_with("type          │ command, the default")), "{wide:#?}");
    let narrow = rows(&help(&scene, "stty cols 40", &["connections"]).run().succeeded());
    assert!(narrow.iter().any(|row| row == "  flag: --ca-file FILE"), "{narrow:#?}");
}

#[test]
fn a_pipe_gets_markdown() {
    let scene = Scene::new([]);
    let output = scene.ibeam_without_model(["help", "hooks"]).env("PAGER", "false").run().succeeded();
    assert!(output.stdout.starts_with("# Hooks") && output.stdout.contains("\n|---|---|\n"), "{output}");
    assert!(!output.stdout.contains('\u{1b}'), "{output}");
}

#[test]
fn styles_are_those_that_the_terminal_and_the_person_want() {
    let scene = Scene::new([]);
    let styles = |name: &str, value: &str| {
        let output = help(&scene, SMALL, &["hooks"]).env(name, value).run().succeeded().stdout;
        (
            output.contains("\u{1b}[1mHooks"),
            ["\u{1b}[38;5;116m", "\u{1b}[38;5;23m"].map(|color| output.contains(color)),
        )
    };
    assert_eq!(styles("COLORFGBG", "15;0"), (true, [true, false]));
    assert_eq!(styles("COLORFGBG", "0;15"), (true, [false, true]));
    assert_eq!(styles("TERM", "xterm"), (true, [false, false]));
    assert_eq!(styles("NO_COLOR", "1"), (true, [false, false]));
    assert_eq!(styles("TERM", "dumb"), (false, [false, false]));
}

#[test]
fn a_page_longer_than_the_screen_goes_through_the_pager() {
    let scene = Scene::new([]);
    let shown = |stty: &str, variables: &[(&str, &str)]| {
        let call = help(&scene, stty, &["hooks"]);
        let output = variables.iter().fold(call, |call, (name, value)| call.env(name, value)).run();
        let output = output.succeeded();
        assert!(!output.stderr.contains("error"), "{output}");
        (rows(&output), output.stderr)
    };
    let pager = "sed 's/^/paged: /'; echo \"$LESS\"";
    let (paged, _) = shown(SMALL, &[("PAGER", pager)]);
    assert!(paged[0].starts_with("paged: Hooks: ") && paged.last().unwrap() == "FRX", "{paged:#?}");
    for variables in [
        &[("PAGER", "")][..],
        &[("PAGER", "cat")],
        &[("PAGER", "pager-that-is-missing 2>/dev/null")],
        &[("PAGER", pager), ("TERM", "dumb")],
    ] {
        let (rows, stderr) = shown(SMALL, variables);
        assert!(rows[0].starts_with("Hooks: ") && rows.len() > 40, "{variables:?}: {rows:#?}");
        assert_eq!(stderr, "", "{variables:?}");
    }
    // The screen of a terminal without a size, and a screen that shows all of the page.
    for stty in ["stty cols 80", "stty cols 80 rows 2000"] {
        assert!(shown(stty, &[("PAGER", pager)]).0[0].starts_with("Hooks: "), "{stty}");
    }
}

#[test]
fn a_pager_that_is_left_early_is_no_failure() {
    let scene = Scene::new([]);
    // The page is larger than a pipe.
    let output = help(&scene, SMALL, &["models"]).env("PAGER", "head -n 1; exit 3").run().succeeded();
    assert_eq!((rows(&output).len(), output.stderr.as_str()), (1, ""), "{output}");
}

#[test]
fn an_interrupt_is_for_the_pager() {
    let scene = Scene::new([]);
    let pager = "cat >/dev/null; echo open; while ! test -e left; do sleep 0.1; done; echo left";
    let running = help(&scene, SMALL, &["hooks"]).env("PAGER", pager).start();
    running.wait_for_stdout("open");
    running.signal(Signal::Int);
    fs::write(scene.workspace.path().join("left"), "").unwrap();
    let output = running.finish().succeeded();
    assert_eq!(rows(&output), ["open", "left"], "{output}");
}

#[test]
fn less_is_the_default_pager_if_it_is_installed() {
    let scene = Scene::new([]);
    let directory = scene.workspace.outside().join("bin");
    fs::create_dir_all(&directory).unwrap();
    let less = directory.join("less");
    fs::write(&less, "#!/bin/sh\necho \"less $LESS $LESSCHARSET\"\ncat >/dev/null\n").unwrap();
    fs::set_permissions(&less, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let output = help(&scene, SMALL, &["hooks"]).env_remove("PAGER").env("PATH", path).run().succeeded();
    assert_eq!(rows(&output), ["less FRX utf-8"], "{output}");
}
