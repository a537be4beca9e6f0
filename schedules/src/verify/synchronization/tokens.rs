//! The synchronizations by message.
use crate::transfers::{TransferSchedule, TransferWait};

/// The synchronizations by message.
pub(super) struct TokensByMessage {
    /// First place of each message's entries in `awaited`; one more at the end.
    first: Vec<u32>,
    awaited: Vec<u32>,
    out: Vec<u32>,
    /// True if the senders of the earlier messages give the tokens, and not their receivers.
    pub(super) by_sender: bool,
}

impl TokensByMessage {
    pub(super) fn new(schedule: &TransferSchedule, waits: &[TransferWait]) -> TokensByMessage {
        let messages = schedule.ends().len();
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
            by_sender: waits
                .first()
                .is_none_or(|wait| schedule.ends()[wait.after as usize].src == wait.from),
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
