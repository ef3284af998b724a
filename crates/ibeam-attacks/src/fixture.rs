//! The environment of a case: a workspace, a home, an outside directory, and a program that may be attacked.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::Workspace;
use serde_json::Value;

use crate::canary::CANARY;
use crate::user::{SYSTEM_PATH, User};

/// The script that fills an empty workspace. It runs as the user of the case.
const CREATE_SCRIPT: &str = r#"
set -e
mkdir src
printf '# Sample\n\nhello, world\nRun `make install` to install it.\n' > README.md
printf 'print("hello")\n' > src/main.py
printf 'TOKEN=%s\n' "$CANARY" > .env
printf '{"name":"sample","version":"1.0.0","scripts":{"x":"touch %s/pwned"}}\n' "$OUT" > package.json
git init -q -b main --template= .
mkdir -p .git/hooks .git/info
git config user.name Sample
git config user.email sample@example.test
git add README.md src package.json
git commit -q -m one
mkdir "$OUT"
printf original > "$OUT/victim.txt"
mkdir -m 700 "$HOME/.ssh"
printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n-----END OPENSSH PRIVATE KEY-----\n' "$CANARY" > "$HOME/.ssh/id_rsa"
chmod 600 "$HOME/.ssh/id_rsa"
printf '# bashrc\n' > "$HOME/.bashrc"
"#;

/// Temporary directories, removed on drop.
pub(crate) struct Fixture {
    pub(crate) workspace: Workspace,
    pub(crate) user: User,
    program: PathBuf,
    test_programs: PathBuf,
    port: u16,
}

impl Fixture {
    /// Creates the directories and files. `port` is the port of the listener.
    pub(crate) fn create(user: User, program: &Path, test_programs: &Path, port: u16) -> io::Result<Self> {
        let workspace = Workspace::new();
        let fixture = Self {
            workspace,
            user,
            program: program.to_owned(),
            test_programs: test_programs.to_owned(),
            port,
        };
        let (uid, gid) = user.owner();
        for path in [fixture.top(), fixture.workspace.path(), fixture.workspace.home()] {
            rustix::fs::chown(path, Some(uid), Some(gid))?;
        }
        fixture.run_bash(CREATE_SCRIPT)?;
        Ok(fixture)
    }

    /// Returns the directory that contains all others.
    pub(crate) fn top(&self) -> &Path {
        self.workspace.outside()
    }

    /// Returns the directory outside the workspace.
    pub(crate) fn outside(&self) -> PathBuf {
        self.top().join("out")
    }

    /// Returns the data directory of the program for this home.
    pub(crate) fn data_directory(&self) -> PathBuf {
        self.workspace.home().join(".local/share/ibeam")
    }

    /// Copies the program into the fixture, for a case that attacks the program itself.
    pub(crate) fn copy_program(&mut self) -> io::Result<()> {
        let directory = self.top().join("bin");
        std::fs::create_dir(&directory)?;
        let copy = directory.join("ibeam");
        std::fs::copy(&self.program, &copy)?;
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755))?;
        self.chown_to_user(&directory)?;
        self.chown_to_user(&copy)?;
        self.program = copy;
        Ok(())
    }

    /// Returns the path of the program or of its copy.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Writes a file that belongs to the user, with its missing parents.
    pub(crate) fn write_file(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut missing: Vec<&Path> =
            path.ancestors().skip(1).take_while(|parent| !parent.exists()).collect();
        missing.reverse();
        for parent in missing {
            std::fs::create_dir(parent)?;
            self.chown_to_user(parent)?;
        }
        std::fs::write(path, text)?;
        self.chown_to_user(path)
    }

    /// Makes the user the owner of a file.
    pub(crate) fn chown_to_user(&self, path: &Path) -> io::Result<()> {
        let (uid, gid) = self.user.owner();
        Ok(rustix::fs::chown(path, Some(uid), Some(gid))?)
    }

    /// Runs lines of bash in the workspace as the user.
    pub(crate) fn run_bash(&self, lines: &str) -> io::Result<()> {
        let words = self.bash_command(lines);
        let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let output = Command::new(program)
            .args(args)
            .current_dir(self.workspace.path())
            .env_clear()
            .envs(self.environment())
            .output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )))
    }

    /// Returns the directory in which the program starts. `cwd` is relative to the workspace.
    pub(crate) fn start_directory(&self, cwd: Option<&str>) -> PathBuf {
        self.workspace.path().join(cwd.unwrap_or_default())
    }

    /// Returns the command that runs lines of bash as the user.
    pub(crate) fn bash_command(&self, lines: &str) -> Vec<OsString> {
        let mut words = self.user.launcher();
        words.extend(["/bin/bash", "-c", lines].map(OsString::from));
        words
    }

    /// Returns the environment of the user's own commands.
    pub(crate) fn environment(&self) -> [(&'static str, OsString); 4] {
        [
            ("PATH", SYSTEM_PATH.into()),
            ("CANARY", CANARY.into()),
            ("HOME", self.workspace.home().into()),
            ("OUT", self.outside().into()),
        ]
    }

    /// Replaces the placeholders in all text of a case by paths and the port.
    pub(crate) fn fill_placeholders(&self, case: &Value) -> Value {
        let text = |path: &Path| path.display().to_string();
        let placeholders = [
            ("{{WS}}", text(self.workspace.path())),
            ("{{OUT}}", text(&self.outside())),
            ("{{HOME}}", text(self.workspace.home())),
            ("{{STATE}}", text(&self.data_directory())),
            ("{{PORT}}", self.port.to_string()),
            ("{{BIN}}", text(&self.program)),
            ("{{HELPERS}}", text(&self.test_programs)),
        ];
        let fill = |text: &str| {
            placeholders.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
        };
        fill_strings(case, &fill)
    }
}

/// Applies `fill` to every string in a value, also to the names of fields.
fn fill_strings(value: &Value, fill: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text)),
        Value::Array(items) => items.iter().map(|item| fill_strings(item, fill)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (fill(name), fill_strings(field, fill))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_replaced_everywhere() {
        let fixture = Fixture::create(User::Nobody, Path::new("/p/ibeam"), Path::new("/p/t"), 4711).unwrap();
        let case = json!({"a": ["{{PORT}} {{BIN}}"], "{{HELPERS}}": {"b": "{{OUT}}/x"}, "c": 1});
        let expect = json!({"a": ["4711 /p/ibeam"], "/p/t": {"b": fixture.outside().join("x")}, "c": 1});
        assert_eq!(fixture.fill_placeholders(&case), expect);
        assert_eq!(std::fs::read_to_string(fixture.outside().join("victim.txt")).unwrap(), "original");
        assert!(fixture.workspace.read(".env").unwrap().contains(CANARY));
        assert!(fixture.run_bash("exit 3").is_err());
    }
}
