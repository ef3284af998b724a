//! Counts the instructions of starts, runs, turns and deltas. Counts vary less between runs than times.
//!
//! Valgrind counts the instructions of all processes, without those of the kernel. Valgrind does not support the sandbox,
//! so the runs have no sandbox.

use std::fs;
use std::path::Path;

use ibeam_testkit::{Answer, Ibeam, ModelServer, Workspace};
use serde_json::json;

use super::measured_run::{Figure, SizeError, run_successfully, shortest_answer, shortest_run};
use crate::callgrind::TIMEOUT;

/// The numbers of deltas in the shorter and the longer answer.
const DELTAS: (u32, u32) = (1000, 3000);
/// The numbers of turns in the shorter and the longer session.
const TURNS: (u32, u32) = (10, 100);

/// Measures every figure of `program`. A limit is 3 % more than the figure when it was set; that of a
/// delta that comes alone 6 %, because it depends on how often the program waits.
pub(super) fn measure(program: &Path) -> Result<Vec<Figure>, SizeError> {
    let figure = |what, measured, limit| Figure { what, measured, limit };
    let per_unit = |(few, many): (u32, u32), run: &dyn Fn(u32) -> Result<u64, SizeError>| {
        let (fewer, more) = (run(few)?, run(many)?);
        Ok::<_, SizeError>((more.saturating_sub(fewer) / u64::from(many - few), more))
    };
    let (read, _) =
        per_unit(TURNS, &|turns| count_conversation(program, answers_of_turns(turns, read_call)))?;
    let (command, session) =
        per_unit(TURNS, &|turns| count_conversation(program, answers_of_turns(turns, shell_call)))?;
    let (single, _) = per_unit(DELTAS, &|deltas| count_conversation(program, [delta_per_chunk(deltas)]))?;
    let (joined, _) = per_unit(DELTAS, &|deltas| count_conversation(program, [deltas_in_one_chunk(deltas)]))?;
    Ok(vec![
        figure("`--version`, instructions", count_version(program)?, 1_690_000),
        figure(
            "a prompt and its answer, instructions",
            count_conversation(program, [shortest_answer()])?,
            6_150_000,
        ),
        figure("a turn that reads a file, instructions", read, 885_000),
        figure("a turn that runs a command, instructions", command, 1_070_000),
        figure("a session of 100 commands, instructions", session, 113_600_000),
        figure("a delta that comes alone, instructions", single, 18_000),
        figure("a delta among others, instructions", joined, 9_300),
    ])
}

/// Counts the instructions of `--version`.
fn count_version(program: &Path) -> Result<u64, SizeError> {
    let workspace = Workspace::new();
    count_instructions("`--version`", Ibeam::new(program, &workspace).args(["--version"]), &workspace)
}

/// Counts the instructions of a complete run with these answers, on loopback.
fn count_conversation(program: &Path, answers: impl IntoIterator<Item = Answer>) -> Result<u64, SizeError> {
    let lines = "some lines\n".repeat(40);
    let workspace =
        (0..TURNS.1).fold(Workspace::new(), |workspace, turn| workspace.file(&file_name(turn), &lines));
    let server = ModelServer::start(answers);
    let run = shortest_run(program, &workspace, &server).args(["--force", "--output-format", "stream-json"]);
    count_instructions("a run", run, &workspace)
}

fn answers_of_turns(turns: u32, call: fn(u32) -> Answer) -> Vec<Answer> {
    (0..turns).map(call).chain([shortest_answer()]).collect()
}

fn read_call(turn: u32) -> Answer {
    Answer::new().call(&format!("call_{turn}"), "read", &json!({ "path": file_name(turn) }))
}

fn shell_call(turn: u32) -> Answer {
    let command = format!("echo turn-{turn}");
    Answer::new().call(&format!("call_{turn}"), "shell", &json!({ "command": command }))
}

/// Returns an answer with each delta in its own chunk.
fn delta_per_chunk(deltas: u32) -> Answer {
    (0..deltas).map(delta_chunk).fold(Answer::new(), Answer::raw)
}

/// Returns an answer with all deltas in one chunk, as a slow reader receives them.
fn deltas_in_one_chunk(deltas: u32) -> Answer {
    Answer::new().raw((0..deltas).map(delta_chunk).collect::<String>())
}

/// Returns the event of one delta.
fn delta_chunk(delta: u32) -> String {
    let choice =
        json!({ "index": 0, "delta": { "content": format!("word {delta} ") }, "finish_reason": null });
    let chunk = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "mock-model", "choices": [choice] });
    format!("data: {chunk}\n\n")
}

fn file_name(turn: u32) -> String {
    format!("file-{turn}.txt")
}

/// Counts the instructions of a successful run. Each process writes its own log, so that no log is in a command's
/// output.
fn count_instructions(what: &'static str, run: Ibeam, workspace: &Workspace) -> Result<u64, SizeError> {
    let logs = workspace.outside().join("valgrind");
    fs::create_dir(&logs)?;
    let option = format!("--log-file={}/%p", logs.display());
    let valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes"];
    let output =
        run_successfully(what, run.through(valgrind.into_iter().chain([&*option])).timeout(TIMEOUT))?;
    let mut sum = 0;
    for log in fs::read_dir(&logs)? {
        let log = fs::read_to_string(log?.path())?;
        let counts = log.lines().filter_map(|line| line.rsplit_once("Collected :"));
        sum += counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum::<u64>();
    }
    if sum == 0 { Err(SizeError::Run { what, output: output.to_string() }) } else { Ok(sum) }
}
