//! The messages that a program writes to stdin, while they wait for their turns.
//!
//! The thread that reads stdin adds messages, and the driver of the runs takes them. Messages get their turns in the
//! order of their arrival. Only a steering message may leave the queue earlier, for the turn that is running.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ibeam_core::{Steering, Stop};
use ibeam_protocol::{Attachment, Reason, Signal, UserPrompt};
use ibeam_wire::Delivery;
use tokio::sync::Notify;

/// The number of waiting messages from which on [`MessageQueue::wait_for_room`] waits.
const MAX_WAITING: usize = 1024;
/// The bytes of waiting messages from which on [`MessageQueue::wait_for_room`] waits.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// A message, whose turn can be stopped before it starts.
pub struct QueuedMessage {
    pub prompt: UserPrompt,
    pub(crate) stop: Stop,
    delivery: Delivery,
    /// The reason why there is no prompt. Such a message has no turn.
    pub unread: Option<UnreadMessage>,
}

/// A message that could not be read.
#[derive(Clone, Debug, PartialEq)]
pub struct UnreadMessage {
    pub reason: Reason,
    /// Whether it is a prompt, so that the program waits for an answer.
    pub is_prompt: bool,
}

/// The messages that wait, and the turn that runs.
#[derive(Default)]
pub struct MessageQueue {
    state: Mutex<QueueState>,
    /// Notified when a message has arrived, or when stdin has ended.
    arrived: Notify,
    /// Notified when a message has left the queue.
    taken: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<QueuedMessage>,
    bytes: usize,
    /// The stop of the turn that is running.
    running: Option<Stop>,
    /// Set once stdin has ended or failed.
    end: Option<Result<(), Reason>>,
}

impl MessageQueue {
    /// Adds a message.
    pub fn push(&self, prompt: UserPrompt, delivery: Delivery) {
        let mut state = self.lock();
        state.bytes += size_of_prompt(&prompt);
        let stop = Stop::default();
        state.waiting.push_back(QueuedMessage { prompt, stop, delivery, unread: None });
        self.arrived.notify_one();
    }

    /// Adds a message that could not be read.
    pub fn push_unread(&self, unread: UnreadMessage) {
        let (prompt, stop) = (UserPrompt::default(), Stop::default());
        let message = QueuedMessage { prompt, stop, delivery: Delivery::Queue, unread: Some(unread) };
        self.lock().waiting.push_back(message);
        self.arrived.notify_one();
    }

    /// Waits until few messages wait, so that a program that writes faster than the turns end has to wait too.
    pub fn wait_for_room(&self) {
        let is_full =
            |state: &mut QueueState| state.waiting.len() >= MAX_WAITING || state.bytes >= MAX_WAITING_BYTES;
        drop(self.taken.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner));
    }

    /// Records that no message follows, or the reason why the next message cannot be read.
    pub fn end(&self, end: Result<(), Reason>) {
        self.lock().end.get_or_insert(end);
        self.arrived.notify_one();
    }

    /// Returns the message of the next turn, which counts as running from here on; `None` after the last. Cancel safe.
    ///
    /// # Errors
    /// The reason why the next message cannot be read.
    pub async fn next(&self) -> Result<Option<QueuedMessage>, Reason> {
        loop {
            if let Some(next) = self.take_next() {
                return next;
            }
            self.arrived.notified().await;
        }
    }

    fn take_next(&self) -> Option<Result<Option<QueuedMessage>, Reason>> {
        let mut state = self.lock();
        match state.take(0) {
            Some(message) => {
                state.running = Some(message.stop.clone());
                self.taken.notify_all();
                Some(Ok(Some(message)))
            }
            None => state.end.clone().map(|end| end.map(|()| None)),
        }
    }

    /// Records the end of the running turn. The steering messages that came too late for it get turns of their own.
    pub fn finish_turn(&self) {
        let mut state = self.lock();
        state.running = None;
        state.waiting.iter_mut().for_each(|message| message.delivery = Delivery::Queue);
    }

    /// Ends the running turn, or else the turn of the first waiting message as soon as it starts. Returns whether there is
    /// one.
    pub fn interrupt(&self) -> bool {
        let state = self.lock();
        let waiting = state.waiting.iter().find(|message| message.unread.is_none());
        let Some(stop) = state.running.as_ref().or(waiting.map(|message| &message.stop)) else {
            return false;
        };
        stop.request(Reason::Signalled(Signal::Int));
        true
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn take(&mut self, index: usize) -> Option<QueuedMessage> {
        let message = self.waiting.remove(index)?;
        self.bytes = self.bytes.saturating_sub(size_of_prompt(&message.prompt));
        Some(message)
    }
}

