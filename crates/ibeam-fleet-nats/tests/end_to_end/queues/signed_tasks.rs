//! Workers that execute only tasks with the signature of their submitter.

use super::worker_keys::SEED;
use super::*;

/// The public key of [`SEED`].
const PUBLIC: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

#[test]
fn a_task_without_the_signature_of_its_submitter_is_parked_and_runs_once_it_is_signed() {
    let Some(server) = Server::start() else { return };
    let scene = Scene::new([answer_text("done")])
        .with_workspace(ibeam_testkit::Workspace::new().file("a.txt", "a\n"));
    let key = scene.workspace.outside().join("submitter.nk");
    fs::write(&key, format!("{SEED}\n")).unwrap();
    let file = task_file(&scene, &[task(&scene, "a")]);
    let submit = |flags: &[&str]| submitter_with(&scene, &file, &server, flags);
    let key = ["--queue-nkey", key.to_str().unwrap()];
    let unsigned = submit(&[]);
    let flags = ["--force", "--until-drained", "--submitter-key", PUBLIC];
    let worker = worker(&scene, "w1", &server, &flags).finish();
    assert_eq!(worker.code, Some(75), "{worker}");
    assert!(worker.stderr.contains("the limits of the fleet are not signed"), "{worker}");
    unsigned.signal(ibeam_protocol::Signal::Int);
    assert_eq!(unsigned.finish().code, Some(130));
    let signer = submit(&key);
    let output = super::worker(&scene, "w1", &server, &flags).finish().succeeded();
    assert!(output.stdout.contains("\"passed\""), "{output}");
    let output = signer.finish();
    assert_eq!(results(&output)["a"]["outcome"], "passed", "{output}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn an_invalid_submitter_key_is_refused() {
    let scene = Scene::new([]);
    let directory = scene.workspace.outside().join("w1");
    let args = ["fleet", "worker", "--queue", "nats://127.0.0.1:1/f", "--dir", directory.to_str().unwrap()];
    let output = scene.ibeam(args.into_iter().chain(["--submitter-key", SEED])).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("the public nkey of a user"), "{output}");
    assert!(!output.stderr.contains(SEED), "a seed that was given by mistake is not repeated: {output}");
}
