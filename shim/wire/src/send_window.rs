//! The octets that this rank may have under way, in a call whose blocks wait for no tokens: so few
//! that the queues of switches hold those of all ranks. TCP's acknowledgements say what has come.
use crate::shell::WireShell;
use inventory::Bytes;

/// The octets of a call that were sent and that may not have come yet.
#[derive(Debug)]
pub struct SendWindow {
    /// `None`: no limit.
    limit: Option<usize>,
    /// Octets by rank, at least those that are under way.
    sent: Vec<(u32, usize)>,
    is_full: bool,
}

impl SendWindow {
    /// Nothing is under way.
    pub fn new(limit: Option<Bytes>) -> SendWindow {
        SendWindow {
            limit: limit.map(|limit| usize::try_from(limit.0).unwrap_or(usize::MAX)),
            sent: Vec::new(),
            is_full: false,
        }
    }

    /// True if there is a limit.
    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// True if the last octets that were to go have to wait for others to come. Nothing tells when
    /// they have.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The part of `wanted` octets that may go now: all or none, as the end of a block that is cut
    /// is acknowledged late. A block that is longer than the window goes alone.
    pub(crate) fn room<S: WireShell>(
        &mut self,
        shell: &mut S,
        wanted: usize,
    ) -> Result<usize, S::Failure> {
        let Some(limit) = self.limit else {
            return Ok(wanted);
        };
        self.is_full = false;
        if !self.fits(wanted, limit) {
            // Sums only grow until the kernel is asked, a system call a rank: so only when they do not fit.
            for (rank, octets) in &mut self.sent {
                *octets = shell.under_way(*rank)?;
            }
            self.sent.retain(|(_, octets)| *octets > 0);
            self.is_full = !self.fits(wanted, limit);
        }
        Ok(if self.is_full { 0 } else { wanted })
    }

    fn fits(&self, wanted: usize, limit: usize) -> bool {
        let under_way: usize = self.sent.iter().map(|(_, octets)| octets).sum();
        under_way == 0 || under_way.saturating_add(wanted) <= limit
    }

    /// Counts octets that went to a rank.
    pub(crate) fn sent(&mut self, rank: u32, octets: usize) {
        if self.limit.is_none() || octets == 0 {
            return;
        }
        match self.sent.iter_mut().find(|(known, _)| *known == rank) {
            Some((_, sum)) => *sum += octets,
            None => self.sent.push((rank, octets)),
        }
    }
}
