//! The files that the words of a command may name: in each possible working directory, as written and with symbolic links
//! resolved.
//!
//! A shell follows `..` after a link in `cd` by the text, and programs follow it by the file. Both count.

use std::path::{Path, PathBuf};

use super::Unanalyzable;
use super::program_lists::STREAM_DEVICES;
use super::word::Word;
use super::wrapper::{self, CommandStep, CommandSteps};
use crate::links::{MatchedFile, normalize};
use crate::policy::Policy;

/// Programs that remove a link itself and not what it leads to.
const LINK_REMOVERS: &[&str] = &["rm", "unlink"];

/// A file that a word may name.
pub(crate) struct NamedFile<'w> {
    /// The part of the word that names it.
    pub(crate) spelling: &'w str,
    /// The absolute path, without `.` and `..`.
    pub(crate) path: PathBuf,
    /// Whether a link leads to it.
    pub(crate) is_linked: bool,
}

/// The schemes of addresses that are not files.
const NETWORK_SCHEMES: &[&str] = &["http", "https", "ssh", "git", "ftp", "ftps", "ws", "wss"];

/// The maximum length of the name of a file in bytes.
const MAX_NAME_BYTES: usize = 255;
/// The number of steps through links in one text.
const MAX_LINKED_STEPS: usize = 1000;

/// A step that runs through a link: `./t x`, where `t` is a link to `/usr/bin/touch`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct LinkedStep {
    /// The index of the step with the name of the link.
    pub(crate) at: usize,
    /// The step with the name of the program.
    pub(crate) step: CommandStep,
}

impl Policy {
    /// Returns the paths of a text in each possible working directory, as written and with links resolved.
    pub(crate) fn resolve(&self, text: &str, tilde: bool, directories: &[PathBuf]) -> Vec<PathBuf> {
        let mut resolved = Vec::new();
        for path in self.joined_paths(text, tilde, directories) {
            let plain = normalize(&path);
            let real = self.links.follow(&path, &self.workspace, false).filter(|real| *real != plain);
            resolved.push(plain);
            resolved.extend(real);
        }
        resolved
    }

    /// Returns every file that a word of the program `name` may refer to; `None` if a pattern matches too many files to
    /// look at each.
    pub(crate) fn named_files<'w>(
        &self,
        name: &str,
        word: &'w Word,
        directories: &[PathBuf],
    ) -> Option<Vec<NamedFile<'w>>> {
        let mut files = Vec::new();
        for (spelling, tilde) in possible_paths(word) {
            let keeps_last = LINK_REMOVERS.contains(&name) && !spelling.ends_with('/');
            for path in self.joined_paths(spelling, tilde, directories) {
                let plain = normalize(&path);
                let real = self.links.follow(&path, &self.workspace, keeps_last);
                let linked = real.filter(|real| *real != plain);
                files.push(NamedFile { spelling, path: plain, is_linked: false });
                files.extend(linked.map(|path| NamedFile { spelling, path, is_linked: true }));
                // In the sandbox the files themselves are hidden.
                if word.has_glob && !self.sandboxed {
                    let matches = self.links.expand(Path::new("/"), &path)?;
                    let named = |MatchedFile { path, is_linked, .. }| NamedFile { spelling, path, is_linked };
                    files.extend(matches.into_iter().map(named));
                }
            }
        }
        Some(files)
    }

    /// Returns the steps that programs behind links would run, below the same wrappers.
    ///
    /// # Errors
    /// The first part that cannot be analyzed under the name of the program.
    pub(crate) fn linked_steps<'d>(
        &self,
        steps: &[CommandStep],
        directories_at: impl Fn(usize) -> &'d [PathBuf],
    ) -> Result<Vec<LinkedStep>, Unanalyzable> {
        let mut linked = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            self.add_linked_steps(at, step, directories_at(at), &mut linked)?;
        }
        // A shell behind a link may run a program behind a link.
        let mut done = 0;
        while let Some(LinkedStep { at, step }) = linked.get(done).cloned() {
            done += 1;
            if done > MAX_LINKED_STEPS {
                return Err(Unanalyzable("too many programs behind links"));
            }
            self.add_linked_steps(at, &step, directories_at(at), &mut linked)?;
        }
        Ok(linked)
    }

    fn add_linked_steps(
        &self,
        at: usize,
        step: &CommandStep,
        directories: &[PathBuf],
        linked: &mut Vec<LinkedStep>,
    ) -> Result<(), Unanalyzable> {
        if step.calls_function {
            return Ok(());
        }
        for (depth, call) in step.call_chain.iter().enumerate() {
            let program = call.program.text.as_str();
            if !program.contains('/') {
                continue;
            }
            let paths = self.joined_paths(program, false, directories);
            let mut files: Vec<PathBuf> =
                paths.flat_map(|path| self.links.chain(&path, &self.workspace)).collect();
            files.sort();
            files.dedup();
            for file in files {
                let wrappers = step.call_chain.get(..depth).unwrap_or_default();
                let CommandSteps { steps, .. } =
                    wrapper::steps_of_program(&file.to_string_lossy(), call, wrappers)?;
                let new = steps.into_iter().map(|step| LinkedStep { at, step });
                linked.extend(new.filter(|new| !linked.contains(new)).collect::<Vec<_>>());
            }
        }
        Ok(())
    }

    /// Returns the absolute paths of a text, which may have `.` and `..`.
    fn joined_paths<'a>(
        &'a self,
        text: &'a str,
        tilde: bool,
        directories: &'a [PathBuf],
    ) -> impl Iterator<Item = PathBuf> + 'a {
        let home = std::slice::from_ref(&self.home);
        let (bases, rest) = match tilde {
            true => (home, text.trim_start_matches('~').trim_start_matches('/')),
            false => (directories, text),
        };
        bases.iter().map(move |base| base.join(rest))
    }
}

/// Returns what may be the value of an option at the end of option letters: `link` of `-czflink`.
fn glued_values(letters: &str) -> impl Iterator<Item = &str> {
    let option_letters = letters.bytes().take_while(u8::is_ascii_alphanumeric).count();
    // No file has a longer name.
    let name_end = letters.find('/').unwrap_or(letters.len());
    let first = name_end.saturating_sub(MAX_NAME_BYTES).max(1);
    (first..=option_letters).filter_map(|at| letters.get(at..))
}

/// Returns the paths that a word may contain, and whether each starts with `~`: the word itself, the value of an
/// option, and the text after `=`, `:`, `@`, `<` and `,`.
pub(crate) fn possible_paths(word: &Word) -> impl Iterator<Item = (&str, bool)> {
    let text = word.text.as_str();
    let value = text.split_once('=').map(|(_, value)| value);
    let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let clustered = letters.and_then(|rest| rest.find(['/', '.', '~']).and_then(|at| rest.get(at..)));
    let behind = text.rsplit_once([':', '@']).filter(|(before, path)| {
        // The host of an address is not a file, but the path of `file:///x` is.
        !(path.starts_with("//") && NETWORK_SCHEMES.contains(before))
    });
    let behind = behind.map(|(_, path)| path);
    // The file of a form (`-F name=<x`), and the last one of a list.
    let last = text.rsplit_once(['<', ',']).map(|(_, path)| path);
    let url = text.strip_prefix("file://");
    [Some(text), value, clustered, behind, last, url]
        .into_iter()
        .flatten()
        .chain(letters.into_iter().flat_map(glued_values))
        .filter(|spelling| !spelling.is_empty() && !STREAM_DEVICES.contains(spelling))
        .map(|spelling| (spelling, word.has_tilde || spelling.starts_with("~/")))
}
