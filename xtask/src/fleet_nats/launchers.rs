//! The launchers of docs/fleet-nats.md, run as they are printed there.
//!
//! For each launcher, a queue gets tasks, the recipe starts workers, and all tasks must pass. What this machine cannot run
//! is skipped, and the reason is printed.

mod launcher_scene;
mod manifests;
mod recipes;
mod slurm;
mod ssh;
mod systemd;

use std::fs;
use std::path::Path;
use std::time::Instant;

use self::launcher_scene::LauncherScene;
use self::manifests::Validators;
use self::recipes::Recipes;
use super::FleetNatsError;
use crate::clients::Installer;
use crate::fleet::FleetError;

/// The page with the recipes.
const PAGE: &str = "docs/fleet-nats.md";

/// The result of a launcher.
enum Outcome {
    /// All tasks passed. The text says what was run.
    Passed(String),
    /// The launcher cannot be run here, for this reason.
    Skipped(String),
}

/// Runs all launchers and prints a line for each.
pub(super) fn run(
    root: &Path,
    installer: &Installer,
    program: &Path,
    server: &Path,
) -> Result<(), FleetNatsError> {
    let page = root.join(PAGE);
    let text = fs::read_to_string(&page).map_err(FleetError::system(page.display()))?;
    let recipes = Recipes::new(&text);
    let pins = root.join("clients/launchers/requirements.txt");
    let directory = root.join("target/launchers");
    let validators = installer.install_from_pypi(&pins, &directory, 12)?;
    let validators = validators.map(|_python| Validators::new(directory.join("bin")));
    let with_validators = |run: &dyn Fn(&Validators) -> Result<Outcome, FleetError>| match &validators {
        Ok(validators) => run(validators),
        Err(missing) => Ok(Outcome::Skipped(missing.clone())),
    };
    let scene = || LauncherScene::new(program, server, &recipes);
    type Launcher<'a> = (&'a str, &'a dyn Fn() -> Result<Outcome, FleetError>);
    let launchers: [Launcher<'_>; 6] = [
        ("ssh", &|| ssh::run(&scene()?)),
        ("systemd", &|| systemd::run(&scene()?)),
        ("Slurm", &|| slurm::run(&scene()?)),
        ("Kubernetes Job", &|| with_validators(&|validators| manifests::run_job(&scene()?, validators))),
        ("Kubernetes Deployment", &|| {
            with_validators(&|validators| manifests::run_deployment(&scene()?, validators))
        }),
        ("CI", &|| with_validators(&|validators| manifests::run_workflow(&scene()?, validators))),
    ];
    let mut failed = Vec::new();
    for (name, launch) in launchers {
        let start = Instant::now();
        match launch() {
            Ok(Outcome::Passed(what)) => {
                println!("launcher {name}: {what}; {:.0} s", start.elapsed().as_secs_f64());
            }
            Ok(Outcome::Skipped(reason)) => println!("SKIP launcher {name}: {reason}"),
            Err(error) => {
                println!("launcher {name} failed: {error}");
                failed.push(name);
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(FleetError::Failed(format!("launchers failed: {}", failed.join(", "))).into())
}
