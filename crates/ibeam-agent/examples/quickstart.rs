//! Runs a prompt, answers questions about calls, and resumes the session.

use ibeam_agent::{Agent, Approval, EventKind, RunOptions, SessionTarget};

#[expect(clippy::print_stdout, reason = "an example shows what it gets")]
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = RunOptions { approval: Some("strict".to_owned()), ..RunOptions::default() };
    let agent = Agent::new(options).with_approval(|call, _reason| match call.name.as_str() {
        "shell" => Approval::Granted,
        _ => Approval::Refused(Some("only commands are allowed".to_owned())),
    });
    let mut session = agent.open()?;
    let mut turn = session.prompt("Which tests fail?");
    for event in turn.by_ref() {
        if let EventKind::TextDelta { text } = event.kind {
            print!("{text}");
        }
    }
    println!("\n{} requests", turn.finish()?.run.totals.turns);
    let id = session.id().to_string();
    session.close()?;

    // Later, perhaps in another process:
    let options = RunOptions { session: SessionTarget::Named(id), ..RunOptions::default() };
    let answer = Agent::new(options).open()?.prompt("Fix the first one.").finish()?;
    println!("{}", answer.text);
    Ok(())
}
