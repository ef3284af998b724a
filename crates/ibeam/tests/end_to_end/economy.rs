//! What a run costs in counts, which repeat where seconds do not: connections, bytes sent, what is sent again.

use ibeam_testkit::{Answer, Wire};
use serde_json::json;

use crate::scene::{Scene, WIRES, answer_text};

const TURNS: usize = 20;
/// Bytes of the first request with all tools on the wire that most services speak.
const FIRST_REQUEST: usize = 6 << 10;
/// Bytes by which a request grows for a shell call with eight bytes of output.
const TURN: usize = 240;

fn scene(wire: Wire) -> Scene {
    let command = |turn| json!({ "command": format!("echo turn-{turn:02}") });
    let call = |turn| Answer::new().call(&format!("call_{turn:02}"), "shell", &command(turn));
    Scene::with_wire(wire, (0..TURNS).map(call).chain([answer_text("All turns are done.")]))
}

#[test]
fn a_run_has_one_connection_whatever_its_turns() {
    for wire in WIRES {
        let scene = scene(wire);
        scene.print(["--force"]).run().succeeded();
        scene.server.assert_played();
        assert_eq!(scene.server.connections(), 1, "{wire:?}");
    }
}

#[test]
fn requests_are_small_and_grow_by_what_is_new() {
    let scene = scene(Wire::OpenAi);
    scene.print(["--force"]).run().succeeded();
    let sizes: Vec<usize> =
        scene.server.requests().iter().map(|request| request.body.to_string().len()).collect();
    let growth = (sizes[TURNS] - sizes[0]) / TURNS;
    assert!(sizes[0] <= FIRST_REQUEST, "the first request has {} bytes", sizes[0]);
    assert!(growth <= TURN, "each turn adds {growth} bytes");
}

/// A provider that keeps what it has read pays for new text alone.
#[test]
fn a_request_begins_with_the_one_before() {
    let scene = scene(Wire::OpenAi);
    scene.print(["--force"]).run().succeeded();
    for pair in scene.server.requests().windows(2) {
        let [before, after] = [&pair[0], &pair[1]];
        assert_eq!(before.body["tools"].to_string(), after.body["tools"].to_string());
        let [before, after] = [before.body["messages"].to_string(), after.body["messages"].to_string()];
        let begun = before.strip_suffix(']').unwrap();
        assert!(after.starts_with(begun), "{after}\ndoes not begin with\n{begun}");
    }
}
