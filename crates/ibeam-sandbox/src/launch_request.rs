//! A request to the fork server, as bytes that become the arguments of execve(2) without allocation.
//!
//! The request begins with words: error number, number of arguments, number of variables, offset of the program, offset
//! of the directory, the offsets of the arguments and the offsets of the variables, each of the two lists ended by 0.
//! The texts follow, each ended by NUL. Offsets count from the first byte, so that adding the address of the request
//! turns them into pointers.

use std::ffi::{OsStr, OsString};
use std::iter::once;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Size of a word in bytes.
const WORD: usize = size_of::<usize>();
/// Number of words before the two lists.
const HEADER_WORDS: usize = 5;
/// The variable that names the directory for temporary files.
const TMPDIR: &str = "TMPDIR";

/// A command to start.
#[derive(Clone, Copy, Debug)]
pub struct LaunchSpec<'a> {
    /// Absolute path of the program.
    pub program: &'a Path,
    /// Arguments; the first one is the program's own name.
    pub arguments: &'a [&'a OsStr],
    pub environment: &'a [(OsString, OsString)],
    /// Absolute path of the working directory.
    pub directory: &'a Path,
    /// Standard input, output and error.
    pub stdio: [BorrowedFd<'a>; 3],
}

/// A text of the request contains a NUL byte.
#[derive(Debug)]
pub(crate) struct NulByteError;

/// Encodes the request. `temporary` replaces the variable `TMPDIR`.
pub(crate) fn encode(launch: &LaunchSpec<'_>, temporary: Option<&Path>) -> Result<Vec<u8>, NulByteError> {
    let given = launch.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let temporary = temporary.map(|path| (OsStr::new(TMPDIR), path.as_os_str()));
    let variables: Vec<Vec<u8>> = given
        .filter(|(name, _)| temporary.is_none() || *name != TMPDIR)
        .chain(temporary)
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
        .collect();
    let (argc, envc) = (launch.arguments.len(), variables.len());
    let mut next_offset = (HEADER_WORDS + argc + 1 + envc + 1) * WORD;
    let mut texts = Vec::new();
    let mut push_text = |text: &[u8]| {
        if text.contains(&0) {
            return Err(NulByteError);
        }
        texts.extend_from_slice(text);
        texts.push(0);
        let offset = next_offset;
        next_offset += text.len() + 1;
        Ok(offset)
    };
    let program = push_text(launch.program.as_os_str().as_bytes())?;
    let directory = push_text(launch.directory.as_os_str().as_bytes())?;
    let arguments =
        launch.arguments.iter().map(|text| push_text(text.as_bytes())).collect::<Result<Vec<_>, _>>()?;
    let variables = variables.iter().map(|text| push_text(text)).collect::<Result<Vec<_>, _>>()?;
    let words = [0, argc, envc, program, directory].into_iter();
    let words = words.chain(arguments).chain(once(0)).chain(variables).chain(once(0));
    let mut bytes: Vec<u8> = words.flat_map(usize::to_ne_bytes).collect();
    bytes.extend_from_slice(&texts);
    Ok(bytes)
}

/// Offsets in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) program: usize,
    pub(crate) directory: usize,
    pub(crate) arguments: usize,
    /// The list of variables.
    pub(crate) environment: usize,
    end: usize,
}

impl Layout {
    /// Parses the head of a request. Returns `None` if there are too few bytes.
    pub(crate) fn parse(request: &[u8]) -> Option<Self> {
        let (argc, envc) = (word(request, 1)?, word(request, 2)?);
        let arguments = HEADER_WORDS * WORD;
        let environment = argc.checked_add(1)?.checked_mul(WORD)?.checked_add(arguments)?;
        let end = envc.checked_add(1)?.checked_mul(WORD)?.checked_add(environment)?;
        (end <= request.len()).then_some(Self {
            program: word(request, 3)?,
            directory: word(request, 4)?,
            arguments,
            environment,
            end,
        })
    }

    /// Returns the offsets of all words that become pointers.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = usize> + use<> {
        (self.arguments..self.end).step_by(WORD)
    }
}

/// Stores the error with which the command could not be executed.
pub(crate) fn set_error(request: &mut [u8], errno: i32) {
    if let Some(place) = request.first_chunk_mut() {
        *place = (errno as usize).to_ne_bytes();
    }
}

/// Returns the error with which the command could not be executed; 0 if it runs.
pub(crate) fn read_error(request: &[u8]) -> i32 {
    word(request, 0).and_then(|errno| i32::try_from(errno).ok()).unwrap_or(0)
}

fn word(request: &[u8], index: usize) -> Option<usize> {
    Some(usize::from_ne_bytes(*request.get(index * WORD..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_request_holds_every_text_at_its_place() {
        let (stdin, arguments) = (std::io::stdin(), [OsStr::new("bash"), OsStr::new("-c")]);
        let launch = LaunchSpec {
            program: Path::new("/bin/bash"),
            arguments: &arguments,
            environment: &[("A".into(), "b".into()), ("TMPDIR".into(), "/home".into())],
            directory: Path::new("/tmp"),
            stdio: [stdin.as_fd(); 3],
        };
        let bytes = encode(&launch, Some(Path::new("/tmp"))).unwrap();
        let layout = Layout::parse(&bytes).unwrap();
        let text =
            |place: usize| std::ffi::CStr::from_bytes_until_nul(&bytes[place..]).unwrap().to_str().unwrap();
        let list: Vec<&str> = layout
            .pointers()
            .map(|at| match word(&bytes, at / WORD).unwrap() {
                0 => "|",
                place => text(place),
            })
            .collect();
        assert_eq!((text(layout.program), text(layout.directory)), ("/bin/bash", "/tmp"));
        assert_eq!(list, ["bash", "-c", "|", "A=b", "TMPDIR=/tmp", "|"]);
        assert_eq!(Layout::parse(&bytes[..40]), None);
        assert!(encode(&LaunchSpec { directory: Path::new("/a\0b"), ..launch }, None).is_err());
    }
}