impl Steering for MessageQueue {
    fn next_message(&self) -> Option<UserPrompt> {
        let mut state = self.lock();
        let index = state.waiting.iter().position(|message| message.delivery == Delivery::Steer)?;
        let message = state.take(index)?;
        self.taken.notify_all();
        Some(message.prompt)
    }
}

fn size_of_prompt(UserPrompt { texts, attachments }: &UserPrompt) -> usize {
    let attached = attachments.iter().map(|attachment| match attachment {
        Attachment::Text { text, .. } => text.len(),
        Attachment::Media(media) => media.data.len(),
    });
    texts.iter().map(String::len).chain(attached).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn prompt(text: &str) -> UserPrompt {
        vec![text.to_owned()].into()
    }

    fn queue(messages: &[(&str, Delivery)]) -> MessageQueue {
        let queue = MessageQueue::default();
        messages.iter().for_each(|(text, delivery)| queue.push(prompt(text), *delivery));
        queue
    }

    fn next(queue: &MessageQueue) -> Option<String> {
        queue.take_next().unwrap().unwrap().map(|message| message.prompt.texts.concat())
    }

    #[test]
    fn messages_get_their_turns_in_order_until_stdin_ends() {
        let queue = queue(&[("a", Delivery::Queue), ("b", Delivery::Queue)]);
        queue.end(Ok(()));
        assert_eq!((next(&queue).unwrap(), next(&queue).unwrap()), ("a".to_owned(), "b".to_owned()));
        assert_eq!(next(&queue), None);
    }

    #[test]
    fn an_unreadable_line_comes_after_the_messages_before_it() {
        let queue = queue(&[("a", Delivery::Queue)]);
        queue.end(Err(Reason::EmptyPrompt));
        queue.end(Ok(()));
        assert_eq!(next(&queue).unwrap(), "a");
        assert_eq!(queue.take_next().unwrap().err(), Some(Reason::EmptyPrompt));
    }

    #[test]
    fn a_steering_message_joins_the_running_turn_or_gets_its_own() {
        let queue = queue(&[("a", Delivery::Queue), ("b", Delivery::Queue), ("now", Delivery::Steer)]);
        next(&queue);
        assert_eq!(queue.next_message(), Some(prompt("now")));
        assert_eq!(queue.next_message(), None);
        queue.push(prompt("late"), Delivery::Steer);
        queue.finish_turn();
        assert_eq!((next(&queue).unwrap(), queue.next_message()), ("b".to_owned(), None));
        assert_eq!(next(&queue).unwrap(), "late");
    }

    #[test]
    fn an_interrupt_ends_the_running_turn_or_the_next_one() {
        let interrupted = |message: &QueuedMessage| message.stop.reason().is_some();
        let queue = queue(&[("a", Delivery::Queue), ("b", Delivery::Queue)]);
        let first = queue.take_next().unwrap().unwrap().unwrap();
        queue.interrupt();
        queue.finish_turn();
        assert!(interrupted(&first) && !interrupted(queue.lock().waiting.front().unwrap()));
        queue.interrupt();
        assert!(interrupted(&queue.take_next().unwrap().unwrap().unwrap()));
        queue.finish_turn();
        queue.interrupt();
    }

    #[test]
    fn a_full_queue_makes_the_reader_wait() {
        let text = "x".repeat(MAX_WAITING_BYTES);
        let queue = Arc::new(queue(&[(text.as_str(), Delivery::Queue)]));
        let reader = thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.wait_for_room()
        });
        assert!(!reader.is_finished());
        next(&queue);
        reader.join().unwrap();
    }
}
