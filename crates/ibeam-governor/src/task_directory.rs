//! The places of the files of a task in the directory of its fleet.

use std::path::{Path, PathBuf};

/// The answers of the model that a task has got in its current attempt.
pub const ANSWERS: &str = "answers.ndjson";

/// Returns the directory of a task below `tasks`. Not all tasks are in one directory: file systems get slow with many
/// entries. Fleets of earlier versions have no other level.
pub fn task_directory(tasks: &Path, id: &str) -> PathBuf {
    let flat = tasks.join(id);
    if flat.is_dir() {
        return flat;
    }
    // No id has the character `@`. FNV-1a, because the value must never change.
    let hash =
        id.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let group = (hash ^ hash >> 16 ^ hash >> 8 ^ hash >> 24) & 0xff;
    tasks.join(format!("@{group:02x}")).join(id)
}

/// Returns the file with the answers of the model that a task has got in its current attempt. `fleet` is the directory of
/// the fleet.
pub fn answers_file(fleet: &Path, task: &str) -> PathBuf {
    task_directory(&fleet.join("tasks"), task).join(ANSWERS)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn tasks_are_in_two_levels_and_those_of_earlier_versions_stay_where_they_are() {
        let home = tempfile::tempdir().unwrap();
        let tasks = home.path();
        fs::create_dir(tasks.join("old")).unwrap();
        assert_eq!(task_directory(tasks, "old"), tasks.join("old"));
        // The place of a task must not change with the version.
        assert_eq!(task_directory(tasks, "fix-typo"), tasks.join("@22/fix-typo"));
        let groups: std::collections::BTreeSet<PathBuf> = (0..10_000)
            .filter_map(|number| Some(task_directory(tasks, &format!("t{number}")).parent()?.to_owned()))
            .collect();
        assert_eq!(groups.len(), 256);
    }
}
