//! Synchronizations by message, and the clocks they carry.
use super::super::delivery::NOWHERE;
use super::{SenderPhaseCount, join};
use crate::transfers::TransferWait;

/// The synchronizations by message.
pub(super) struct TokensByMessage {
    /// First place of each message's entries in `awaited`; one more at the end.
    first: Vec<u32>,
    awaited: Vec<u32>,
    out: Vec<u32>,
}

impl TokensByMessage {
    pub(super) fn new(messages: usize, waits: &[TransferWait]) -> TokensByMessage {
        let (mut first, mut out) = (vec![0u32; messages + 1], vec![0u32; messages]);
        for &TransferWait { after, before, .. } in waits {
            first[before as usize + 1] += 1;
            out[after as usize] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let (mut next, mut awaited) = (first.clone(), vec![0u32; waits.len()]);
        for &TransferWait { after, before, .. } in waits {
            awaited[next[before as usize] as usize] = after;
            next[before as usize] += 1;
        }
        TokensByMessage {
            first,
            awaited,
            out,
        }
    }

    /// The messages whose tokens this one awaits.
    pub(super) fn to(&self, position: u32) -> &[u32] {
        &self.awaited
            [self.first[position as usize] as usize..self.first[position as usize + 1] as usize]
    }

    /// The number of tokens that follow this message.
    pub(super) fn after(&self, position: u32) -> u32 {
        self.out[position as usize]
    }
}

/// Clocks of messages that have tokens under way, in rows that are used again.
pub(super) struct TokenClocks {
    width: usize,
    slot: Vec<u32>,
    values: Vec<SenderPhaseCount>,
    under_way: Vec<u32>,
    free: Vec<u32>,
}

impl TokenClocks {
    pub(super) fn new(width: usize, messages: usize) -> TokenClocks {
        TokenClocks {
            width,
            slot: vec![NOWHERE; messages],
            values: Vec::new(),
            under_way: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, position: u32, tokens: u32, clock: &[SenderPhaseCount]) {
        if tokens == 0 {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(0);
            self.values.resize(self.values.len() + self.width, 0);
            self.under_way.len() as u32 - 1
        });
        self.slot[position as usize] = slot;
        self.under_way[slot as usize] = tokens;
        self.values[slot as usize * self.width..][..self.width].copy_from_slice(clock);
    }

    pub(super) fn deliver(&mut self, after: u32, clock: &mut [SenderPhaseCount]) {
        let slot = self.slot[after as usize];
        let source = &self.values[slot as usize * self.width..][..self.width];
        join(clock, source);
        self.under_way[slot as usize] -= 1;
        if self.under_way[slot as usize] == 0 {
            self.free.push(slot);
        }
    }
}
