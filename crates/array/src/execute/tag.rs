//! What the tag of a command says: what of the array the command is for.

/// Set in the tag of a command that belongs to a plan; then come 31 bits of piece and 32 of
/// command.
const PLANNED: u64 = 1 << 63;
/// Set in the tag of a command that was joined from several; the rest is its entry.
const JOINED: u64 = 1 << 62;

/// What a command that goes to a member belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// A request that went straight to the member.
    Direct { entry: u32 },
    /// One command of a piece's batch.
    Planned { piece: u32, command: u32 },
    /// Writes of several pieces that are one command.
    Joined { entry: u32 },
}

impl Tag {
    #[inline]
    pub(super) fn encode(self) -> u64 {
        match self {
            Tag::Direct { entry } => u64::from(entry),
            Tag::Joined { entry } => JOINED | u64::from(entry),
            Tag::Planned { piece, command } => {
                PLANNED | u64::from(piece) << 32 | u64::from(command)
            }
        }
    }

    #[inline]
    pub(super) fn decode(tag: u64) -> Tag {
        if tag & PLANNED != 0 {
            Tag::Planned { piece: (tag >> 32 & 0x7fff_ffff) as u32, command: tag as u32 }
        } else if tag & JOINED != 0 {
            Tag::Joined { entry: tag as u32 }
        } else {
            Tag::Direct { entry: tag as u32 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_back_as_they_were() {
        for tag in [
            Tag::Direct { entry: 0 },
            Tag::Direct { entry: u32::MAX },
            Tag::Joined { entry: 0 },
            Tag::Joined { entry: u32::MAX },
            Tag::Planned { piece: 0, command: 0 },
            Tag::Planned { piece: 0x7fff_ffff, command: u32::MAX },
        ] {
            assert_eq!(Tag::decode(tag.encode()), tag);
        }
    }
}
