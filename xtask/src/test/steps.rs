//! The steps of the gate, in the order in which they start.

use std::path::PathBuf;

use ibeam_testkit::{SWEEP_VARIABLE, TEST_FEATURES};

use super::step::{Load, Step};

/// The conditions on which the steps depend.
#[derive(Debug)]
pub(super) struct Gate {
    /// The directory of the programs that the step `build` makes.
    pub(super) programs: PathBuf,
    /// The part of each sweep that runs; `None` for the complete sweeps.
    pub(super) sample: Option<Sample>,
    /// Recorded answers of services, which are not part of the repository.
    pub(super) traffic: Option<PathBuf>,
    /// Whether the embedded model may be installed, which takes 1.1 GB.
    pub(super) has_model: bool,
}

/// The part of each sweep that belongs to a commit, so that successive commits test different parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample(u64);

impl Sample {
    /// Returns the sample of the commit with this hash.
    pub(super) fn for_commit(hash: &str) -> Self {
        Self(u64::from_str_radix(hash.get(..15).unwrap_or_default(), 16).unwrap_or_default())
    }

    /// Returns one of `parts` parts, as the options and variables of sweeps write it: "3/8" is the fourth of eight.
    fn part(self, parts: u64) -> String {
        format!("{}/{parts}", self.0 % parts)
    }
}

/// The suites of others, which run the program as it is built for tests: the key, the words after `cargo xtask`, and the
/// memory in MiB.
const SUITES: &[(&str, &str, u64)] = &[
    ("fleet-nats", "fleet-nats launchers kills", 2048),
    ("conformance", "conformance", 1024),
    ("clients", "clients", 2048),
    ("servers", "servers", 3072),
    ("editors", "editors", 1024),
    ("harbor", "harbor", 1024),
    ("traces", "traces", 2048),
    ("sdks", "sdks", 1024),
    ("sdk-types", "sdk-types --check", 512),
    ("embedding", "embedding", 2048),
];

