//! What a server has sent and its channel has not looked at yet.

use block::BufMut;

/// So many bytes are asked for at a time: eight replies with 4 KiB each, with one system call.
const INBOX_BYTES: usize = 32 << 10;

/// Bytes from the server, in the order in which they came.
pub(super) struct Inbox {
    /// `None` while the kernel fills a part of it; then `around` is what lies before and behind.
    buffer: Option<BufMut>,
    around: Option<(BufMut, BufMut)>,
    /// What is not looked at yet lies from here to `end`.
    start: usize,
    end: usize,
}

impl Inbox {
    pub(super) fn new() -> Inbox {
        Inbox { buffer: Some(BufMut::zeroed(INBOX_BYTES)), around: None, start: 0, end: 0 }
    }

    /// What is there to be looked at; nothing while the kernel fills it.
    pub(super) fn unread(&self) -> &[u8] {
        let whole = self.buffer.as_ref().and_then(BufMut::as_slice);
        whole.map_or(&[], |bytes| &bytes[self.start..self.end])
    }

    /// So many bytes have been looked at.
    pub(super) fn skip(&mut self, count: usize) {
        self.start += count;
    }

    /// The place for at most `most` bytes more, for the kernel to fill; [`Inbox::put`] takes it
    /// back.
    pub(super) fn room(&mut self, most: usize) -> BufMut {
        let mut rest = self.buffer.take().expect("one receive at a time");
        let left = self.end - self.start;
        if self.start > 0 {
            let bytes = rest.as_mut_slice().expect("it is one piece");
            bytes.copy_within(self.start..self.end, 0);
        }
        (self.start, self.end) = (0, left);
        let front = rest.split_to(left);
        let room = rest.split_to(most.min(rest.len()));
        self.around = Some((front, rest));
        room
    }

    /// Takes the room back, with so many bytes in it.
    pub(super) fn put(&mut self, room: BufMut, count: usize) {
        let (mut whole, back) = self.around.take().expect("there was room");
        whole.append(room);
        whole.append(back);
        self.buffer = Some(whole);
        self.end += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in_whatever_the_parts() {
        let mut random = reactor::Random::with_seed(7);
        let (mut inbox, mut next, mut seen) = (Inbox::new(), 0_u8, 0_u8);
        for _ in 0..20_000 {
            let mut room = inbox.room(1 + random.usize(..9000));
            assert!(inbox.unread().is_empty(), "nothing is read while it is filled");
            let count = random.usize(..9000).min(room.len());
            for byte in &mut room.as_mut_slice().expect("one piece")[..count] {
                (*byte, next) = (next, next.wrapping_add(1));
            }
            inbox.put(room, count);
            let unread = inbox.unread().len();
            let take = unread.saturating_sub(random.usize(..4000));
            for byte in &inbox.unread()[..take] {
                assert_eq!(*byte, seen);
                seen = seen.wrapping_add(1);
            }
            inbox.skip(take);
        }
    }
}
