//! The session files that the program left on disk.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The files of all sessions of a home.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    /// Path and text of each file.
    files: Vec<(String, String)>,
}

impl Journal {
    /// Reads all files below the directory of sessions.
    pub(crate) fn read(sessions: &Path) -> Self {
        let mut journal = Self::default();
        journal.collect(sessions);
        journal
    }

    fn collect(&mut self, directory: &Path) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.collect(&path),
                Ok(kind) if kind.is_file() => {
                    let text = fs::read(&path).unwrap_or_default();
                    self.files
                        .push((path.display().to_string(), String::from_utf8_lossy(&text).into_owned()));
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(_, text)| text.as_str())
    }

    /// Whether the journal has fewer finished calls than the `completed` ones that were printed, a torn line, or no
    /// end.
    pub(crate) fn has_lost_records(&self, completed: usize) -> bool {
        let segments = self.files.iter().filter(|(path, _)| {
            let name = path.rsplit('/').next().unwrap_or_default();
            name.starts_with("events.") && name.ends_with(".jsonl")
        });
        let lines: Vec<&str> = segments.clone().flat_map(|(_, text)| text.lines()).collect();
        let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
        let torn = segments.clone().any(|(_, text)| !text.ends_with('\n'))
            || lines.iter().any(|line| serde_json::from_str::<Value>(line).is_err());
        // A payload that is stored in its own file leaves only its name in the line.
        let finished = count("\"tool_call_finished\"") + count("\"blob\":");
        torn || lines.is_empty() || finished < completed || count("\"run_finished\"") == 0
    }
}

#[cfg(test)]
impl Journal {
    /// Removes the end of the last line.
    pub(crate) fn tear(&mut self) {
        self.files.iter_mut().for_each(|(_, text)| text.truncate(text.len() - 1));
    }
}
