//! Answers to the requests of a server: a person answers its questions (elicitation) where one can be asked, else the
//! configured policy. The time limit of a call does not run while a person is asked.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_json_rpc::RpcError;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::elicitation::{ELICITATION, Elicitation};

/// The number of questions of one server that are open at the same time. The policy answers further ones.
const MAX_OPEN_QUESTIONS: usize = 4;
/// The shortest time between two checks of a time limit.
const LIMIT_CHECK: Duration = Duration::from_millis(20);

/// Asks a person the questions of servers.
pub trait Questioner: fmt::Debug + Send + Sync {
    /// Returns the result of `elicitation/create` for the question `params` of a server; `None` if nobody can be asked.
    /// Dropping the future withdraws the question.
    fn ask<'a>(&'a self, server: &'a str, params: &'a Value) -> BoxFuture<'a, Option<Value>>;
}

/// The answers to the requests of one server. Clones share the open questions.
#[derive(Clone, Debug)]
pub(crate) struct ServerRequests {
    server: Arc<str>,
    policy: Elicitation,
    questioner: Option<Arc<dyn Questioner>>,
    permits: Arc<Semaphore>,
    time: Arc<QuestionTime>,
}

impl ServerRequests {
    /// Returns the answers for a server of this name.
    pub(crate) fn new(server: &str, policy: Elicitation, questioner: Option<Arc<dyn Questioner>>) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_OPEN_QUESTIONS));
        Self { server: server.into(), policy, questioner, permits, time: Arc::default() }
    }

    /// Whether the answer to a request may take as long as a person needs.
    pub(crate) fn may_ask(&self, method: &str) -> bool {
        self.questioner.is_some() && method == ELICITATION
    }

    /// Returns the answer to a request without asking anyone.
    ///
    /// # Errors
    /// The error for a method that the client does not have: sampling and roots.
    pub(crate) fn answer_by_policy(&self, method: &str, params: &Value) -> Result<Value, RpcError> {
        self.policy.answer_request(method, params)
    }

    /// Returns the answer to a request.
    ///
    /// # Errors
    /// As [`Self::answer_by_policy`].
    pub(crate) async fn answer(&self, method: &str, params: &Value) -> Result<Value, RpcError> {
        if let Some(questioner) = self.questioner.as_ref().filter(|_| method == ELICITATION)
            && let Ok(_permit) = self.permits.try_acquire()
        {
            let _open = self.time.start();
            if let Some(answer) = questioner.ask(&self.server, params).await {
                return Ok(answer);
            }
        }
        self.answer_by_policy(method, params)
    }

    /// Returns the result of `work`; `None` after `limit`, in which the time of open questions does not count.
    pub(crate) async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let (start, waited_before) = (Instant::now(), self.time.elapsed());
        let mut work = pin!(work);
        loop {
            let waited = self.time.elapsed().saturating_sub(waited_before);
            let left = limit.saturating_sub(start.elapsed().saturating_sub(waited));
            if left.is_zero() {
                return None;
            }
            tokio::select! {
                biased;
                result = &mut work => return Some(result),
                () = tokio::time::sleep(left.max(LIMIT_CHECK)) => {}
            }
        }
    }
}

/// The time during which questions were open.
#[derive(Debug, Default)]
struct QuestionTime(Mutex<QuestionCount>);

#[derive(Debug, Default)]
struct QuestionCount {
    open: usize,
    /// When the first of the open questions began.
    since: Option<Instant>,
    /// The time before that.
    total: Duration,
}

impl QuestionTime {
    /// Begins a question, which ends when the result is dropped.
    fn start(&self) -> OpenQuestion<'_> {
        let mut count = self.lock();
        count.open += 1;
        count.since.get_or_insert_with(Instant::now);
        OpenQuestion(self)
    }

    fn elapsed(&self) -> Duration {
        let count = self.lock();
        count.total + count.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, QuestionCount> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct OpenQuestion<'a>(&'a QuestionTime);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let mut count = self.0.lock();
        count.open = count.open.saturating_sub(1);
        if count.open == 0
            && let Some(since) = count.since.take()
        {
            count.total += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A person who accepts every question after a while.
    #[derive(Debug)]
    struct Slow(Duration);

    impl Questioner for Slow {
        fn ask<'a>(&'a self, server: &'a str, _: &'a Value) -> BoxFuture<'a, Option<Value>> {
            Box::pin(async move {
                tokio::time::sleep(self.0).await;
                Some(json!({ "action": "accept", "content": { "server": server } }))
            })
        }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(work)
    }

    #[test]
    fn a_person_answers_questions_and_nothing_else() {
        let person = Arc::new(Slow(Duration::ZERO));
        let requests = ServerRequests::new("s", Elicitation::Decline, Some(person));
        run(async {
            let accepted = json!({ "action": "accept", "content": { "server": "s" } });
            assert_eq!(requests.answer(ELICITATION, &json!({})).await.unwrap(), accepted);
            assert_eq!(requests.answer("ping", &json!({})).await.unwrap(), json!({}));
            assert!(requests.answer("sampling/createMessage", &json!({})).await.is_err());
        });
    }

    #[test]
    fn a_flood_of_questions_is_answered_by_the_policy() {
        let person = Arc::new(Slow(Duration::from_secs(60)));
        let requests = ServerRequests::new("s", Elicitation::Decline, Some(person));
        run(async {
            let (open, params) = (requests.permits.try_acquire_many(4).unwrap(), json!({}));
            let answer = requests.answer(ELICITATION, &params).await.unwrap();
            assert_eq!(answer, json!({ "action": "decline" }));
            drop(open);
        });
    }

    #[test]
    fn the_time_of_a_question_does_not_count() {
        let limit = Duration::from_millis(50);
        let person = Arc::new(Slow(4 * limit));
        let requests = ServerRequests::new("s", Elicitation::Decline, Some(person));
        run(async {
            let params = json!({});
            assert!(requests.within(limit, requests.answer(ELICITATION, &params)).await.is_some());
            assert!(requests.within(limit, tokio::time::sleep(4 * limit)).await.is_none());
        });
    }
}
