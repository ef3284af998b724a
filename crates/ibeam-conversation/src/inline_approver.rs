//! Asks the person on the inline screen about calls that no rule decides.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use ibeam_core::ApprovalRequest;
use ibeam_output::Catalogue;
use ibeam_tui::{Color, Line, Question, Reply, Style};
use tokio::sync::oneshot;

use super::inline_screen::InlineScreen;
use super::person_approver::{PersonQuestion, Questioner};
use super::{background_note, change_of, subject_of};

/// The questions on the inline screen.
pub(super) struct InlineQuestioner {
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) screen: Arc<InlineScreen>,
}

/// Removes the question when nobody waits for its answer.
struct OpenQuestion<'a>(&'a InlineScreen);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.with(|ui| drop(ui.withdraw_question(Instant::now())));
    }
}

impl Questioner for InlineQuestioner {
    fn ask<'a>(&'a self, question: PersonQuestion<'a>) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let PersonQuestion { call, access, request, lasting } = question;
            let ApprovalRequest { rule: cause, reason, diff } = request;
            let cause = self.catalogue.question_cause(cause, reason);
            let mut body = vec![Line::new(Style::color(Color::Yellow), &cause)];
            let subject = subject_of(call, access);
            body.extend(subject.lines().map(|line| Line::new(Style::BOLD, &format!("  {line}"))));
            let note = background_note(&self.catalogue, call);
            body.extend(note.map(|note| Line::new(Style::DIM, &format!("  {note}"))));
            let change = change_of(call, access, diff);
            let (sender, receiver) = oneshot::channel();
            let reply = Box::new(move |reply| {
                // The call may have been stopped meanwhile.
                let _ = sender.send(reply);
            });
            let question = Question { call: call.id.clone(), body, change, lasting, reply };
            let _open = OpenQuestion(&self.screen);
            self.screen.with(|ui| drop(ui.ask(question, Instant::now())));
            receiver.await.unwrap_or(Reply::Refuse)
        })
    }

    fn print(&self, is_good: bool, text: &str) {
        let color = if is_good { Color::Green } else { Color::Red };
        self.screen.print(Style::color(color), text);
    }

    fn send(&self, message: String) {
        self.screen.with(|ui| ui.push_prompt(message, true));
    }
}
