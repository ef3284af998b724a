//! The arguments of `fleet`.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use crate::command::facts::{CommandFacts, NeededFeature};
use crate::flags::{
    BatchFlags, FleetFlags, GrantFlags, QueueFlags, ReadQueueFlags, ReportFormat, SubmissionFlags,
    WorkerFlags,
};

/// The flags that `fleet run` passes to its runs.
const RUN_FLAGS: &[&str] = &[
    "AccessFlags",
    "InstructionFlags",
    "LimitFlags",
    "McpFlags",
    "ModelFlags",
    "RuleFlags",
    "background",
    "ca_file",
    "client_cert",
    "client_key",
    "endpoint",
    "fail_on",
    "header",
];

pub(super) const FACTS: CommandFacts = CommandFacts::new("fleet").uses(&[]).above(&[
    CommandFacts::new("apply").uses(&["workspace"]).with_examples(&[
        "ibeam fleet apply tasks.fleet",
        "ibeam fleet apply tasks.fleet --patch --only fix-typo",
    ]),
    with_queue("cancel").with_examples(&["ibeam fleet cancel --queue tls://nats.example.com/evals"]),
    CommandFacts::new("delete")
        .uses(&["force"])
        .with_flag_help(&[("force", "Delete a fleet with tasks that have no result")])
        .with_examples(&[
            "ibeam fleet delete tasks.fleet",
            "ibeam fleet delete --queue tls://nats.example.com/evals",
        ]),
    with_queue("doctor").uses(&["LimitFlags", "mode", "plan"]).with_examples(&[
        "ibeam fleet doctor --queue tls://nats.example.com/evals --allow-workspaces . --allow-checks",
    ]),
    with_queue("events").with_examples(&["ibeam fleet events --queue tls://nats.example.com/evals --follow"]),
    CommandFacts::new("export").with_examples(&["ibeam fleet export tasks.fleet --atif"]),
    CommandFacts::new("logs")
        .uses(&["output_format", "verbose"])
        .ignores(&["force"])
        .with_examples(&["ibeam fleet logs fix-typo --follow"]),
    CommandFacts::new("poll").with_examples(&["ibeam fleet poll tasks.fleet --wait"]),
    CommandFacts::new("report").with_examples(&[
        "ibeam fleet report tasks.fleet",
        "ibeam fleet report old.fleet new.fleet --format html",
    ]),
    CommandFacts::new("run").uses(RUN_FLAGS).with_examples(&[
        "ibeam fleet run tasks.jsonl --jobs 8 --force",
        "ibeam fleet run matrix.json --matrix",
        "ibeam fleet run - --dir results --budget-usd 20",
        "ibeam fleet run tasks.jsonl --batch --batch-deadline 12h",
        "ibeam fleet run tasks.jsonl --limit 3 --dry-run",
    ]),
    CommandFacts::new("run-check").uses(RUN_FLAGS),
    CommandFacts::new("show").with_examples(&[
        "ibeam fleet show fix-typo",
        "ibeam fleet show fix-typo --dir tasks.fleet --format json",
    ]),
    CommandFacts::new("status")
        .with_examples(&["ibeam fleet status tasks.fleet", "ibeam fleet status tasks.fleet --watch"]),
    with_queue("sync").with_examples(&["ibeam fleet sync tasks.fleet --queue tls://nats.example.com/evals"]),
    with_queue("worker").uses(RUN_FLAGS).with_examples(&[
        "ibeam fleet worker --queue tls://nats.example.com/evals --slots 4 --dir /var/lib/ibeam/worker",
    ]),
    with_queue("workers").with_examples(&["ibeam fleet workers --queue tls://nats.example.com/evals"]),
]);

/// Returns the facts about a command that always needs a queue.
const fn with_queue(name: &'static str) -> CommandFacts {
    CommandFacts::new(name).needs(NeededFeature {
        is_built: cfg!(feature = "nats"),
        missing: "Not in this build: it needs the feature `nats`, see `ibeam help fleet-nats`",
    })
}

