//! The few settings of a repository that a view has: those that say how its objects and files are stored, and none that
//! names a program.
//!
//! Included files are not read. A format of repositories that is not known here is an error.

/// The settings of a view about the remotes of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteSettings {
    /// Their references only, for `BRANCH@{upstream}`.
    References,
    /// Their addresses too, and where Git LFS gets files: for the user's filters in a trusted repository.
    Addresses,
}

/// The format in which a repository stores its objects and references.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) is_sha256: bool,
    pub(crate) has_reftable: bool,
    pub(crate) has_worktree_config: bool,
}

/// A setting: its section, its subsection, its name and its value. Section and name are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    section: String,
    subsection: Option<String>,
    name: String,
    /// `None` for a name without `=`, which means true.
    value: Option<String>,
}

/// The settings of `core` about the files of a work tree.
const CORE: [&str; 10] = [
    "autocrlf",
    "eol",
    "safecrlf",
    "symlinks",
    "filemode",
    "ignorecase",
    "precomposeunicode",
    "longpaths",
    "sparsecheckout",
    "sparsecheckoutcone",
];
/// Extensions of the format that change nothing for a view.
const WITHOUT_EFFECT: [&str; 6] =
    ["noop", "noop-v1", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig"];

/// Parses what `git config --list -z` prints.
pub(crate) fn parse(listed: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(listed);
    let entries = text.split('\0').filter(|entry| !entry.is_empty());
    let parsed = entries.filter_map(|entry| {
        let (key, value) = match entry.split_once('\n') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (entry, None),
        };
        let (section, rest) = key.split_once('.')?;
        let (subsection, name) = match rest.rsplit_once('.') {
            Some((subsection, name)) => (Some(subsection.to_owned()), name),
            None => (None, rest),
        };
        let (section, name) = (section.to_ascii_lowercase(), name.to_ascii_lowercase());
        Some(Setting { section, subsection, name, value })
    });
    parsed.collect()
}

/// Returns the format that the settings of a repository declare.
///
/// # Errors
/// The name of an extension that is not known.
pub(crate) fn format(settings: &[Setting]) -> Result<Format, String> {
    let mut format = Format::default();
    for setting in settings.iter().filter(|setting| setting.section == "extensions") {
        let value = setting.value.as_deref().unwrap_or("true");
        match (setting.name.as_str(), value) {
            ("objectformat", "sha1") | ("refstorage", "files") => {}
            ("objectformat", "sha256") => format.is_sha256 = true,
            ("refstorage", "reftable") => format.has_reftable = true,
            ("worktreeconfig", value) => format.has_worktree_config = is_true(value),
            (name, _) if WITHOUT_EFFECT.contains(&name) => {}
            (name, value) => {
                return Err(format!("the repository has the unknown format `extensions.{name} = {value}`"));
            }
        }
    }
    Ok(format)
}

fn is_true(value: &str) -> bool {
    ["true", "yes", "on", "1"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

impl Setting {
    /// Whether a view has the setting.
    fn is_needed(&self, remotes: RemoteSettings) -> bool {
        let has_addresses = remotes == RemoteSettings::Addresses;
        match (self.section.as_str(), self.subsection.is_some(), self.name.as_str()) {
            ("core", false, name) => CORE.contains(&name),
            ("branch", true, "remote" | "merge") | ("remote", true, "fetch") => true,
            ("remote", true, "url" | "lfsurl") | ("remote", false, "lfsdefault") => has_addresses,
            ("lfs", false, "url" | "fetchinclude" | "fetchexclude") | ("lfs", true, "access") => {
                has_addresses
            }
            _ => false,
        }
    }

    /// Returns the setting in the syntax of git; `None` if that cannot express it.
    fn render(&self) -> Option<String> {
        let section = match &self.subsection {
            None => format!("[{}]", self.section),
            Some(name) if name.contains('\n') => return None,
            Some(name) => format!("[{} \"{}\"]", self.section, escape(name)),
        };
        Some(match &self.value {
            None => format!("{section}\n\t{}\n", self.name),
            Some(value) => {
                let value = escape(value).replace('\n', "\\n").replace('\t', "\\t");
                format!("{section}\n\t{} = \"{value}\"\n", self.name)
            }
        })
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Returns the configuration of a view.
pub(crate) fn render(format: Format, settings: &[Setting], remotes: RemoteSettings) -> String {
    let mut text = "[core]\n\trepositoryformatversion = 1\n[extensions]\n".to_owned();
    for (is_set, line) in [
        (format.is_sha256, "\tobjectFormat = sha256\n"),
        (format.has_reftable, "\trefStorage = reftable\n"),
        (format.has_worktree_config, "\tworktreeConfig = true\n"),
    ] {
        if is_set {
            text.push_str(line);
        }
    }
    text.push_str(&render_needed(settings, remotes));
    text
}

/// Returns those of the settings that a view has.
pub(crate) fn render_needed(settings: &[Setting], remotes: RemoteSettings) -> String {
    settings.iter().filter(|setting| setting.is_needed(remotes)).filter_map(Setting::render).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_only_settings_that_name_no_program() {
        let listed = b"core.autocrlf\ninput\0core.symlinks\0core.fsmonitor\n./x\0core.hookspath\nh\0\
            core.sshcommand\nx\0core.worktree\n/y\0filter.e.smudge\nx\0include.path\nx\0\
            includeif.gitdir:**.path\nx\0remote.o.url\next::x\0remote.o.uploadpack\nx\0\
            remote.a\"b\\.fetch\n+refs/*:refs/*\0branch.m.merge\nrefs/heads/m\0diff.external\nx\0\
            credential.helper\n!x\0lfs.customtransfer.x.path\nx\0lfs.url\nhttps://h\0alias.x\n!x\0";
        let settings = parse(listed);
        let expect = "[core]\n\tautocrlf = \"input\"\n[core]\n\tsymlinks\n\
            [remote \"a\\\"b\\\\\"]\n\tfetch = \"+refs/*:refs/*\"\n[branch \"m\"]\n\tmerge = \"refs/heads/m\"\n";
        assert_eq!(render_needed(&settings, RemoteSettings::References), expect);
        let trusted = render_needed(&settings, RemoteSettings::Addresses);
        let added: Vec<&str> = trusted.lines().filter(|line| !expect.contains(line)).collect();
        assert_eq!(added, ["[remote \"o\"]", "\turl = \"ext::x\"", "[lfs]", "\turl = \"https://h\""]);
    }

    #[test]
    fn an_unknown_format_is_an_error() {
        let of = |text: &str| format(&parse(text.as_bytes()));
        let known = of("extensions.objectformat\nsha256\0extensions.worktreeconfig\0");
        let expect = Format { is_sha256: true, has_worktree_config: true, ..Format::default() };
        assert_eq!(known, Ok(expect));
        for text in ["extensions.new\n1", "extensions.refstorage\nfiles:///x", "extensions.objectformat\nx"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
