//! Streams with several turns, and the lines of stdin that they answer.

use ibeam_wire::check::{Rule, check};
use ibeam_wire::{Delivery, Input, InputReader, MAX_INPUT_LINE_BYTES};

const SESSION: &str = "c6b62c6f-7ead-4fd6-9922-e952131177ff";

fn init(has_turns: bool) -> String {
    let input = if has_turns { r#","input":"stream-json""# } else { "" };
    format!(
        r#"{{"type":"system","subtype":"init","apiKeySource":"env","cwd":"/w","session_id":"{SESSION}","model":"M","permissionMode":"default","tools":["read"],"mcp_servers":[],"ibeam":{{"version":"0.1.0","contract":"1","api_key":"env","sandbox":{{"mode":"off","layers":[],"network":true,"reason":"none"}},"limits":{{"max_turns":100}}{input}}}}}"#
    )
}

fn user() -> String {
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"text","text":"hi"}}]}},"session_id":"{SESSION}"}}"#
    )
}

fn delta(text: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"{SESSION}","timestamp_ms":1}}"#
    )
}

const SUMMARY: &str = r#"{"turns":1,"api_ms":1,"permission_denials":[],"failed_tool_calls":0,"files_changed":[],"retries":0,"compactions":0,"tool_calls":0,"background_stopped":0"#;

fn result(text: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","duration_ms":1,"duration_api_ms":1,"is_error":false,"result":"{text}","session_id":"{SESSION}","ibeam":{SUMMARY},"final":"{text}"}}}}"#
    )
}

