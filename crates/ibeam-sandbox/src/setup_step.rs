//! Steps of a confined start that the system may refuse, for error messages.

/// A step. The child sends its number to the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SetupStep {
    /// Steps of every start, confined or not.
    Start,
    Filter,
    Identity,
    Loopback,
    Listener,
    Propagation,
    Writable,
    ReadOnlyRoot,
    Proc,
    Overmount,
    Pin,
    Mask,
    Limits,
    Capabilities,
    Privileges,
    Landlock,
    Seccomp,
    Sockets,
}

const ALL: [SetupStep; 18] = [
    SetupStep::Start,
    SetupStep::Filter,
    SetupStep::Identity,
    SetupStep::Loopback,
    SetupStep::Listener,
    SetupStep::Propagation,
    SetupStep::Writable,
    SetupStep::ReadOnlyRoot,
    SetupStep::Proc,
    SetupStep::Overmount,
    SetupStep::Pin,
    SetupStep::Mask,
    SetupStep::Limits,
    SetupStep::Capabilities,
    SetupStep::Privileges,
    SetupStep::Landlock,
    SetupStep::Seccomp,
    SetupStep::Sockets,
];

impl SetupStep {
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        ALL.into_iter().find(|step| *step as u8 == number)
    }

    /// Returns a short description.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Start => "the process",
            Self::Filter => "a seccomp filter for this machine",
            Self::Identity => "the uid and gid maps",
            Self::Loopback => "the loopback interface",
            Self::Listener => "the socket for the proxy",
            Self::Propagation => "private mounts",
            Self::Writable => "a writable directory",
            Self::ReadOnlyRoot => "the read-only view of all files",
            Self::Proc => "a private /proc",
            Self::Overmount => "a private /dev, /run and /tmp",
            Self::Pin => "a read-only path",
            Self::Mask => "a hidden path",
            Self::Limits => "resource limits",
            Self::Capabilities => "dropping capabilities",
            Self::Privileges => "no_new_privs",
            Self::Landlock => "Landlock",
            Self::Seccomp => "seccomp",
            Self::Sockets => "the list of granted sockets",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_by_its_number() {
        for step in ALL {
            assert_eq!(SetupStep::from_number(step as u8), Some(step));
        }
        assert_eq!(SetupStep::from_number(ALL.len().try_into().unwrap()), None);
    }
}
