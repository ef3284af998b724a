use super::*;
use crate::dialect::Input;

/// What stdout gets.
#[derive(Clone, Default)]
pub(super) struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn events(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn writer(dialect: DialectName, output: Output) -> (DialectWriter, Paper) {
    writer_with(|options| (options.dialect, options.output) = (dialect, output))
}

pub(super) fn writer_with(change: impl FnOnce(&mut DialectOptions)) -> (DialectWriter, Paper) {
    let paper = Paper::default();
    let mut options = DialectOptions {
        dialect: DialectName::Claude,
        output: Output::Stream,
        input: Input::Messages,
        echo_prompts: false,
        partial_messages: false,
        ask_host: true,
        new_session: false,
        codex: Default::default(),
        ignored_arguments: Vec::new(),
        claude: Default::default(),
    };
    change(&mut options);
    (DialectWriter::new(options, paper.clone()), paper)
}

const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

/// A run that says hello, as contract 1 has it.
fn run() -> String {
    let lines = [
        r#"{"type":"system","subtype":"init","apiKeySource":"env","cwd":"/w","session_id":"SESSION","model":"M","permissionMode":"default"}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"greet"}]},"session_id":"SESSION"}"#,
        r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Hel"}]},"session_id":"SESSION"}"#,
        r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"lo"}]},"session_id":"SESSION"}"#,
        r#"{"type":"result","subtype":"success","duration_ms":5,"duration_api_ms":5,"is_error":false,"result":"Hello","session_id":"SESSION"}"#,
    ];
    lines.iter().map(|line| line.replace("SESSION", SESSION) + "\n").collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn a_run_is_told_line_by_line_however_the_bytes_come() {
    for size in [1, 7, 64, 100_000] {
        let (mut writer, paper) = writer(DialectName::Claude, Output::Stream);
        for piece in run().as_bytes().chunks(size) {
            writer.write_all(piece).unwrap();
        }
        let events = paper.events();
        assert_eq!(kinds(&events), ["system", "assistant", "result"], "{size}");
        assert_eq!(events[2]["result"], "Hello");
    }
}

#[test]
fn what_is_finished_is_not_held_back() {
    let (mut writer, paper) = writer(DialectName::Codex, Output::Stream);
    let run = run();
    let (init, rest) = run.split_once('\n').unwrap();
    writer.write_all(format!("{init}\n").as_bytes()).unwrap();
    assert_eq!(kinds(&paper.events())[0], "thread.started");
    writer.write_all(rest.as_bytes()).unwrap();
    assert_eq!(*kinds(&paper.events()).last().unwrap(), "turn.completed");
}

#[test]
fn pieces_of_a_text_come_before_the_whole() {
    let (whole, paper) = writer(DialectName::Claude, Output::Stream);
    let mut writer = DialectWriter::new(
        DialectOptions { partial_messages: true, ..whole.options().clone() },
        paper.clone(),
    );
    writer.write_all(run().as_bytes()).unwrap();
    let events = paper.events();
    let streamed: Vec<&Value> = events.iter().filter(|event| event["type"] == "stream_event").collect();
    let kinds: Vec<&str> = streamed.iter().map(|event| event["event"]["type"].as_str().unwrap()).collect();
    let (start, delta, end) = ("content_block_start", "content_block_delta", "content_block_stop");
    assert_eq!(kinds, ["message_start", start, delta, delta, end, "message_delta", "message_stop"]);
    let said: String = streamed.iter().filter_map(|event| event["event"]["delta"]["text"].as_str()).collect();
    assert_eq!(said, "Hello");
    assert!(streamed.iter().all(|event| event["session_id"] == SESSION), "{events:?}");
    let last: Vec<&str> = super::tests::kinds(&events).into_iter().rev().take(2).collect();
    assert_eq!(last, ["result", "assistant"]);
}

#[test]
fn one_voice_tells_many_runs() {
    let (mut writer, paper) = writer(DialectName::Claude, Output::Stream);
    for _ in 0..2 {
        writer.start_run();
        writer.write_all(run().as_bytes()).unwrap();
    }
    assert_eq!(kinds(&paper.events()), ["system", "assistant", "result", "system", "assistant", "result"]);
}

#[test]
fn the_other_shapes_speak_at_the_end() {
    for (output, expect) in [(Output::FinalMessage, "Hello\n"), (Output::LastLine, r#"{"type":"result""#)] {
        let (mut writer, paper) = writer(DialectName::Claude, output);
        writer.write_all(run().as_bytes()).unwrap();
        let said = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert!(said.starts_with(expect) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn the_answer_alone_is_the_final_message() {
    let call = r#"{"type":"tool_call","subtype":"started","call_id":"c1","tool_call":{"shellToolCall":{"args":{"command":"ls","workingDirectory":"/w","timeout":1000,"toolCallId":"c1"}}},"session_id":"SESSION","model_call_id":"m1","timestamp_ms":1}"#;
    let run: Vec<String> = run().lines().map(str::to_owned).collect();
    let before = run[2].replace("Hel", "I look. ");
    for (lines, expect) in [
        (vec![&run[0], &run[1], &before, &call.to_owned(), &run[2], &run[3], &run[4]], "Hello\n"),
        (vec![&run[0], &run[1], &before, &call.to_owned(), &run[4]], "I look. \n"),
        (vec![&run[0], &run[1], &call.to_owned(), &run[4]], ""),
    ] {
        let (mut writer, paper) = writer(DialectName::Codex, Output::FinalMessage);
        for line in lines {
            writer.write_all(format!("{}\n", line.replace("SESSION", SESSION)).as_bytes()).unwrap();
        }
        assert_eq!(String::from_utf8(paper.0.lock().unwrap().clone()).unwrap(), expect);
    }
}

#[test]
fn a_failure_is_told_once_and_before_a_run_too() {
    let failed = || CliError::from(ibeam_protocol::Reason::EmptyPrompt);
    for (dialect, last) in [(DialectName::Claude, "result"), (DialectName::Codex, "turn.failed")] {
        let (writer, paper) = writer(dialect, Output::Stream);
        writer.write_failure(&failed());
        writer.write_failure(&failed());
        let events = paper.events();
        let ends = kinds(&events).into_iter().filter(|kind| *kind == last).count();
        assert_eq!((ends, kinds(&events).last().copied()), (1, Some(last)), "{events:?}");
    }
}

#[test]
fn calls_are_remembered_as_they_were_told() {
    let (mut writer, _paper) = writer(DialectName::Claude, Output::Stream);
    let call = r#"{"type":"tool_call","subtype":"started","call_id":"c1","tool_call":{"shellToolCall":{"args":{"command":"ls","workingDirectory":"/w","timeout":1000,"toolCallId":"c1"}}},"session_id":"SESSION","model_call_id":"m1","timestamp_ms":1}"#;
    let lines: Vec<String> = run().lines().take(2).map(str::to_owned).collect();
    writer
        .write_all(format!("{}\n{}\n", lines.join("\n"), call.replace("SESSION", SESSION)).as_bytes())
        .unwrap();
    let (name, input) = writer.reported_call("c1").unwrap();
    assert_eq!((name.as_str(), &input["command"]), ("Bash", &Value::from("ls")));
}
