//! The steps of a confined start that the system may refuse, so that it can be told which.

/// One of them; its number is sent from the child to the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SetupStep {
    /// What every start does, confined or not.
    Start,
    Filter,
    Identity,
    Loopback,
    Listener,
    Propagation,
    Writable,
    Seal,
    Proc,
    Overmount,
    PinnedMount,
    Hide,
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
    SetupStep::Seal,
    SetupStep::Proc,
    SetupStep::Overmount,
    SetupStep::PinnedMount,
    SetupStep::Hide,
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

    /// In a few words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Start => "the process",
            Self::Filter => "the filter of system calls for this machine",
            Self::Identity => "the map of user and group",
            Self::Loopback => "the loopback interface",
            Self::Listener => "the socket for the proxy",
            Self::Propagation => "mounts of its own",
            Self::Writable => "a writable directory",
            Self::Seal => "the read-only view of all files",
            Self::Proc => "a /proc of its own",
            Self::Overmount => "a /dev, /run and /tmp of its own",
            Self::PinnedMount => "a read-only path",
            Self::Hide => "a hidden path",
            Self::Limits => "limits of size",
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
    fn every_step_is_known_by_its_number() {
        for step in ALL {
            assert_eq!(SetupStep::from_number(step as u8), Some(step));
        }
        assert_eq!(SetupStep::from_number(ALL.len().try_into().unwrap()), None);
    }
}
