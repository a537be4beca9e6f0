//! Which messages are known to be over when another one starts: a bit for each.

pub(crate) struct KnownMessages {
    words: usize,
    bits: Vec<u64>,
}

impl KnownMessages {
    /// Of so many messages, none of which knows of any.
    pub(crate) fn new(messages: usize) -> KnownMessages {
        let words = messages.div_ceil(64);
        KnownMessages {
            words,
            bits: vec![0; words * messages],
        }
    }

    /// The message starts after this one of the same sender.
    pub(crate) fn begin(&mut self, message: u32, last: Option<u32>) {
        last.map(|last| self.learn(message, last));
    }

    /// The message starts after this earlier one, and all that it knows of. Gives false if it knew.
    pub(crate) fn learn(&mut self, message: u32, earlier: u32) -> bool {
        if self.knows(message, earlier) {
            return false;
        }
        let (before, own) = self.bits.split_at_mut(message as usize * self.words);
        let known = &before[earlier as usize * self.words..][..self.words];
        own.iter_mut()
            .zip(known)
            .for_each(|(own, known)| *own |= known);
        own[earlier as usize / 64] |= 1 << (earlier % 64);
        true
    }

    pub(crate) fn knows(&self, message: u32, earlier: u32) -> bool {
        let word = message as usize * self.words + earlier as usize / 64;
        self.bits[word] & (1 << (earlier % 64)) != 0
    }
}