pub(super) fn steps(gate: &Gate) -> Vec<Step> {
    let programs = gate.programs.to_string_lossy();
    let features = TEST_FEATURES.join(" ");
    let mut steps = vec![
        Step::new("nats-server", "cargo xtask fleet-nats install", Load::Waits)
            .failure_is("there is no NATS server; the tests that need it print SKIP"),
        Step::new("fmt", "cargo fmt --all --check", Load::Cores),
        Step::new("tidy", "cargo xtask tidy", Load::Cores),
        // Everything that the later steps start, built once with one set of features.
        Step::new(
            "build",
            format!("cargo build --workspace --bins --tests --locked {features}"),
            Load::Cores,
        )
        .memory(4096),
    ];
    if gate.has_model {
        steps.push(
            Step::new("setup", format!("{programs}/ibeam setup"), Load::Waits)
                .after(&["build"])
                .failure_is("the embedded model could not be set up; the tests that need it print SKIP"),
        );
    }
    // The sweeps leave a third of the cores idle, so the suites run at the same time as them, and not as the tests.
    let follows: &[&'static str] = if gate.sample.is_none() { &["distribution"] } else { &[] };
    steps.extend(distribution(gate));
    for (key, words, memory) in SUITES {
        let step = Step::new(key, format!("cargo xtask {words}"), Load::Waits).after(&["build"]);
        steps.push(step.follows(follows).memory(*memory));
    }
    steps.extend(sweeps(gate));
    steps.push(tests(gate));
    steps.extend([
        Step::new(
            "clippy",
            format!("cargo clippy --workspace --all-targets --locked {features} -- -D warnings"),
            Load::Cores,
        )
        .memory(4096),
        // The program is also distributed without the engine of the embedded model.
        Step::new(
            "clippy-without-engine",
            "cargo clippy -p ibeam --no-default-features --locked -- -D warnings",
            Load::Cores,
        )
        .memory(4096),
        Step::new("additions", "cargo xtask additions", Load::Core).follows(&["clippy"]).memory(2048),
        Step::new("doc-tests", format!("cargo test --workspace --doc --locked {features}"), Load::Cores)
            .after(&["build"]),
    ]);
    steps.push(Step::new("tests-alone", "cargo xtask run-tests --alone", Load::Alone).after(&["build"]));
    if gate.has_model {
        steps.push(
            Step::new("clients-embedded", "cargo xtask clients --embedded", Load::Alone)
                .after(&["build", "setup"]),
        );
    }
    steps
}

/// Returns the step of all unit, in-process and end-to-end tests, but for those that need the machine alone.
fn tests(gate: &Gate) -> Step {
    let step =
        Step::new("tests", "cargo xtask run-tests", Load::Cores).after(&["build"]).follows(&["nats-server"]);
    let step = step.memory(6144);
    match gate.sample {
        Some(sample) => step.env(SWEEP_VARIABLE, sample.part(8)).sample_of("cargo xtask kill-sweep"),
        // The complete sweep is a step of its own; here are a few kills of the debug build.
        None => step.env(SWEEP_VARIABLE, "0/64"),
    }
}

/// Returns the steps that build the distribution and measure it, which only the complete gate has.
fn distribution(gate: &Gate) -> Vec<Step> {
    if gate.sample.is_some() {
        return Vec::new();
    }
    // Instructions are counted, so other steps do not change the figures.
    let size = Step::new("size", "cargo xtask size --without-engine", Load::Core);
    vec![
        Step::new("distribution", "cargo xtask dist", Load::Core).memory(4096),
        size.after(&["build", "distribution"]),
    ]
}

/// Returns the steps with thousands of processes. The complete gate runs them with the distribution, which starts many
/// times as fast as a debug build.
fn sweeps(gate: &Gate) -> Vec<Step> {
    let mut steps = Vec::new();
    let distribution = gate.programs.with_file_name("dist").join("ibeam");
    let (needed, program) = match gate.sample {
        Some(_) => ("build", String::new()),
        None => ("distribution", format!(" --bin {}", distribution.display())),
    };
    let sweep = |key: &'static str, words: &str, load: Load| {
        Step::new(key, format!("cargo xtask {words}{program}"), load).after(&["build", needed])
    };
    // The attacks must succeed without protection, and must fail with only the sandbox and with the complete program.
    steps.push(sweep("attacks", "corpus attacks", Load::Cores));
    for (key, mode) in [("attacks-bare", "--bare"), ("attacks-unfenced", "--unfenced")] {
        let whole = format!("corpus attacks {mode}");
        steps.push(match gate.sample {
            Some(sample) => sweep(key, &format!("{whole} --part {}", sample.part(4)), Load::Cores)
                .sample_of(format!("cargo xtask {whole}")),
            None => sweep(key, &whole, Load::Cores),
        });
    }
    if gate.sample.is_none() {
        steps.push(sweep("kill-sweep", "kill-sweep", Load::Cores));
    }
    let tasks = if gate.sample.is_some() { "fleet 300" } else { "fleet 1000" };
    steps.push(sweep("fleet", tasks, Load::Cores));
    if let Some(traffic) = &gate.traffic {
        let words = format!("cargo xtask traffic {}", traffic.display());
        let cut = format!("{words} --cut");
        let step = |key, command, load| Step::new(key, command, load).after(&["build"]);
        steps.push(match gate.sample {
            Some(sample) => {
                step("traffic", format!("{cut} --part {}", sample.part(8)), Load::Cores).sample_of(cut)
            }
            None => step("traffic", cut, Load::Cores),
        });
        steps.push(step("traffic-mirror", format!("{words} --mirror"), Load::Waits));
    }
    steps
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn gate(sample: Option<Sample>) -> Gate {
        let (programs, traffic) = ("/target/debug".into(), Some("../traffic".into()));
        Gate { programs, sample, traffic, has_model: true }
    }

    #[test]
    fn every_step_follows_steps_that_exist() {
        for sample in [None, Some(Sample(3))] {
            let steps = steps(&gate(sample));
            let mut keys = BTreeSet::new();
            for step in &steps {
                let needed = step.after.iter().chain(&step.follows);
                assert!(needed.clone().all(|key| keys.contains(key)), "{step:?}");
                assert!(keys.insert(step.key), "{step:?}");
            }
        }
    }

    #[test]
    fn what_runs_a_built_program_waits_for_the_build() {
        let without = [
            "nats-server",
            "fmt",
            "tidy",
            "build",
            "clippy",
            "clippy-without-engine",
            "additions",
            "distribution",
        ];
        for step in steps(&gate(None)).iter().chain(&steps(&gate(Some(Sample(0))))) {
            assert_eq!(step.after.contains(&"build"), !without.contains(&step.key), "{step:?}");
        }
    }

    #[test]
    fn the_complete_gate_has_no_samples_and_every_step_of_the_short_one() {
        let (short, complete) = (steps(&gate(Some(Sample(13)))), steps(&gate(None)));
        assert!(complete.iter().all(|step| step.complete.is_none()));
        for step in &short {
            assert!(complete.iter().any(|other| other.key == step.key), "{step:?}");
        }
        let samples: Vec<_> = short.iter().filter(|step| step.complete.is_some()).collect();
        let parts: Vec<_> =
            samples.iter().map(|step| format!("{:?} {}", step.environment, step.command)).collect();
        let has = |part: &str| parts.iter().filter(|text| text.contains(part)).count();
        assert_eq!((samples.len(), has("5/8"), has("1/4")), (4, 2, 2), "{parts:#?}");
    }

    #[test]
    fn the_sample_changes_with_the_commit() {
        let parts: BTreeSet<String> =
            (0..64).map(|number| Sample::for_commit(&format!("{number:015x}{:025x}", 0)).part(8)).collect();
        assert_eq!(parts.len(), 8);
        assert_eq!(Sample::for_commit("").part(4), "0/4");
    }
}
