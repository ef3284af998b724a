//! What a supervisor tells over its socket: eight bytes, a word and a number.

use std::os::fd::AsFd;

/// The length of every frame.
pub(crate) const LENGTH: usize = 8;

/// One word of a supervisor or of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The server is ready; a command runs, with this process id in the command's own view.
    Started(i32),
    /// It could not begin, for this error number.
    Failed(i32),
    /// The command itself has ended, with this status as waitpid(2) gives it; its tree may live.
    Ended(i32),
}

impl Frame {
    fn encode(self) -> [u8; LENGTH] {
        let (word, number): (u32, i32) = match self {
            Self::Started(pid) => (1, pid),
            Self::Failed(errno) => (2, errno),
            Self::Ended(status) => (3, status),
        };
        (u64::from(word) << 32 | u64::from(number.cast_unsigned())).to_ne_bytes()
    }

    /// `None` for what is no frame.
    pub(crate) fn decode(bytes: [u8; LENGTH]) -> Option<Self> {
        let both = u64::from_ne_bytes(bytes);
        let number = (both as u32).cast_signed();
        match both >> 32 {
            1 => Some(Self::Started(number)),
            2 => Some(Self::Failed(number)),
            3 => Some(Self::Ended(number)),
            _ => None,
        }
    }

    /// Sends it. A reader that has gone is told by the end of the socket, so nothing is reported here.
    pub(crate) fn send(self, socket: impl AsFd) {
        let _ = rustix::io::write(socket, &self.encode());
    }
}

#[cfg(test)]
mod tests {
    use super::Frame;

    #[test]
    fn a_frame_is_read_as_it_was_sent() {
        for frame in [Frame::Started(7), Frame::Failed(2), Frame::Ended(-1), Frame::Ended(i32::MAX)] {
            assert_eq!(Frame::decode(frame.encode()), Some(frame));
        }
        assert_eq!(Frame::decode([0; 8]), None);
    }
}
