//! The places and the reading of texts for the model: rule files, skills, slash commands.
//!
//! The author of a file in a repository is unknown. Such a file is read only if it is a regular file with the name of a
//! text file, if it and all links to it are in the repository, and if the policy lets the model read it. Otherwise a
//! link could pass a file with a key to the model. The user's own files may be links to any text file.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use ibeam_files::regular_file;
use ibeam_policy::PathPolicy;
use sha2::{Digest, Sha256};

use crate::app::AppContext;
use crate::git;

/// The number of bytes of one text that the model receives.
pub(crate) const MAX_TEXT_BYTES: usize = 32 * 1024;
/// The number of entries of a directory that are read.
pub(crate) const MAX_ENTRIES: usize = 4096;
/// The depth of directories below a directory of texts.
const MAX_DEPTH: usize = 4;
const TEXT_ENDINGS: [&str; 3] = ["md", "mdc", "txt"];
/// The name of the rules file of older versions of Cursor, which has no ending.
pub(crate) const CURSOR_RULES_FILE: &str = ".cursorrules";
/// The directories of a project in which texts are, in the order of their precedence.
const PROJECT_DIRECTORIES: [&str; 5] = [".ibeam", ".agents", ".claude", ".cursor", ".codex"];

const REPOSITORY_PREAMBLE: &str = include_str!("../prompts/repository.md");

/// The places of the texts of a project and of its user.
#[derive(Clone, Debug, Default)]
pub struct TextSources {
    /// A real path.
    pub(crate) workspace: PathBuf,
    /// The root of the repository with the workspace, or the workspace.
    pub(crate) root: PathBuf,
    /// Files that the model must not read are not read for it either.
    pub(crate) path_policy: PathPolicy,
    /// Whether the texts of the project count like texts of the user.
    pub(crate) is_trusted: bool,
    /// The user's directories in which texts are, in the order of their precedence.
    pub(crate) user_directories: Vec<PathBuf>,
    /// The directories of `--add-dir` outside of the workspace.
    pub(crate) added_directories: Vec<AddedDirectory>,
}

/// A directory of `--add-dir`, which has rules of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AddedDirectory {
    /// A real path.
    pub(crate) path: PathBuf,
    /// Whether its texts count like texts of the user.
    pub(crate) is_trusted: bool,
}

/// The author of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOwner {
    User,
    /// The authors of the repository.
    Project,
}

/// A text that was read.
#[derive(Debug)]
pub(crate) struct TextFile {
    /// The path without links.
    pub(crate) real: PathBuf,
    /// The text, or its beginning.
    pub(crate) text: String,
    /// Whether the file is longer than the text.
    pub(crate) is_cut: bool,
}

impl TextSources {
    /// Returns the places for the workspace of `app`.
    pub fn new(app: &AppContext, path_policy: PathPolicy) -> Self {
        let home = &app.dirs.home;
        let below_home = [".agents", ".claude", ".cursor", ".codex"].map(|name| home.join(name));
        let root = git::repository_root(&app.workspace).unwrap_or(&app.workspace).to_owned();
        let is_trusted = app.trust.is_trusted();
        let added = app.base.options.added_directories().flatten();
        let mut added_directories: Vec<AddedDirectory> = Vec::new();
        for path in added.filter(|path| !path.starts_with(&app.workspace)) {
            // The other directories of a repository have the authors of the workspace.
            let is_trusted = match path.starts_with(&root) {
                true => is_trusted,
                false => app.trust.is_directory_trusted(&path),
            };
            if added_directories.iter().all(|other| other.path != path) {
                added_directories.push(AddedDirectory { path, is_trusted });
            }
        }
        Self {
            root,
            workspace: app.workspace.clone(),
            path_policy,
            is_trusted,
            added_directories,
            user_directories: std::iter::once(app.dirs.config_directory().to_owned())
                .chain(below_home)
                .collect(),
        }
    }

    /// Returns the workspace or the directory of `--add-dir` that contains `path`, the innermost of several.
    pub(crate) fn directory_with(&self, path: &Path) -> Option<&Path> {
        let added = self.added_directories.iter().map(|directory| directory.path.as_path());
        let all = std::iter::once(self.workspace.as_path()).chain(added);
        all.filter(|directory| path.starts_with(directory))
            .max_by_key(|directory| directory.as_os_str().len())
    }

    /// Whether a text of a project counts like a text of the user.
    pub(crate) fn is_trusted_at(&self, path: &Path) -> bool {
        if path.starts_with(&self.root) {
            return self.is_trusted;
        }
        let Some(place) = self.directory_with(path) else { return false };
        self.added_directories.iter().any(|directory| directory.path == place && directory.is_trusted)
    }

    /// Returns the directory out of which no link to the text at `path` may lead.
    fn root_of(&self, path: &Path) -> &Path {
        match path.starts_with(&self.root) {
            true => &self.root,
            false => self.directory_with(path).unwrap_or(&self.root),
        }
    }

    /// Returns the directories from the root of the repository down to the workspace.
    pub(crate) fn directories(&self) -> Vec<&Path> {
        let mut directories: Vec<&Path> =
            self.workspace.ancestors().take_while(|directory| directory.starts_with(&self.root)).collect();
        directories.reverse();
        directories
    }

