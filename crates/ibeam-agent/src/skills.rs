//! Skills: folders with a `SKILL.md`, the instructions for one kind of task.
//!
//! The model receives the name and the description of each skill. It loads the instructions with the tool `skill` when a
//! task needs them. The format is that of the published Agent Skills; settings that would widen permissions or run
//! something, such as `allowed-tools` and `hooks`, have no effect.

mod skill_tool;

use std::path::{Path, PathBuf};

use ibeam_output::escape_to_one_line;
use ibeam_protocol::Notice;

use crate::frontmatter::Frontmatter;
use crate::instructions::shorten_description;
use crate::text_sources::{MAX_ENTRIES, TextOwner, TextSources};
pub(crate) use skill_tool::{NAME as SKILL_TOOL_NAME, SkillTool, skill_text};

pub(crate) const SKILL_FILE: &str = "SKILL.md";
/// The number of bytes of a file in which its header must end.
const MAX_HEADER_BYTES: usize = 16 * 1024;
/// The number of bytes of the list of skills of one owner.
const MAX_LIST_BYTES: usize = 16 * 1024;
const MAX_SKILLS: usize = 256;
/// The number of characters of a name.
const MAX_NAME_CHARS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// The arguments that the user can give with `/NAME`.
    pub(crate) argument_hint: Option<String>,
    pub owner: TextOwner,
    /// Whether its texts count like texts of the user.
    pub(crate) is_trusted: bool,
    /// The path of `SKILL.md`.
    pub file: PathBuf,
    /// Whether the model may load it by itself.
    pub(crate) is_offered: bool,
    /// Whether the user may start it as `/NAME`.
    pub(crate) is_invocable: bool,
}

/// The skills of the user and of the project.
#[derive(Debug, Default)]
pub struct Skills {
    skills: Vec<Skill>,
    notices: Vec<Notice>,
}

impl Skills {
    /// Reads the headers of all skills. Of several skills with one name, the first in the order of the directories
    /// counts, so a project does not replace a skill of the user.
    pub fn load(sources: &TextSources) -> Self {
        let mut found = Self::default();
        let mut is_cut = false;
        for (owner, directory) in sources.text_directories() {
            // The configuration directory of ibeam contains keys and is hidden from the model.
            if sources.user_directories.first() == Some(&directory) {
                continue;
            }
            let Ok(entries) = std::fs::read_dir(directory.join("skills")) else { continue };
            let mut folders: Vec<PathBuf> =
                entries.take(MAX_ENTRIES).flatten().map(|entry| entry.path()).collect();
            folders.sort();
            for folder in folders {
                let path = folder.join(SKILL_FILE);
                let Some(file) = sources.read(owner, &path, MAX_HEADER_BYTES) else { continue };
                let is_trusted = owner == TextOwner::User || sources.is_trusted_at(&path);
                let (header, body) = Frontmatter::split(&file.text);
                found.notices.extend(header.faults().iter().map(|fault| fault.notice(&path)));
                match parse(&header, body, (owner, is_trusted), &path) {
                    Ok(skill) if found.named(&skill.name).is_some() => {}
                    Ok(_) if found.skills.len() == MAX_SKILLS => is_cut = true,
                    Ok(skill) => found.skills.push(skill),
                    Err(detail) => {
                        let path = path.display().to_string();
                        found.notices.push(Notice::TextFileIgnored { path, detail });
                    }
                }
            }
        }
        let lists = [(TextOwner::User, true), (TextOwner::Project, true), (TextOwner::Project, false)];
        let is_list_cut =
            |(owner, is_trusted)| found.list(owner, is_trusted).is_some_and(|(_, is_cut)| is_cut);
        if is_cut || lists.into_iter().any(is_list_cut) {
            found.notices.extend(Notice::texts_cut(&["the list of skills".to_owned()]));
        }
        found
    }

    /// Returns the notices about skills that are not used.
    pub(crate) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Leaves it to the user to start skills.
    pub(crate) fn offer_none(&mut self) {
        self.skills.iter_mut().for_each(|skill| skill.is_offered = false);
    }

    /// Whether the model may load any skill.
    pub(crate) fn has_offered(&self) -> bool {
        self.skills.iter().any(|skill| skill.is_offered)
    }

    /// Returns the part of a prompt that lists the skills of `owner` that are trusted, or those that are not; `None` if
    /// there are none.
    pub(crate) fn list_text(&self, owner: TextOwner, is_trusted: bool) -> Option<String> {
        let (list, _) = self.list(owner, is_trusted)?;
        let name = match owner {
            TextOwner::User => "user",
            TextOwner::Project => "project",
        };
        Some(format!(
            "\n# Skills of the {name}\n\nA skill has instructions for one kind of task. When the task fits a \
             description, load the skill with the tool `skill` before you begin, and follow it.\n\n{list}"
        ))
    }

    /// Returns the list of the skills of `owner`, and whether some are left out.
    fn list(&self, owner: TextOwner, is_trusted: bool) -> Option<(String, bool)> {
        let mut list = String::new();
        let is_listed =
            |skill: &&Skill| skill.owner == owner && skill.is_trusted == is_trusted && skill.is_offered;
        for skill in self.skills.iter().filter(is_listed) {
            let line = format!("- {}: {}\n", skill.name, escape_to_one_line(&skill.description));
            if list.len() + line.len() > MAX_LIST_BYTES {
                return Some((list, true));
            }
            list.push_str(&line);
        }
        (!list.is_empty()).then_some((list, false))
    }
}

/// Returns the skill with this header and text of `SKILL.md`, of its owner, whom the user may trust.
///
/// # Errors
/// The reason why it cannot be used.
fn parse(
    header: &Frontmatter,
    body: &str,
    (owner, is_trusted): (TextOwner, bool),
    path: &Path,
) -> Result<Skill, String> {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = header.text("name").unwrap_or(&folder);
    if !is_name(name) {
        return Err(format!(
            "`name: {}` should have letters, digits and hyphens only, at most {MAX_NAME_CHARS}",
            escape_to_one_line(name)
        ));
    }
    let description = header.text("description").or_else(|| first_sentence(body)).ok_or_else(|| {
        "it has neither a `description`, by which the model chooses it, nor a text; begin the file with `---`, \
         `name: …`, `description: …`, `---`"
            .to_owned()
    })?;
    Ok(Skill {
        name: name.to_owned(),
        description: shorten_description(description),
        argument_hint: header.text("argument-hint").map(str::to_owned),
        owner,
        is_trusted,
        file: path.to_owned(),
        is_offered: header.guard("disable-model-invocation", true) != Some(true),
        is_invocable: header.guard("user-invocable", false) != Some(false),
    })
}

/// Returns the first line of a text that is not a heading, else its first heading.
fn first_sentence(body: &str) -> Option<&str> {
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    let heading = lines.clone().next()?.trim_start_matches(['#', ' ']);
    let line = lines.find(|line| !line.starts_with('#')).unwrap_or(heading);
    (!line.is_empty()).then_some(line)
}

/// Whether a text is the name of a skill or of a command.
pub(crate) fn is_name(text: &str) -> bool {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.starts_with(char::is_alphanumeric)
        && text.chars().all(is_allowed)
        && text.chars().count() <= MAX_NAME_CHARS
}

#[cfg(test)]
#[path = "skills_test.rs"]
mod tests;
