//! Records a session of many turns in the home directory of a workspace, in the form of a run.

use ibeam_protocol::tool_output::ReadOutput;
use ibeam_protocol::*;
use ibeam_session::{Session, SessionOptions};
use ibeam_testkit::Workspace;
use serde_json::json;

/// Records the session of a run with `turns` turns, each a call that reads 300 bytes. Returns its id.
pub(crate) fn record(workspace: &Workspace, turns: usize) -> SessionId {
    let id = SessionId::random();
    let sessions = workspace.home().join(".local/share/ibeam/sessions");
    let mut session = Session::create(&sessions, id, workspace.path(), &SessionOptions::default()).unwrap();
    let mut seq = 0;
    let mut append = |kind: EventKind| {
        session.append(&Event { seq, at_ms: seq, kind }).unwrap();
        seq += 1;
        if seq % 1000 == 0 {
            session.flush().unwrap();
        }
    };
    append(EventKind::RunStarted(Box::new(RunStarted {
        session_id: id,
        cwd: workspace.path().to_owned(),
        model: ModelInfo { provider: "p".to_owned(), id: "m".to_owned(), display: "M".to_owned() },
        key_source: KeySource::Env,
        permission_mode: PermissionMode::Force,
        tools: vec!["read".to_owned()],
        mcp_servers: Vec::new(),
        sandbox: Sandbox::default(),
        version: "0".to_owned(),
        limits: Limits::NONE,
        resumed: false,
        continues: false,
        message_turn: 0,
        journal_gaps: 0,
        parent: None,
        ephemeral: false,
        environment: None,
    })));
    append(EventKind::UserMessage { content: vec!["read all files".to_owned()], attachments: Vec::new() });
    for turn in 0..turns {
        let model_call_id = ModelCallId(format!("m{turn}"));
        let arguments = json!({ "path": format!("file-{turn}.txt") });
        let call = ToolCall { id: CallId(format!("t{turn}")), name: "read".to_owned(), arguments };
        let text = format!("Now file {turn}. ");
        let blocks = vec![Block::Text(text.clone()), Block::ToolCall(call.clone())];
        let answer =
            Answer { blocks, stop: StopReason::ToolUse, refusal: None, usage: None, request_id: None };
        append(EventKind::TextDelta { text });
        let model_call = model_call_id.clone();
        append(EventKind::ModelRequestFinished {
            model_call_id: model_call,
            answer: Box::new(answer),
            api_ms: 1,
            cost_micros: None,
            costs: None,
            prefix: None,
        });
        append(EventKind::ToolCallStarted { model_call_id: model_call_id.clone(), call: call.clone() });
        let content = format!("{turn} ").repeat(300 / format!("{turn} ").len());
        let output = ToolOutput::Read(ReadOutput {
            media: Vec::new(),
            is_empty: false,
            exceeded_limit: false,
            total_lines: 1,
            total_chars: content.len() as u64,
            content: content.clone(),
        });
        let outcome = ToolOutcome::Success { output, for_model: content.into() };
        append(EventKind::ToolCallFinished { model_call_id, call, outcome: Box::new(outcome) });
    }
    append(EventKind::RunFinished(Box::new(RunFinished {
        session_id: id,
        outcome: RunOutcome::Completed,
        duration_ms: turns as u64,
        totals: RunTotals::default(),
        partial: None,
        structured: None,
        ephemeral: false,
    })));
    session.sync_to_disk().unwrap();
    id
}
