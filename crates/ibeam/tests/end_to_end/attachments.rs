//! Files in prompts: flags and `@PATH`, their form on every API, and results of `read` that are images.

use ibeam_testkit::scene::{KEY, Scene, answer_call, answer_text, journal};
use ibeam_testkit::{PNG, PNG_BASE64, ProgramOutput, Stdin, Wire, Workspace};
use serde_json::{Value, json};

const PDF: &[u8] = b"%PDF-1.7\npages";
const PDF_BASE64: &str = "JVBERi0xLjcKcGFnZXM=";
/// A model that is known not to see images.
const BLIND: [&str; 2] = ["--model", "anthropic/devstral-medium-latest"];

fn workspace() -> Workspace {
    Workspace::new().file("a.png", PNG).file("b.pdf", PDF).file("notes.txt", "some notes\n")
}

fn scene(wire: Wire, answers: usize) -> Scene {
    let answers = (0..answers).map(|_| answer_text("ok"));
    Scene::with_wire(wire, answers).with_workspace(workspace())
}

fn path(scene: &Scene, name: &str) -> String {
    scene.workspace.path().join(name).display().to_string()
}

/// Returns the messages of a request as text.
fn messages(scene: &Scene, request: usize) -> String {
    json!(scene.server.requests()[request].messages()).to_string()
}

#[track_caller]
fn check_refused(output: &ProgramOutput, scene: &Scene, code: i32, expect: &[&str]) {
    assert_eq!(output.code, Some(code), "{output}");
    for part in expect {
        assert!(output.stderr.contains(part), "no {part:?}: {output}");
    }
    assert_eq!(scene.server.requests().len(), 0, "nothing is requested");
}

#[test]
fn images_reach_every_api_in_its_form() {
    for wire in Wire::ALL {
        let read = answer_call("t1", "read", &json!({ "path": "a.png" }));
        let scene = Scene::with_wire(wire, [read, answer_text("done")]).with_workspace(workspace());
        let notes = path(&scene, "notes.txt");
        let output = scene.ibeam(["-p", "compare @a.png, please", "--file", &notes]).run().succeeded();
        assert_eq!(
            output.stream().prompt(),
            ["compare @a.png, please"],
            "{wire:?}: the event has the prompt"
        );
        let (first, second) = (messages(&scene, 0), messages(&scene, 1));
        assert_eq!(first.matches(PNG_BASE64).count(), 1, "{wire:?}: {first}");
        assert!(first.contains("some notes") && first.contains("Attached file `a.png`"), "{wire:?}: {first}");
        assert_eq!(second.matches(PNG_BASE64).count(), 2, "{wire:?}: {second}");
        let form = match wire {
            Wire::Anthropic | Wire::VertexAnthropic | Wire::BedrockAnthropic => r#""type":"image""#,
            Wire::OpenAi | Wire::Cohere => r#""image_url":{"url":"data:image/png;base64,iVBO"#,
            Wire::Responses => r#""image_url":"data:image/png;base64,iVBO"#,
            Wire::Gemini => r#""inlineData":{"#,
            Wire::GeminiInteractions => r#""mime_type":"image/png""#,
            Wire::Bedrock => r#""image":{"format":"png""#,
            Wire::Ollama => r#""images":["iVBO"#,
        };
        assert!(first.contains(form), "{wire:?}: {first}");
        assert!(!output.stdout.contains(PNG_BASE64), "{wire:?}: {output}");
    }
}

#[test]
fn documents_reach_every_api_that_accepts_them() {
    for wire in Wire::ALL {
        let scene = scene(wire, 1);
        let output = scene.ibeam(["-p", "sum up", "--file", &path(&scene, "b.pdf")]).run();
        if matches!(wire, Wire::Ollama | Wire::Cohere) {
            check_refused(&output, &scene, 2, &["b.pdf` is a PDF, which the API of the model"]);
        } else {
            assert_eq!(output.code, Some(0), "{wire:?}: {output}");
            assert!(messages(&scene, 0).contains(PDF_BASE64), "{wire:?}: {output}");
        }
    }
}

#[test]
fn a_model_that_cannot_see_is_named_before_any_request() {
    let expect =
        ["a.png` is an image, and the model `devstral-medium-latest` cannot see images; leave the file out"];
    let scene = scene(Wire::Anthropic, 0);
    for flag in ["--file", "--image"] {
        let output = scene.ibeam(["-p", "look", flag, &path(&scene, "a.png")]).args(BLIND).run();
        check_refused(&output, &scene, 2, &expect);
    }
    let output = scene.ibeam(["-p", "look at @a.png"]).args(BLIND).run();
    check_refused(&output, &scene, 2, &expect);
}

