//! File tools under few descriptors, with many entries, at a time limit, and with files that change during a session.

use std::time::Duration;

use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, Workspace};
use serde_json::{Value, json};

/// Returns the last message of a request: the results of the calls of one answer.
#[track_caller]
fn results(scene: &Scene, request: usize) -> String {
    scene.server.requests()[request].messages().last().unwrap().to_string()
}

fn edit(id: &str, old: &str, new: &str) -> Answer {
    answer_call(id, "edit", &json!({ "path": "f.txt", "oldText": old, "newText": new }))
}

fn read(id: &str) -> Answer {
    answer_call(id, "read", &json!({ "path": "f.txt" }))
}

/// A command changes a file after it was read. The edit is refused until the model has read the file again.
#[test]
fn a_file_that_a_command_changed_is_read_again_before_it_is_edited() {
    let scene = Scene::new([
        read("t1"),
        answer_shell("echo three >> f.txt"),
        edit("t2", "one", "1"),
        read("t3"),
        edit("t4", "one", "1"),
        answer_text("Done."),
    ])
    .with_workspace(Workspace::new().file("f.txt", "one\ntwo\n"));
    scene.print(["--force"]).run().succeeded();
    let refused = results(&scene, 3);
    assert!(refused.contains("has changed on disk since you last read") && refused.contains("read it again"));
    assert_eq!(scene.workspace.read("f.txt").as_deref(), Some("1\ntwo\nthree\n"));
}

/// A person changes a file between two runs of a session. The edit is refused until the second run has read the file.
#[test]
fn a_file_that_a_person_changed_is_read_again_in_a_resumed_run() {
    let workspace = Workspace::new().file("f.txt", "one\ntwo\n").file("g.txt", "one\n");
    let other = |id: &str, old: &str, new: &str| {
        answer_call(id, "edit", &json!({ "path": "g.txt", "oldText": old, "newText": new }))
    };
    let scene =
        Scene::new([read("t1"), other("t2", "one", "1"), answer_text("Done.")]).with_workspace(workspace);
    scene.print(["--force"]).run().succeeded();
    std::thread::sleep(Duration::from_millis(100));
    std::fs::write(scene.workspace.path().join("f.txt"), "one\ntwo\nby hand\n").unwrap();

    let scene = scene.with_answers([
        edit("t3", "one", "1"),
        read("t4"),
        edit("t5", "one", "1"),
        other("t6", "1", "2"),
        answer_text("Done."),
    ]);
    scene.print(["--force", "--continue"]).run().succeeded();
    assert!(results(&scene, 1).contains("has changed on disk"), "{}", results(&scene, 1));
    assert_eq!(scene.workspace.read("f.txt").as_deref(), Some("1\ntwo\nby hand\n"));
    assert_eq!(
        scene.workspace.read("g.txt").as_deref(),
        Some("2\n"),
        "an unchanged file need not be read again"
    );
}

/// Eight searches of one answer with few descriptors find every match, or the run fails for lack of descriptors.
#[test]
fn searches_with_few_descriptors_take_turns() {
    let mut successes = 0;
    for descriptors in [16, 20, 24, 26, 27, 28, 29, 30, 32, 40, 48, 64, 128] {
        let mut workspace = Workspace::new();
        for number in 0..40 {
            workspace = workspace.file(&format!("d{number}/a/b/f.txt"), "hello\n");
        }
        let search: (&str, Value) =
            ("grep", json!({ "pattern": "hello", "outputMode": "files_with_matches" }));
        let all = (0..8)
            .fold(Answer::new(), |answer, number| answer.call(&format!("t{number}"), search.0, &search.1));
        let scene =
            Scene::new([all, answer_shell("echo hello"), answer_text("Done.")]).with_workspace(workspace);
        let output = scene.print(["--force"]).after(&format!("ulimit -n {descriptors}")).run();
        match output.code {
            Some(0) => {
                let found = results(&scene, 1);
                assert_eq!(found.matches("/a/b/f.txt").count(), 8 * 40, "{descriptors}: {found}");
                assert!(!found.contains("could not be read"), "{descriptors}: {found}");
                assert!(results(&scene, 2).contains("hello"), "{descriptors}: {output}");
                successes += 1;
            }
            Some(71) => assert!(descriptors < 48 && output.stderr.contains("descriptor"), "{output}"),
            _ => panic!("{descriptors}: {output}"),
        }
    }
    assert!(successes >= 3, "{successes}");
}

/// Lists and searches a directory with 1,700 directories.
#[test]
fn a_directory_of_many_is_listed_and_searched_in_time() {
    let workspace = Workspace::new();
    let root = workspace.path().to_owned();
    for number in 0..1700 {
        let directory = root.join(format!("d{number:04}/sub"));
        std::fs::create_dir_all(&directory).unwrap();
        for file in 0..8 {
            std::fs::write(directory.join(format!("f{file}.txt")), "hello\n").unwrap();
        }
    }
    let scene = Scene::new([
        answer_call("t1", "ls", &json!({ "path": "d0000/.." })),
        answer_call("t2", "glob", &json!({ "globPattern": "f7.txt", "targetDirectory": "d0000/.." })),
        answer_call("t3", "grep", &json!({ "pattern": "absent", "path": "d0000/.." })),
        answer_text("Done."),
    ])
    .with_workspace(workspace);
    let output = scene.print::<&str>([]).run().succeeded();
    assert!(output.elapsed < Duration::from_secs(30), "{output}");
    assert!(results(&scene, 1).contains("more exists"), "{}", results(&scene, 1));
    assert!(results(&scene, 2).contains("the newest 200 of 1700"), "{}", results(&scene, 2));
    assert!(results(&scene, 3).contains("(no match)"), "{}", results(&scene, 3));
}

/// The time limit of the run ends a search of all files.
#[test]
fn a_search_of_the_whole_system_ends_in_time() {
    let scene = Scene::new([
        answer_call("t", "grep", &json!({ "pattern": "zq[x]jz", "path": "/" })),
        answer_text("Done."),
    ]);
    let output = scene.print(["--force", "--timeout", "2"]).run();
    assert!(output.elapsed < Duration::from_secs(10), "{output}");
    assert!(matches!(output.code, Some(0 | 33)), "{output}");
}

/// The model and the user read once that commands have no network.
#[test]
fn a_command_without_network_gets_a_hint_once() {
    let lookup = || answer_shell("echo 'curl: (6) Could not resolve host: example.com' >&2; exit 6");
    let scene = Scene::new([lookup(), lookup(), answer_text("Done.")]);
    let output = scene.print(["--force"]).run().succeeded();
    assert!(results(&scene, 1).contains("--allow-net example.com:443"), "{}", results(&scene, 1));
    assert!(!results(&scene, 2).contains("--allow-net"), "{}", results(&scene, 2));
    assert_eq!(output.stderr.matches("--allow-net example.com:443").count(), 1, "{output}");

    let scene = Scene::new([lookup(), answer_text("Done.")]);
    let output = scene.print(["--force", "--sandbox", "disabled"]).run().succeeded();
    assert!(!output.stderr.contains("--allow-net"), "{output}");
    assert!(!results(&scene, 1).contains("--allow-net"), "{}", results(&scene, 1));
}