/// The commands of `fleet`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum FleetCommand {
    /// Run the tasks of a file, and print a JSON object for each result
    #[command(
        after_help = "The same command again resumes what was interrupted. Runs have the flags of this command.\n\
                      Exit codes: 0 all passed, 1 some did not pass, 65 an invalid task, 75 some are not finished, \
                      79 some wait for batches.\n\
                      Format of the tasks and results: `ibeam help fleet`"
    )]
    Run {
        /// The file with the tasks, a JSON object on each line; `-` for stdin
        #[arg(value_name = "TASKS")]
        tasks: PathBuf,
        /// The file is a matrix: each of its prompts with each model in each workspace
        #[arg(long)]
        matrix: bool,
        /// The directory for the ledger and the results [default: TASKS with the extension `fleet`]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        /// The number of tasks that run at the same time
        #[arg(short, long, value_name = "N", default_value = "4")]
        jobs: NonZeroU32,
        /// List invalid tasks and run the others
        #[arg(long)]
        skip_invalid: bool,
        /// Run only these tasks, and those that they need; separated by commas, repeatable
        #[arg(long, value_name = "ID", value_delimiter = ',')]
        only: Vec<String>,
        /// Run only the first N tasks, and those that they need
        #[arg(long, value_name = "N")]
        limit: Option<NonZeroU32>,
        /// Check the tasks and print those that would run; start nothing
        #[arg(long)]
        dry_run: bool,
        /// Send no request once all runs together have cost this much, e.g. `20` or `0.50`
        #[arg(long, value_name = "USD")]
        budget_usd: Option<f64>,
        /// Send no request once all runs together have used this many tokens
        #[arg(long, value_name = "N")]
        budget_tokens: Option<NonZeroU64>,
        /// The number of requests to a provider that all runs together may start within a minute
        #[arg(long, value_name = "N")]
        requests_per_minute: Option<NonZeroU32>,
        /// The number of tokens that all runs together may use of a provider within a minute
        #[arg(long, value_name = "N")]
        tokens_per_minute: Option<NonZeroU64>,
        /// The number of runs of a task that may be killed, or fail in a way that may pass
        #[arg(long, value_name = "N", default_value = "5")]
        max_runs: NonZeroU32,
        /// Run failed tasks again, each with a new session and a new workspace
        #[arg(long)]
        retry_failed: bool,
        /// Delete the workspace of a task when it is finished; its patch stays
        #[arg(long)]
        discard_workspaces: bool,
        #[command(flatten)]
        batch: BatchFlags,
        #[command(flatten)]
        queue: SubmissionFlags,
    },
    /// Execute tasks of a queue until the command is stopped
    #[command(
        after_help = "Runs have the flags, the configuration and the rules of this command; a task cannot have more.\n\
                      Workers on many machines: `ibeam help fleet-nats`"
    )]
    Worker(WorkerFlags),
    /// Compare the record of a fleet with its queue, and give each what it lacks
    Sync {
        /// The directory of the fleet
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        #[command(flatten)]
        queue: QueueFlags,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Stop all workers of a queue, until `fleet run` starts the fleet again
    Cancel {
        #[command(flatten)]
        queue: QueueFlags,
    },
    /// Show which tasks of a queue its workers refuse, and which a worker here would refuse
    Doctor {
        #[command(flatten)]
        queue: QueueFlags,
        #[command(flatten)]
        grants: GrantFlags,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Print the events of the runs of all workers, a JSON object on each line
    Events {
        #[command(flatten)]
        queue: QueueFlags,
        /// Only the events of this task
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// Wait for further events until the command is stopped
        #[arg(long)]
        follow: bool,
    },
    /// Continue a fleet whose requests are answered in batches
    #[command(
        after_help = "Runs have the flags with which the fleet was started. Exit codes: those of `fleet run`."
    )]
    Poll {
        /// The directory of the fleet [default: the only one here whose name ends with `.fleet`]
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
        /// Stay and poll the batches until all tasks have ended
        #[arg(long)]
        wait: bool,
        /// Seconds between two polls [default: 60]
        #[arg(long, value_name = "SECONDS")]
        interval: Option<u64>,
    },
    /// Show the state of each task, also while the fleet runs
    Status {
        /// The directory of the fleet
        #[arg(value_name = "DIR", required_unless_present = "queue", conflicts_with = "queue")]
        directory: Option<PathBuf>,
        #[command(flatten)]
        queue: ReadQueueFlags,
        /// Show every change until all tasks are finished or parked
        #[arg(long, conflicts_with = "format")]
        watch: bool,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Show all about one task: its state, what it has consumed, its check and its files
    Show {
        /// The task
        #[arg(value_name = "ID")]
        task: String,
        #[command(flatten)]
        fleet: FleetFlags,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Print the runs of a task as text, or as `--output-format` says
    Logs {
        /// The task
        #[arg(value_name = "ID")]
        task: String,
        #[command(flatten)]
        fleet: FleetFlags,
        /// Wait for further lines until the task has ended; also `-f`
        #[arg(long)]
        follow: bool,
    },
    /// Show the workers of a queue and the tasks that they hold
    Workers {
        #[command(flatten)]
        queue: QueueFlags,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Make a branch of the changes of each task that passed, in the repository of the workspace
    #[command(
        after_help = "Exit code 1: the changes of some tasks could not be applied. Uncommitted changes stay as they are."
    )]
    Apply {
        /// The directory of the fleet
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// The beginning of the names of the branches; the id of the task follows
        #[arg(long, value_name = "PREFIX", default_value = "fleet/")]
        branch: String,
        /// Apply the patches to the work tree instead, one after the other
        #[arg(long, conflicts_with = "branch")]
        patch: bool,
        /// Only the changes of these tasks, and of those from whose results they start; separated by commas, repeatable
        #[arg(long, value_name = "ID", value_delimiter = ',')]
        only: Vec<String>,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Delete the directory of a fleet, or what the servers of a queue have of it
    Delete {
        /// The directory of the fleet
        #[arg(value_name = "DIR", required_unless_present = "queue")]
        directory: Option<PathBuf>,
        #[command(flatten)]
        queue: ReadQueueFlags,
    },
    /// Show the results of a fleet: pass rates, cost, time and tokens per model and task, failures by class (a bug report: `ibeam
    /// report`)
    Report {
        /// The directory of the fleet
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// The directory of another fleet with the same tasks, to compare it with the first one
        #[arg(value_name = "OTHER")]
        other: Option<PathBuf>,
        /// Text, JSON, the results as lines of JSON, or a page of HTML
        #[arg(long, value_enum)]
        format: Option<FleetReportFormat>,
        /// Same as `--format json`
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
    /// Write the trace of every task into its directory, and print a JSON object for each
    Export {
        /// The directory of the fleet
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// The trajectory of the agent in the format ATIF, `trajectory.json` [default]
        #[arg(long, conflicts_with_all = ["html", "otlp"])]
        atif: bool,
        /// A page to read, `trace.html`
        #[arg(long, conflicts_with = "otlp")]
        html: bool,
        /// The spans of OpenTelemetry, `trace.otlp.json`
        #[arg(long)]
        otlp: bool,
    },
    /// Run the command on stdin as a run would, in its sandbox, and print its result as JSON
    #[command(hide = true)]
    RunCheck {
        /// End the command after this many seconds
        #[arg(long, value_name = "SECONDS")]
        timeout_s: Option<NonZeroU64>,
    },
}

/// The format of the report on a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FleetReportFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// The results as `fleet run` prints them
    Ndjson,
    /// A page for people
    Html,
}
