//! Messages of a supervisor or a server over its socket: eight bytes with a tag and a number.

use std::os::fd::AsFd;

/// Length of every frame in bytes.
pub(crate) const FRAME_LENGTH: usize = 8;

/// One message of a supervisor or of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The server is ready, or a command runs, with this process id in its own pid namespace.
    Started(i32),
    /// The command could not be executed, with this error number.
    SpawnFailed(i32),
    /// The server could not be confined: number of the failed step, and error number.
    SetupFailed(u8, i32),
    /// The socket for the proxy is attached to this frame.
    Listening,
    /// The command has ended with this status of waitpid(2); its descendants may still run.
    Ended(i32),
}

impl Frame {
    /// Returns the bytes of the frame.
    pub(crate) fn encode(self) -> [u8; FRAME_LENGTH] {
        let (tag, number): (u32, i32) = match self {
            Self::Started(pid) => (1, pid),
            Self::SpawnFailed(errno) => (2, errno),
            Self::Ended(status) => (3, status),
            Self::SetupFailed(step, errno) => (4 | u32::from(step) << 8, errno),
            Self::Listening => (5, 0),
        };
        (u64::from(tag) << 32 | u64::from(number.cast_unsigned())).to_ne_bytes()
    }

    /// Parses a frame. Returns `None` for invalid bytes.
    pub(crate) fn decode(bytes: [u8; FRAME_LENGTH]) -> Option<Self> {
        let both = u64::from_ne_bytes(bytes);
        let number = (both as u32).cast_signed();
        let [tag, step, 0, 0] = ((both >> 32) as u32).to_le_bytes() else { return None };
        match (tag, step) {
            (1, 0) => Some(Self::Started(number)),
            (2, 0) => Some(Self::SpawnFailed(number)),
            (3, 0) => Some(Self::Ended(number)),
            (4, step) => Some(Self::SetupFailed(step, number)),
            (5, 0) => Some(Self::Listening),
            (_, _) => None,
        }
    }

    /// Sends the frame. Errors are ignored: a peer that has ended does not need the frame.
    pub(crate) fn send(self, socket: impl AsFd) {
        let _ = rustix::io::write(socket, &self.encode());
    }
}

#[cfg(test)]
mod tests {
    use super::Frame;

    #[test]
    fn a_frame_is_read_as_it_was_sent() {
        let ends = [Frame::Ended(-1), Frame::Ended(i32::MAX)];
        let refusals = [Frame::SetupFailed(0, 1), Frame::SetupFailed(255, -1)];
        let others = [Frame::Started(7), Frame::SpawnFailed(2), Frame::Listening];
        for frame in ends.into_iter().chain(refusals).chain(others) {
            assert_eq!(Frame::decode(frame.encode()), Some(frame));
        }
        assert_eq!(Frame::decode([0; 8]), None);
    }
}
