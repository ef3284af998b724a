//! Hook files of a user or a project.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::scene::Scene;
use crate::{Answer, Workspace};

/// Writes the hook file of the user.
pub fn write_hooks(workspace: &Workspace, hooks: &Value) {
    write_file(&workspace.home().join(".cursor/hooks.json"), hooks);
}

/// Writes a hook file.
pub fn write_file(path: &Path, hooks: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, json!({"version": 1, "hooks": hooks}).to_string()).unwrap();
}

/// Returns a scene with these hooks of the user.
pub fn scene_with_hooks(answers: impl IntoIterator<Item = Answer>, hooks: &Value) -> Scene {
    let scene = Scene::new(answers);
    write_hooks(&scene.workspace, hooks);
    scene
}