fn error(has_run: bool) -> String {
    let run = if has_run {
        format!(r#","session_id":"{SESSION}","ibeam":{SUMMARY}}},"resumable":true"#)
    } else {
        String::new()
    };
    format!(r#"{{"type":"error","code":"usage","message":"m","exit_code":2,"retryable":false{run}}}"#)
}

/// Returns the findings of a stream with these lines.
fn findings(lines: &[String]) -> Vec<(Rule, u64)> {
    let report = check((lines.join("\n") + "\n").as_bytes(), 9).unwrap();
    report.findings.iter().map(|finding| (finding.rule, finding.line)).collect()
}

#[test]
fn each_turn_of_a_stream_has_its_prompt_and_its_end() {
    let stream = [
        init(true),
        user(),
        delta("a"),
        // A steering message.
        user(),
        delta("b"),
        result("ab"),
        user(),
        error(true),
        user(),
        delta("c"),
        result("c"),
    ];
    assert_eq!(findings(&stream), []);
    let unreadable_input: Vec<String> = stream.iter().cloned().chain([error(false)]).collect();
    assert_eq!(findings(&unreadable_input), []);
}

#[test]
fn the_order_within_turns_is_checked() {
    let turn = [init(true), user(), delta("a"), result("a")];
    let after = |lines: &[String]| findings(&[&turn, lines].concat());
    assert_eq!(after(&[result("a")]), [(Rule::EndAgain, 5)]);
    assert_eq!(after(&[error(true)]), [(Rule::EndAgain, 5)]);
    assert_eq!(after(&[delta("b")]), [(Rule::LateOutput, 5)]);
    assert_eq!(after(&[init(true)]), [(Rule::InitAgain, 5)]);
    assert_eq!(after(&[user()]), [(Rule::NoEnd, 6)]);
    assert_eq!(after(&[user(), delta("b"), result("ab")]), [(Rule::ResultDiffers, 7)]);
    assert_eq!(after(&[error(false), user()]), [(Rule::LateOutput, 6)]);
}

#[test]
fn a_stream_without_input_has_one_turn() {
    let turn = [init(false), user(), delta("a"), user(), result("a"), user()];
    assert_eq!(findings(&turn), [(Rule::UserAgain, 4), (Rule::LateOutput, 6)]);
}

#[test]
fn the_finding_about_a_second_run_names_the_command_for_one_run() {
    let run = [init(false), user(), delta("a"), result("a")];
    let lines = [run.clone(), run].concat().join("\n") + "\n";
    let report = check(lines.as_bytes(), 9).unwrap();
    let finding = &report.findings[0];
    assert_eq!((finding.rule, finding.line), (Rule::LateOutput, 5));
    assert!(finding.message.contains("`ibeam replay SESSION --run N"), "{}", finding.message);
}

#[test]
fn messages_are_read_with_their_delivery() {
    let steer =
        user().replace("\"session_id\"", "\"ibeam\":{\"delivery\":\"steer\"},\"uuid\":1,\"session_id\"");
    let lines = format!("\n{}\r\n{{\"type\":\"interrupt\"}}\n{steer}", user());
    let inputs: Vec<Input> = InputReader::new(lines.as_bytes()).collect::<Result<_, _>>().unwrap();
    let [Input::Message(first), Input::Interrupt, Input::Message(second)] = &inputs[..] else {
        panic!("{inputs:?}")
    };
    assert_eq!((first.message.content[0].text.as_deref(), first.delivery()), (Some("hi"), Delivery::Queue));
    assert_eq!(second.delivery(), Delivery::Steer);
}

#[test]
fn a_string_is_a_block_of_text() {
    let message = |content: &str| {
        format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":{content}}}}}")
    };
    let read = |line: &str| InputReader::new(line.as_bytes()).next().unwrap();
    assert_eq!(
        read(&message("\"do \\n it\"")).unwrap(),
        read(&message("[{\"type\":\"text\",\"text\":\"do \\n it\"}]")).unwrap()
    );
    assert_eq!(read(&message("\" \"")).unwrap_err().to_string(), "line 1: the message has no text");
    let number = read(&message("1")).unwrap_err().to_string();
    assert!(number.ends_with("`message.content` should be a string or a list, and is a number"), "{number}");
}

#[test]
fn the_reader_ends_at_the_first_line_that_is_not_a_message() {
    let read = |bytes: &[u8]| {
        let mut reader = InputReader::new(bytes);
        let first = reader.find_map(Result::err).unwrap().to_string();
        assert!(reader.next().is_none());
        first
    };
    let message = user();
    assert_eq!(
        read(format!("{message}\n\n{{\"a\"\n{message}").as_bytes()),
        "line 3: column 4: not JSON: EOF while parsing an object"
    );
    assert_eq!(read(b"{\"type\":\"\xff\"}"), "line 1: column 10: not UTF-8");
    assert_eq!(read(b"{\"type\":\"user\"}"), "line 1: column 1: `message` is missing");
    assert_eq!(read(b"{}"), "line 1: `type` is missing; use `user` or `interrupt`");
}

/// The rest of the line, which may never end, is not read.
#[test]
fn a_line_without_an_end_is_an_error_at_the_limit() {
    let endless = std::io::BufReader::with_capacity(1 << 20, std::io::repeat(b' '));
    let error = InputReader::new(endless).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), format!("line 1: it is longer than {} MiB", MAX_INPUT_LINE_BYTES >> 20));
}

/// Other programs do not state in their `init` that the prompts come from stdin.
#[test]
fn a_stream_of_another_program_may_have_several_turns() {
    let init = init(false);
    let init = format!("{}}}", init.split_once(",\"ibeam\"").unwrap().0);
    let end = |text: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","duration_ms":1,"duration_api_ms":1,"is_error":false,"result":"{text}","session_id":"{SESSION}"}}"#
        )
    };
    let stream = [init, user(), delta("a"), end("a"), user(), delta("b"), end("b")];
    assert_eq!(findings(&stream), []);
    let late = [&stream[..4], &[delta("b"), end("b")]].concat();
    assert_eq!(findings(&late)[0], (Rule::LateOutput, 5));
}

#[test]
fn the_prompt_with_files_of_another_stream_is_no_message() {
    let files = r#"{"attachments":[{"name":"a.png","media_type":"image/png"}]}"#;
    let user = format!("{},\"ibeam\":{files}}}", user().strip_suffix('}').unwrap());
    let stream = [init(false), user.clone(), delta("a"), result("a")];
    assert_eq!(findings(&stream), []);
    let error = InputReader::new(user.as_bytes()).next().unwrap().unwrap_err();
    assert!(error.to_string().contains("`ibeam.attachments` has only the names of files"), "{error}");
}
