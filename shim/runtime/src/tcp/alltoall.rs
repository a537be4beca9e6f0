//! MPI_Alltoall by the phases of a schedule, over TCP.
//!
//! A rank sends one block at a time, in the order of its steps, each as soon as its tokens have
//! come; it receives whatever comes. Blocks have one length in a call, so a connection's stream
//! needs no frames: what comes after a whole block belongs to the next call, and stays in the
//! kernel until then.
use super::MeshError;
use super::mesh::{MeshToken, ReadyPeer, TcpMesh};
use crate::watchdog;
use schedules::slice::{self, HostStep};
use std::collections::HashSet;

impl TcpMesh {
    /// Sends `outgoing[rank]` to each other rank and fills `incoming[rank]` from it; a rank's own
    /// entries are not looked at. `steps` are this rank's of a plan that all ranks share.
    /// `progress` is called while nothing comes.
    ///
    /// # Errors
    /// [`MeshError`]: some blocks have been sent, others not; nothing can be sent over this mesh again.
    pub fn alltoall(
        &mut self,
        steps: &[HostStep],
        outgoing: &[&[u8]],
        incoming: &mut [&mut [u8]],
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<(), MeshError> {
        let outcome = self.exchange(steps, outgoing, incoming, progress);
        if outcome.is_err() {
            self.close();
        }
        outcome
    }

    fn exchange(
        &mut self,
        steps: &[HostStep],
        outgoing: &[&[u8]],
        incoming: &mut [&mut [u8]],
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<(), MeshError> {
        let early = self.begin();
        let mut exchange = TcpExchange::new(self, steps, outgoing, incoming);
        exchange.take(early);
        // What came between two calls made its noise then.
        for step in steps {
            if let Some(from) = step.receive_from {
                exchange.receive(from)?;
            }
        }
        exchange.go_on()?;
        let (mut ready, mut tokens) = (Vec::new(), Vec::new());
        while !exchange.is_over() {
            watchdog::begin_wait(|| exchange.waits_for());
            exchange.mesh.wait(&mut ready, &mut tokens, progress)?;
            exchange.take(std::mem::take(&mut tokens));
            for event in ready.drain(..) {
                if let ReadyPeer::Readable(rank) = event {
                    exchange.receive(rank)?;
                }
            }
            exchange.go_on()?;
        }
        Ok(())
    }
}

/// Tokens are given when so many octets of a block are still to come, or a quarter of it: they take
/// about as long to arrive and to wake who waits for them.
const LEAD: usize = 8 * 1024;

/// A call under way.
struct TcpExchange<'a, 'o, 'i> {
    mesh: &'a mut TcpMesh,
    steps: &'a [HostStep],
    outgoing: &'a [&'o [u8]],
    incoming: &'a mut [&'i mut [u8]],
    /// Octets received, by rank, and the step that waits for the block.
    received: Vec<usize>,
    step_from: Vec<Option<usize>>,
    /// Blocks still to come.
    missing: usize,
    /// The step that sends or waits to, and how much of its block has gone.
    sending: usize,
    sent: usize,
    tokens: HashSet<slice::SyncToken>,
}

impl<'a, 'o, 'i> TcpExchange<'a, 'o, 'i> {
    fn new(
        mesh: &'a mut TcpMesh,
        steps: &'a [HostStep],
        outgoing: &'a [&'o [u8]],
        incoming: &'a mut [&'i mut [u8]],
    ) -> TcpExchange<'a, 'o, 'i> {
        let mut step_from = vec![None; incoming.len()];
        for (at, step) in steps.iter().enumerate() {
            if let Some(place) = step
                .receive_from
                .and_then(|rank| step_from.get_mut(rank as usize))
            {
                *place = Some(at);
            }
        }
        let missing = step_from.iter().flatten().count();
        let received = vec![0; incoming.len()];
        TcpExchange {
            mesh,
            steps,
            outgoing,
            incoming,
            received,
            step_from,
            missing,
            sending: 0,
            sent: 0,
            tokens: HashSet::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.missing == 0 && self.sending == self.steps.len() && self.mesh.is_flushed()
    }

    /// For the watchdog.
    fn waits_for(&self) -> String {
        let mut awaited = Vec::new();
        if let Some(step) = self.steps.get(self.sending) {
            let tokens = step
                .wait
                .iter()
                .filter(|token| self.sent == 0 && !self.tokens.contains(token));
            awaited.extend(
                tokens.map(|token| (step.phase, format!("the token of rank {}", token.peer))),
            );
            let block = step.send_to.filter(|_| awaited.is_empty());
            awaited.extend(block.map(|to| (step.phase, format!("its block to rank {to} to go"))));
        }
        let next = self
            .step_from
            .iter()
            .flatten()
            .min()
            .map(|&at| &self.steps[at]);
        awaited.extend(next.map(|step| {
            (
                step.phase,
                format!(
                    "the block of rank {}",
                    step.receive_from.unwrap_or_default()
                ),
            )
        }));
        let phases = self.steps.last().map_or(0, |step| step.phase + 1);
        watchdog::describe_wait(
            &format!("rank {} in alltoall over tcp", self.mesh.me),
            &awaited,
            phases,
        )
    }

    fn take(&mut self, tokens: Vec<MeshToken>) {
        self.tokens
            .extend(tokens.into_iter().map(|t| slice::SyncToken {
                peer: t.peer,
                id: t.id,
            }));
    }

    /// Takes what has come from a rank of its block of this call.
    fn receive(&mut self, rank: u32) -> Result<(), MeshError> {
        let at = rank as usize;
        let Some(step) = self.step_from.get(at).copied().flatten() else {
            return Ok(());
        };
        let length = self.incoming[at].len();
        let block = &mut self.incoming[at][self.received[at]..];
        if block.is_empty() && self.received[at] > 0 {
            return Ok(()); // Of the next call.
        }
        let before = self.received[at];
        let almost = length - LEAD.min(length / 4);
        let peer = self.mesh.peer(rank)?;
        self.received[at] += peer.receive(rank, block)?;
        if self.received[at] < length {
            let next = if self.received[at] < almost {
                almost
            } else {
                length
            };
            peer.wake_at(next - self.received[at])?;
        }
        if before < almost && self.received[at] >= almost {
            for token in &self.steps[step].give_after_receive {
                self.mesh.give(token.peer, token.id)?;
            }
        }
        if self.received[at] == length {
            self.step_from[at] = None;
            self.missing -= 1;
        }
        Ok(())
    }

    /// Sends on as far as tokens and connections allow.
    fn go_on(&mut self) -> Result<(), MeshError> {
        while let Some(step) = self.steps.get(self.sending) {
            if let Some(to) = step.send_to {
                if let Some(awaited) = step
                    .wait
                    .iter()
                    .find(|token| self.sent == 0 && !self.tokens.contains(token))
                {
                    return if self.mesh.peer(awaited.peer)?.ended {
                        Err(MeshError::ended(awaited.peer))
                    } else {
                        Ok(())
                    };
                }
                let block = self.outgoing[to as usize];
                self.sent += self.mesh.peer(to)?.send(to, &block[self.sent..])?;
                if self.sent < block.len() || !self.mesh.is_mostly_sent(to)? {
                    return Ok(());
                }
                for token in &step.give_after_send {
                    self.mesh.give(token.peer, token.id)?;
                }
            }
            (self.sending, self.sent) = (self.sending + 1, 0);
        }
        Ok(())
    }
}
