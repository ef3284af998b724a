//! The cost of a fleet and that of other ways to run the same tasks: one by one, GNU parallel, and a pool of threads in
//! Python. All of them copy the workspace for each task; only a fleet records patches and can be interrupted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::process::cpu_of_ended_processes;
use super::scripted_fleet::{
    Ended, JOBS, REQUESTS_PER_TASK, ScriptedFleet, answer, run_to_end, start, task_ids,
};
use crate::interpreter::script_python;
use crate::suite::SuiteError;

/// The maximum of a fleet's CPU time for each task, beyond that of the run, in a release build on an idle machine.
const AIM_MS: f64 = 15.0;

/// The shell command that runs a task. `$0` is the program, `$1` the workspace, `$2` its copy, `$3` the prompt.
const TASK_SCRIPT: &str = r#"cp -r "$1" "$2" && exec "$0" --model mock-model --force --workspace "$2" --print \
    --output-format json "$3""#;

/// The figures of a way to run the tasks.
struct Figures {
    name: &'static str,
    elapsed: Duration,
    cpu: Duration,
    /// The peak memory of the process that starts the runs.
    memory: u64,
}

/// Runs `tasks` tasks in each way; prints a table.
pub(super) fn run(root: &Path, program: &Path, tasks: usize) -> Result<(), SuiteError> {
    let script = root.join("xtask/src/fleet/pool.py");
    let program_text = program.to_string_lossy().into_owned();
    let jobs = JOBS.to_string();
    let prompts: Vec<String> = task_ids(tasks).map(|id| format!("write {id}")).collect();
    let measure = |name, command: &dyn Fn(&ScriptedFleet, &Path) -> Result<Command, SuiteError>| {
        measure(name, program, tasks, command)
    };
    let mut figures = vec![
        measure("one by one", &|scene, copies| {
            let loop_script = format!(
                "i=0; for prompt in \"${{@:2}}\"; do i=$((i+1)); bash -c '{TASK_SCRIPT}' \"$0\" \"$1\" \"{}/w$i\" \
                 \"$prompt\" || exit 1; done",
                copies.display()
            );
            let mut command = Command::new("bash");
            command.args(["-c", &loop_script, &program_text]).arg(scene.workspace.path()).args(&prompts);
            Ok(command)
        })?,
        measure("ibeam fleet run", &|scene, _| scene.fleet(&scene.write_tasks(tasks)?, &[]))?,
        measure("pool in Python", &|scene, copies| {
            let mut command = Command::new(script_python());
            command.arg(&script).args([&program_text, &jobs]).arg(scene.workspace.path()).arg(copies);
            command.args(&prompts);
            Ok(command)
        })?,
    ];
    match Command::new("parallel").arg("--version").output() {
        Err(_) => println!("SKIP GNU parallel: there is no `parallel`; install the package `parallel`"),
        Ok(_) => figures.push(measure("GNU parallel", &|scene, copies| {
            let mut command = Command::new("parallel");
            command.args(["--will-cite", "--quote", "--halt", "soon,fail=1", "--jobs", &jobs]);
            command.args(["bash", "-c", TASK_SCRIPT, &program_text]).arg(scene.workspace.path());
            command.arg(copies.join("w{#}")).args(["{}", ":::"]).args(&prompts);
            Ok(command)
        })?),
    }
    print_table(tasks, &figures);
    Ok(())
}

/// Runs the tasks with a command, which starts all of them, in a new scene.
fn measure(
    name: &'static str,
    program: &Path,
    tasks: usize,
    command: &dyn Fn(&ScriptedFleet, &Path) -> Result<Command, SuiteError>,
) -> Result<Figures, SuiteError> {
    let scene = ScriptedFleet::new(program, |request, _| answer(request));
    let copies: PathBuf = scene.workspace.outside().join("copies");
    fs::create_dir(&copies).map_err(SuiteError::system(copies.display()))?;
    let mut command = command(&scene, &copies)?;
    scene.configure(&mut command)?;
    let before = cpu_of_ended_processes();
    let Ended { status, elapsed, peak_memory } = run_to_end(start(command)?, |_| ())?;
    let cpu = cpu_of_ended_processes().saturating_sub(before);
    if !status.success() || scene.server.received() != tasks * REQUESTS_PER_TASK {
        let what = format!("{name} ended with {status} after {} requests", scene.server.received());
        return Err(scene.failed(&what));
    }
    Ok(Figures { name, elapsed, cpu, memory: peak_memory })
}

fn print_table(tasks: usize, figures: &[Figures]) {
    let Some(alone) = figures.first() else { return };
    let per_task = |duration: Duration| duration.as_secs_f64() * 1000.0 / tasks as f64;
    println!(
        "{tasks} tasks, {JOBS} at a time; CPU in ms per task, and what is beyond one run after the other:"
    );
    println!("  {:<16} {:>8} {:>8} {:>8} {:>12}", "", "seconds", "CPU ms", "beyond", "memory KiB");
    for Figures { name, elapsed, cpu, memory } in figures {
        let beyond = per_task(*cpu) - per_task(alone.cpu);
        println!(
            "  {name:<16} {:>8.1} {:>8.1} {beyond:>8.1} {:>12}",
            elapsed.as_secs_f64(),
            per_task(*cpu),
            memory >> 10
        );
    }
    println!("  The aim for a fleet is {AIM_MS} ms beyond, in a release build on an idle machine.");
}