    /// Returns the existing directories with texts, in the order of their precedence: those of the user, then those of
    /// the project, the innermost first, then those of the directories of `--add-dir`.
    pub(crate) fn text_directories(&self) -> Vec<(TextOwner, PathBuf)> {
        let user = self.user_directories.iter().map(|path| (TextOwner::User, path.clone()));
        let mut directories: Vec<&Path> = self.directories().into_iter().rev().collect();
        for added in &self.added_directories {
            if !directories.contains(&added.path.as_path()) {
                directories.push(&added.path);
            }
        }
        let project = directories.into_iter().flat_map(|directory| {
            PROJECT_DIRECTORIES.iter().map(|name| (TextOwner::Project, directory.join(name)))
        });
        let mut found: Vec<(TextOwner, PathBuf)> = user.chain(project).collect();
        // In the home directory, the directories of the project are those of the user.
        let user_count = self.user_directories.len();
        let is_users = |path: &PathBuf| self.user_directories.contains(path);
        let mut index = 0;
        found.retain(|(_, path)| {
            index += 1;
            (index <= user_count || !is_users(path)) && path.is_dir()
        });
        found
    }

    /// Returns the start of a text, at most `max_bytes` bytes; `None` if there is none or it may not be read.
    pub(crate) fn read(&self, owner: TextOwner, path: &Path, max_bytes: usize) -> Option<TextFile> {
        let file = regular_file::open(path, true).ok()?;
        let real = real_path(&file, path)?;
        if !is_text_name(&real)
            || owner == TextOwner::Project && !self.may_read(&file, self.root_of(path), &real)
        {
            return None;
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).ok()?;
        let is_cut = bytes.len() > max_bytes;
        let mut text = decode(&bytes);
        if is_cut {
            text.truncate(text.floor_char_boundary(max_bytes));
        }
        (!text.trim().is_empty()).then_some(TextFile { real, text, is_cut })
    }

    /// Whether a file of the project may be given to the model.
    fn may_read(&self, file: &File, root: &Path, real: &Path) -> bool {
        let is_allowed = real.starts_with(root) && self.path_policy.allows_read(real);
        // A hard link to a credential file is not a text.
        is_allowed
            && file
                .metadata()
                .is_ok_and(|metadata| !ibeam_tools::is_hard_link_to_denied(&self.path_policy, &metadata))
    }
}

/// Returns the text of bytes in UTF-8, or in UTF-16 with a byte order mark, as some programs on Windows write it.
fn decode(bytes: &[u8]) -> String {
    let units = |unit: fn([u8; 2]) -> u16, bytes: &[u8]| -> String {
        let pairs = bytes.chunks_exact(2).filter_map(|pair| <[u8; 2]>::try_from(pair).ok());
        char::decode_utf16(pairs.map(unit)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => units(u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => units(u16::from_be_bytes, rest),
        bytes => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Returns the files below `directory` with one of these endings, sorted; `None` if the directory cannot be read. At most
/// `max_files`; the second value is whether there are more.
pub(crate) fn files_below(
    directory: &Path,
    endings: &[&str],
    max_files: usize,
) -> Option<(Vec<PathBuf>, bool)> {
    let has_ending =
        |path: &Path| path.extension().is_some_and(|found| endings.iter().any(|ending| found == *ending));
    walk(directory, &has_ending, max_files)
}

/// Returns the paths of at most `max_files` files below `directory`, relative to it, sorted.
pub(crate) fn list_files(directory: &Path, max_files: usize) -> Vec<PathBuf> {
    let (files, _) = walk(directory, &|_| true, max_files).unwrap_or_default();
    files.iter().filter_map(|path| path.strip_prefix(directory).ok()).map(Path::to_owned).collect()
}

/// Returns the files below `directory` that `is_wanted`, and whether there are more than `max_files`. Does not follow
/// links to directories.
fn walk(
    directory: &Path,
    is_wanted: &dyn Fn(&Path) -> bool,
    max_files: usize,
) -> Option<(Vec<PathBuf>, bool)> {
    let mut pending = vec![(std::fs::read_dir(directory).ok()?, 1)];
    let (mut files, mut entries) = (Vec::new(), 0);
    while let Some((listing, depth)) = pending.pop() {
        for entry in listing.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                break;
            }
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < MAX_DEPTH
                    && let Ok(listing) = std::fs::read_dir(&path)
                {
                    pending.push((listing, depth + 1));
                }
            } else if is_wanted(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    let is_cut = files.len() > max_files || entries > MAX_ENTRIES;
    files.truncate(max_files);
    Some((files, is_cut))
}

/// Returns `content` of a repository that the user does not trust, between lines that its author cannot forge.
pub(crate) fn mark_untrusted(preamble: &str, content: &str) -> String {
    // No author can write a text that contains a line with the hash of the text itself.
    let hash = Sha256::digest(content.as_bytes());
    let marker: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{preamble}\n\n--- begin of repository content {marker}\n{content}\n--- end of repository content {marker}"
    )
}

/// Returns the text before the instructions of a repository that the user does not trust.
pub(crate) fn untrusted_preamble() -> &'static str {
    REPOSITORY_PREAMBLE.trim_end()
}

/// Returns the path of the open file, which may differ from the file that is at `path` now.
fn real_path(file: &File, path: &Path) -> Option<PathBuf> {
    let open_path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    open_path.or_else(|_| path.canonicalize()).ok()
}

/// Whether the file has the name of a text.
fn is_text_name(real: &Path) -> bool {
    let is_text = real.extension().is_some_and(|found| TEXT_ENDINGS.iter().any(|ending| found == *ending));
    is_text || real.file_name().is_some_and(|name| name == CURSOR_RULES_FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_be_in_utf_16_with_its_mark() {
        let bytes =
            |text: &str, of: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(of).collect::<Vec<u8>>();
        let text = "\u{feff}Gr\u{fc}\u{df}e \u{1F600}";
        let expect = "Gr\u{fc}\u{df}e \u{1F600}";
        assert_eq!(decode(&bytes(text, u16::to_le_bytes)), expect);
        assert_eq!(decode(&bytes(text, u16::to_be_bytes)), expect);
        assert_eq!(decode(expect.as_bytes()), expect);
    }
}
