//! Two kinds of hooks that listen to one run, one behind the other.
//!
//! A refusal of the first ends the matter, and so do other arguments of it, which both are told of in turn. A question
//! of the first does not: the second may refuse what it asks for.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{HookBlock, HookDecision, HookEvent, HookOutput, Hooks};

/// Hooks, and others behind them.
pub(crate) struct JoinedHooks {
    pub(crate) first: Arc<dyn Hooks>,
    pub(crate) second: Arc<dyn Hooks>,
}

impl Hooks for JoinedHooks {
    fn wants_tool_results(&self) -> bool {
        self.first.wants_tool_results() || self.second.wants_tool_results()
    }

    fn grace(&self) -> Duration {
        self.first.grace().max(self.second.grace())
    }

    fn run<'a>(&'a self, moment: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        match (self.first.run(moment), self.second.run(moment)) {
            (Some(first), Some(second)) => Some(Box::pin(joined(first, second))),
            (one, None) | (None, one) => one,
        }
    }
}

async fn joined(first: BoxFuture<'_, HookOutput>, second: BoxFuture<'_, HookOutput>) -> HookOutput {
    let mut heard = first.await;
    match &heard.decision {
        HookDecision::Block(HookBlock { ask: false, .. }) | HookDecision::UpdateInput { .. } => return heard,
        HookDecision::Block(HookBlock { ask: true, .. }) | HookDecision::Continue => {}
    }
    let HookOutput { decision: word, context, notices } = second.await;
    heard.context.extend(context);
    heard.notices.extend(notices);
    heard.decision = match (heard.decision, word) {
        (HookDecision::Continue, word) => word,
        // The first question counts; nothing lifts it.
        (question, HookDecision::Continue | HookDecision::Block(HookBlock { ask: true, .. })) => question,
        // The first is told of other arguments and asks again.
        (_, word @ (HookDecision::Block(_) | HookDecision::UpdateInput { .. })) => word,
    };
    heard
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Fixed(HookDecision);

    impl Hooks for Fixed {
        fn wants_tool_results(&self) -> bool {
            false
        }

        fn grace(&self) -> Duration {
            Duration::ZERO
        }

        fn run<'a>(&'a self, _: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
            let heard = HookOutput {
                decision: self.0.clone(),
                context: vec!["c".to_owned()],
                ..HookOutput::default()
            };
            Some(Box::pin(async move { heard }))
        }
    }

    fn objection(hook: &str, ask: bool) -> HookDecision {
        let (hook, message) = (hook.to_owned(), String::new());
        HookDecision::Block(HookBlock { hook, message, for_people: None, ask })
    }

    #[test]
    fn the_narrower_of_two_words_counts() {
        let rewrite = |hook: &str| HookDecision::UpdateInput { hook: hook.to_owned(), arguments: json!({}) };
        for (first, second, expect) in [
            (HookDecision::Continue, objection("b", false), objection("b", false)),
            (objection("a", false), objection("b", false), objection("a", false)),
            (objection("a", true), objection("b", true), objection("a", true)),
            (objection("a", true), HookDecision::Continue, objection("a", true)),
            (objection("a", true), objection("b", false), objection("b", false)),
            (objection("a", true), rewrite("b"), rewrite("b")),
            (rewrite("a"), objection("b", false), rewrite("a")),
            (HookDecision::Continue, rewrite("b"), rewrite("b")),
        ] {
            let hooks = JoinedHooks {
                first: Arc::new(Fixed(first.clone())),
                second: Arc::new(Fixed(second.clone())),
            };
            let heard =
                futures_util::FutureExt::now_or_never(hooks.run(HookEvent::RunStart).unwrap()).unwrap();
            assert_eq!(heard.decision, expect, "{first:?} {second:?}");
        }
    }
}
