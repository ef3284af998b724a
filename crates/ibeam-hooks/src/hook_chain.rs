//! Two sets of hooks for one run, one after the other.
//!
//! A refusal of the first set is final. If the first set changes the arguments of a call, both sets run again with the
//! new arguments. If the first set requires an approval, the second set may still refuse.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{HookBlock, HookDecision, HookEvent, HookOutput, Hooks};

/// Runs two sets of hooks one after the other.
pub struct HookChain {
    /// The set that runs first.
    pub first: Arc<dyn Hooks>,
    /// The set that runs if the first one does not refuse.
    pub second: Arc<dyn Hooks>,
}

impl Hooks for HookChain {
    fn wants_tool_results(&self) -> bool {
        self.first.wants_tool_results() || self.second.wants_tool_results()
    }

    fn grace(&self) -> Duration {
        self.first.grace().max(self.second.grace())
    }

    fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        match (self.first.run(event), self.second.run(event)) {
            (Some(first), Some(second)) => Some(Box::pin(run_both(first, second))),
            (one, None) | (None, one) => one,
        }
    }
}

async fn run_both(first: BoxFuture<'_, HookOutput>, second: BoxFuture<'_, HookOutput>) -> HookOutput {
    let mut output = first.await;
    match &output.decision {
        HookDecision::Block(HookBlock { ask: false, .. }) | HookDecision::UpdateInput { .. } => {
            return output;
        }
        HookDecision::Block(HookBlock { ask: true, .. }) | HookDecision::Continue => {}
    }
    let HookOutput { decision, context, follow_up, notices, requests } = second.await;
    output.context.extend(context);
    output.follow_up = output.follow_up.or(follow_up);
    output.notices.extend(notices);
    output.requests.extend(requests);
    output.decision = match (output.decision, decision) {
        (HookDecision::Continue, decision) => decision,
        // The first required approval counts; the second set cannot withdraw it.
        (question, HookDecision::Continue | HookDecision::Block(HookBlock { ask: true, .. })) => question,
        // The first set runs again with the new arguments and requires its approval again.
        (_, decision @ (HookDecision::Block(_) | HookDecision::UpdateInput { .. })) => decision,
    };
    output
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
            let output = HookOutput {
                decision: self.0.clone(),
                context: vec!["c".to_owned()],
                ..HookOutput::default()
            };
            Some(Box::pin(async move { output }))
        }
    }

    fn block(hook: &str, ask: bool) -> HookDecision {
        let (hook, message) = (hook.to_owned(), String::new());
        HookDecision::Block(HookBlock { hook, message, for_people: None, ask })
    }

    #[test]
    fn the_stricter_of_two_decisions_counts() {
        let rewrite = |hook: &str| HookDecision::UpdateInput { hook: hook.to_owned(), arguments: json!({}) };
        for (first, second, expect) in [
            (HookDecision::Continue, block("b", false), block("b", false)),
            (block("a", false), block("b", false), block("a", false)),
            (block("a", true), block("b", true), block("a", true)),
            (block("a", true), HookDecision::Continue, block("a", true)),
            (block("a", true), block("b", false), block("b", false)),
            (block("a", true), rewrite("b"), rewrite("b")),
            (rewrite("a"), block("b", false), rewrite("a")),
            (HookDecision::Continue, rewrite("b"), rewrite("b")),
        ] {
            let hooks =
                HookChain { first: Arc::new(Fixed(first.clone())), second: Arc::new(Fixed(second.clone())) };
            let output =
                futures_util::FutureExt::now_or_never(hooks.run(HookEvent::RunStart).unwrap()).unwrap();
            assert_eq!(output.decision, expect, "{first:?} {second:?}");
        }
    }
}
