//! The totals of the processes that worked on a task.

use std::collections::BTreeMap;

use crate::run_stream::{RunEnd, RunStream};
use crate::task_result::TaskUsage;
use ibeam_governor::Spend;

/// The requests that the totals of a process count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TotalsScope {
    /// The requests of the process: each process is a run of its own.
    Process,
    /// The requests of all processes so far: each process continues the run of the one before it.
    Run,
}

impl TotalsScope {
    /// Returns the ends whose totals count each request once.
    fn counted(self, streams: &[RunStream]) -> Vec<&RunEnd> {
        let ends = streams.iter().filter_map(|stream| stream.end.as_ref());
        match self {
            Self::Process => ends.collect(),
            // Totals only grow, but a process that failed before its session was open has none. Another attempt at the task
            // has another session.
            Self::Run => {
                let mut sessions: BTreeMap<Option<&str>, &RunEnd> = BTreeMap::new();
                for (stream, end) in streams.iter().filter_map(|stream| Some((stream, stream.end.as_ref()?)))
                {
                    let last = sessions.entry(stream.session_id.as_deref()).or_insert(end);
                    if end.usage.total() >= last.usage.total() {
                        *last = end;
                    }
                }
                sessions.into_values().collect()
            }
        }
    }

    /// Returns the tokens.
    pub(crate) fn usage(self, streams: &[RunStream]) -> TaskUsage {
        let mut usage = TaskUsage::default();
        self.counted(streams).iter().for_each(|end| usage.add(&end.usage));
        usage
    }

    /// Returns the cost in millionths of a dollar; `None` if a price is unknown.
    pub(crate) fn cost_micros(self, streams: &[RunStream]) -> Option<u64> {
        self.counted(streams).iter().map(|end| end.cost_micros).sum()
    }

    /// Returns what the processes have consumed, as far as they reported it.
    pub(crate) fn spend(self, streams: &[RunStream]) -> Spend {
        self.counted(streams).iter().fold(Spend::default(), |spend, end| {
            spend.plus(Spend { cost_micros: end.cost_micros.unwrap_or_default(), tokens: end.usage.total() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(tokens: u64, cost_micros: Option<u64>) -> RunStream {
        let usage = TaskUsage { input_tokens: tokens, ..TaskUsage::default() };
        let end = RunEnd { failure: None, usage, cost_micros, duration_ms: 1, model: None };
        RunStream { end: Some(end), ..RunStream::default() }
    }

    #[test]
    fn the_runs_of_two_sessions_count_both() {
        let of =
            |session: &str, stream: RunStream| RunStream { session_id: Some(session.to_owned()), ..stream };
        let streams = [of("a", ended(10, Some(4))), of("a", ended(20, Some(8))), of("b", ended(5, Some(2)))];
        assert_eq!(TotalsScope::Run.spend(&streams), Spend { cost_micros: 10, tokens: 25 });
    }

    #[test]
    fn each_request_counts_once() {
        let streams = [ended(10, Some(4)), RunStream::default(), ended(30, Some(9)), ended(0, Some(0))];
        let totals = |scope: TotalsScope| {
            (scope.usage(&streams).total(), scope.cost_micros(&streams), scope.spend(&streams).tokens)
        };
        assert_eq!(totals(TotalsScope::Process), (40, Some(13), 40));
        assert_eq!(totals(TotalsScope::Run), (30, Some(9), 30));
        let unknown = [ended(10, Some(4)), ended(30, None)];
        assert_eq!(TotalsScope::Process.cost_micros(&unknown), None);
        assert_eq!(TotalsScope::Run.cost_micros(&unknown), None);
        assert_eq!(TotalsScope::Run.cost_micros(&[]), Some(0));
    }
}
