//! Two kinds of hooks that listen to one run, one behind the other.
//!
//! A refusal of the first ends the matter, and so do other arguments of it, which both are told of in turn. A question
//! of the first does not: the second may refuse what it asks for.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{Heard, Hooks, Moment, Objection, Word};

/// Hooks, and others behind them.
pub(crate) struct JoinedHooks {
    pub(crate) first: Arc<dyn Hooks>,
    pub(crate) second: Arc<dyn Hooks>,
}

impl Hooks for JoinedHooks {
    fn hear_ends(&self) -> bool {
        self.first.hear_ends() || self.second.hear_ends()
    }

    fn grace(&self) -> Duration {
        self.first.grace().max(self.second.grace())
    }

    fn tell<'a>(&'a self, moment: Moment<'a>) -> Option<BoxFuture<'a, Heard>> {
        match (self.first.tell(moment), self.second.tell(moment)) {
            (Some(first), Some(second)) => Some(Box::pin(joined(first, second))),
            (one, None) | (None, one) => one,
        }
    }
}

async fn joined(first: BoxFuture<'_, Heard>, second: BoxFuture<'_, Heard>) -> Heard {
    let mut heard = first.await;
    match &heard.word {
        Word::Object(Objection { unless_approved: false, .. }) | Word::Rewrite { .. } => return heard,
        Word::Object(Objection { unless_approved: true, .. }) | Word::Nothing => {}
    }
    let Heard { word, context, notices } = second.await;
    heard.context.extend(context);
    heard.notices.extend(notices);
    heard.word = match (heard.word, word) {
        (Word::Nothing, word) => word,
        // The first question counts; nothing lifts it.
        (question, Word::Nothing | Word::Object(Objection { unless_approved: true, .. })) => question,
        // The first is told of other arguments and asks again.
        (_, word @ (Word::Object(_) | Word::Rewrite { .. })) => word,
    };
    heard
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Fixed(Word);

    impl Hooks for Fixed {
        fn hear_ends(&self) -> bool {
            false
        }

        fn grace(&self) -> Duration {
            Duration::ZERO
        }

        fn tell<'a>(&'a self, _: Moment<'a>) -> Option<BoxFuture<'a, Heard>> {
            let heard = Heard { word: self.0.clone(), context: vec!["c".to_owned()], ..Heard::default() };
            Some(Box::pin(async move { heard }))
        }
    }

    fn objection(hook: &str, unless_approved: bool) -> Word {
        let (hook, message) = (hook.to_owned(), String::new());
        Word::Object(Objection { hook, message, for_people: None, unless_approved })
    }

    #[test]
    fn the_narrower_of_two_words_counts() {
        let rewrite = |hook: &str| Word::Rewrite { hook: hook.to_owned(), arguments: json!({}) };
        for (first, second, expect) in [
            (Word::Nothing, objection("b", false), objection("b", false)),
            (objection("a", false), objection("b", false), objection("a", false)),
            (objection("a", true), objection("b", true), objection("a", true)),
            (objection("a", true), Word::Nothing, objection("a", true)),
            (objection("a", true), objection("b", false), objection("b", false)),
            (objection("a", true), rewrite("b"), rewrite("b")),
            (rewrite("a"), objection("b", false), rewrite("a")),
            (Word::Nothing, rewrite("b"), rewrite("b")),
        ] {
            let hooks = JoinedHooks {
                first: Arc::new(Fixed(first.clone())),
                second: Arc::new(Fixed(second.clone())),
            };
            let heard =
                futures_util::FutureExt::now_or_never(hooks.tell(Moment::RunBegins).unwrap()).unwrap();
            assert_eq!(heard.word, expect, "{first:?} {second:?}");
        }
    }
}
