//! A program that embeds the agent: it adds a tool of its own, and decides on calls itself.
//!
//! `cargo run --manifest-path examples/embedded-agent/Cargo.toml -- "What is ticket 7 about?"`

use std::error::Error;
use std::io::Write;

use ibeam_agent::{Agent, Approval, EventKind, HostTool, RunOptions, ToolCall};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "What is ticket 7 about?".to_owned());
    let options = RunOptions { max_turns: Some(20), ..RunOptions::default() };
    let agent = Agent::new(options).with_tool(tickets()).with_approval(decide);

    let mut session = agent.open()?;
    let mut turn = session.prompt(prompt);
    for event in turn.by_ref() {
        match event.kind {
            EventKind::TextDelta { text } => print!("{text}"),
            EventKind::ToolCallStarted { call, .. } => eprintln!("> {} {}", call.name, call.arguments),
            _ => {}
        }
        std::io::stdout().flush()?;
    }
    let answer = turn.finish()?;
    println!();
    eprintln!("{} model requests, session {}", answer.run.totals.turns, session.id());
    session.close()?;
    Ok(())
}

/// A tool that looks up a ticket. A real one would ask a server.
fn tickets() -> HostTool {
    let schema = json!({
        "type": "object",
        "properties": { "number": { "type": "integer", "description": "The number of the ticket" } },
        "required": ["number"],
    });
    HostTool::new("ticket", "Returns the text of a ticket.", schema, |arguments: &Value| {
        match arguments["number"].as_u64() {
            Some(7) => Ok("The door squeaks when it rains.".to_owned()),
            Some(number) => Err(format!("there is no ticket {number}")),
            None => Err("`number` is missing".to_owned()),
        }
    })
}

/// Decides on a call that no rule allows or denies.
fn decide(call: &ToolCall, reason: &str) -> Approval {
    match call.name.as_str() {
        "ticket" => Approval::Granted,
        _ => Approval::Refused(Some(format!("this program allows only `ticket` ({reason})"))),
    }
}
