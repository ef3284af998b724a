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
use crate::suite::{SuiteContext, SuiteError, SuiteResult};

/// The page with the recipes.
const PAGE: &str = "docs/fleet-nats.md";

/// Runs all launchers and prints a line for each.
pub(super) fn run(context: &SuiteContext, server: &Path, result: &mut SuiteResult) -> Result<(), SuiteError> {
    let SuiteContext { root, program, installer } = context;
    let page = root.join(PAGE);
    let text = fs::read_to_string(&page).map_err(SuiteError::system(page.display()))?;
    let recipes = Recipes::new(&text);
    let validators = || {
        let pins = root.join("clients/launchers/requirements.txt");
        let directory = root.join("target/launchers");
        installer.install_from_pypi(&pins, &directory, 12)?;
        Ok::<_, SuiteError>(Validators::new(directory.join("bin")))
    };
    let scene = || LauncherScene::new(program, server, &recipes);
    // A description of what was run.
    type Launcher<'a> = (&'a str, &'a dyn Fn() -> Result<String, SuiteError>);
    let launchers: [Launcher<'_>; 6] = [
        ("launcher ssh", &|| ssh::run(&scene()?)),
        ("launcher systemd", &|| systemd::run(&scene()?)),
        ("launcher Slurm", &|| slurm::run(&scene()?)),
        ("launcher Kubernetes Job", &|| manifests::run_job(&scene()?, &validators()?)),
        ("launcher Kubernetes Deployment", &|| manifests::run_deployment(&scene()?, &validators()?)),
        ("launcher CI", &|| manifests::run_workflow(&scene()?, &validators()?)),
    ];
    for (name, launch) in launchers {
        let start = Instant::now();
        match launch() {
            Err(SuiteError::Missing(missing)) => result.skip(name, missing),
            Ok(what) => result.add(name, true, &format!(": {what}; {:.0} s", start.elapsed().as_secs_f64())),
            Err(error) => result.add(name, false, &format!(": {error}")),
        }
    }
    Ok(())
}