#[test]
fn files_that_cannot_be_attached_are_refused() {
    let scene = scene(Wire::Anthropic, 0);
    let run = |args: &[&str]| scene.ibeam(["-p", "look"]).args(args).run();
    check_refused(&run(&["--file", "/missing"]), &scene, 66, &["/missing"]);
    check_refused(&run(&["--file", ""]), &scene, 2, &["a value is required for '--file <PATH>'"]);
    let notes = path(&scene, "notes.txt");
    check_refused(
        &run(&["--image", &notes]),
        &scene,
        2,
        &["is not a PNG, JPEG, GIF or WebP image", "--file"],
    );
    let large = path(&scene, "large.png");
    std::fs::write(&large, [PNG, &[0; 4 << 20]].concat()).unwrap();
    check_refused(&run(&["--image", &large]), &scene, 2, &["large.png", "is larger than 3932160 bytes"]);
    let many: Vec<&str> = ["--file", &notes].repeat(21);
    check_refused(&run(&many), &scene, 2, &["21 files are attached, and at most 20 are accepted"]);
}

#[test]
fn a_path_after_an_at_sign_attaches_only_what_the_model_may_read() {
    let scene = scene(Wire::Anthropic, 3);
    std::fs::write(scene.workspace.outside().join("far.txt"), "far away").unwrap();
    let outside = scene.workspace.outside().join("far.txt").display().to_string();
    let prompt = format!("@notes.txt @{outside} @missing ann@notes.txt @.");
    let output = scene.ibeam(["-p", &prompt, "--deny", "Read(notes.txt)"]).run().succeeded();
    assert_eq!(output.stream().prompt(), [prompt.as_str()]);
    let request = messages(&scene, 0);
    assert!(!request.contains("some notes") && !request.contains("far away"), "{request}");
    scene.ibeam(["-p"]).stdin(Stdin::Piped(b"see @notes.txt".to_vec())).run().succeeded();
    assert!(!messages(&scene, 1).contains("some notes"), "piped text attaches nothing");
    scene.ibeam(["-p", "see (@notes.txt)."]).run().succeeded();
    assert!(messages(&scene, 2).contains("some notes"));
}

#[test]
fn a_resumed_session_has_its_attachments() {
    let scene = scene(Wire::Anthropic, 2);
    let large = path(&scene, "large.png");
    std::fs::write(&large, [PNG, &[7; 3 << 20]].concat()).unwrap();
    let output =
        scene.ibeam(["-p", "look", "--image", &large, "--file", &path(&scene, "b.pdf")]).run().succeeded();
    let id = output.stream().events[0]["session_id"].as_str().unwrap().to_owned();
    scene.ibeam(["-p", "again", &format!("--resume={id}")]).run().succeeded();
    let requests = scene.server.requests();
    let content = |request: usize| {
        let mut content = requests[request].messages()[0]["content"].clone();
        for block in content.as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
        content
    };
    assert_eq!(content(0), content(1), "the first message is the same");
    assert!(content(1).to_string().contains(PDF_BASE64));
}

#[test]
fn secrets_in_attached_files_are_not_stored() {
    let scene = scene(Wire::Anthropic, 1);
    let (text, image) = (path(&scene, "env"), path(&scene, "key.png"));
    std::fs::write(&text, format!("KEY={KEY}\n")).unwrap();
    std::fs::write(&image, [PNG, KEY.as_bytes()].concat()).unwrap();
    let output = scene.ibeam(["-p", "look", "--file", &text, "--image", &image]).run().succeeded();
    let id = output.stream().events[0]["session_id"].as_str().unwrap().to_owned();
    let (request, recorded) = (messages(&scene, 0), json!(journal(&scene, &id)).to_string());
    for text in [&request, &recorded] {
        assert!(text.contains("KEY=***") && !text.contains(KEY), "{text}");
        assert!(text.contains("contains a secret") && !text.contains("iVBO"), "{text}");
    }
}

#[test]
fn the_read_tool_names_images_for_models_that_cannot_see() {
    let read = answer_call("t1", "read", &json!({ "path": "a.png" }));
    let scene = Scene::new([read, answer_text("done")]).with_workspace(workspace());
    let output = scene.ibeam(["-p", "read a.png"]).args(BLIND).run().succeeded();
    let results: Vec<Value> =
        output.stream().events.into_iter().filter(|it| it["subtype"] == "completed").collect();
    assert!(results[0].to_string().contains("images cannot be shown to the model here"), "{}", results[0]);
}
