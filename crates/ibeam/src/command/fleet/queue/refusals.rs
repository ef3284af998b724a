//! `fleet doctor`: the tasks of a queue that its workers refuse, and those that a worker with these flags would refuse.

use std::collections::BTreeMap;
use std::fs::File;

use ibeam_fleet_nats::{NatsQueue, RefusedTask};
use ibeam_output::escape_to_one_line;
use ibeam_protocol::{Sentence, sentence};
use serde_json::{Value, json};

use super::{connection_options, parse, policy};
use crate::cli_error::CliError;
use crate::command::fleet::ledger_access::queue_error;
use crate::command::printing::report;
use crate::flags::{GrantFlags, QueueFlags, ReportFormat};
use ibeam_agent::app::AppContext;

/// Tasks and the reasons for which they are refused.
type Refused<'a> = Vec<(&'a str, &'a Sentence)>;

/// Shows what is refused.
///
/// # Errors
/// `Usage`, `Io`.
pub(in crate::command::fleet) fn print_refusals(
    app: &AppContext,
    flags: &QueueFlags,
    grants: &GrantFlags,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let queue = NatsQueue::open(&parse(&flags.queue)?, &connection_options(&flags.credentials));
    let found =
        queue.and_then(|queue| queue.refusals(&policy(app, flags, grants, false))).map_err(queue_error)?;
    let here = reasons(&found.tasks, |task| task.here.as_ref());
    let ended = reasons(&found.tasks, |task| task.ended.as_ref());
    let mut workers: BTreeMap<(&str, &str), Refused<'_>> = BTreeMap::new();
    for (task, refusal) in
        found.tasks.iter().flat_map(|task| task.workers.iter().map(move |worker| (task, worker)))
    {
        let refused = workers.entry((&refusal.machine, &refusal.worker)).or_default();
        refused.push((&task.task, &refusal.reason));
    }
    let catalogue = &app.base.catalogue;
    let lines = |refused: &Refused<'_>| -> String {
        let line = |(task, reason): &(&str, &Sentence)| {
            format!("  {task}: {}\n", escape_to_one_line(&catalogue.sentence(reason)))
        };
        refused.iter().map(line).collect()
    };
    let (count, open) = (here.len(), found.open);
    let title = catalogue.sentence(&sentence!(
        "open tasks that a worker with these flags refuses: {count} of {open}",
        count,
        open
    ));
    let mut text = format!("{title}\n{}", lines(&here));
    for ((machine, worker), refused) in &workers {
        let (worker, count) = (escape_to_one_line(&format!("{machine} ({worker})")), refused.len());
        let title = catalogue.sentence(&sentence!("refused by {worker}: {count}", worker, count));
        text.push_str(&format!("{title}\n{}", lines(refused)));
    }
    if !ended.is_empty() {
        let count = ended.len();
        let title = catalogue
            .sentence(&sentence!("tasks that ended because every worker refused them: {count}", count));
        text.push_str(&format!("{title}\n{}", lines(&ended)));
    }
    let array = |refused: &Refused<'_>| -> Vec<Value> {
        refused.iter().map(|(task, reason)| json!({ "task": task, "reason": reason })).collect()
    };
    let workers: Vec<Value> = workers
        .iter()
        .map(|((machine, worker), refused)| json!({ "worker": worker, "machine": machine, "refused": array(refused) }))
        .collect();
    let object =
        json!({ "open": open, "refused_here": array(&here), "workers": workers, "ended": array(&ended) });
    report(stdout, format, &text, &object)
}

fn reasons<'a>(
    tasks: &'a [RefusedTask],
    reason: impl Fn(&'a RefusedTask) -> Option<&'a Sentence>,
) -> Refused<'a> {
    tasks.iter().filter_map(|task| Some((task.task.as_str(), reason(task)?))).collect()
}
