//! MPI_Allgather along a ring, over TCP: what comes from the rank before goes on to the next one as
//! it comes, chunk by chunk, so no link waits for whole blocks.
use super::MeshError;
use super::mesh::{ReadyPeer, TcpMesh};
use crate::watchdog;

/// Octets passed on at once: fewer cost more calls of the system, more leave the next link idle. 16
/// kB reached 0.96 of the bound where whole blocks of 64 kB reached 0.90.
const CHUNK: usize = 16 * 1024;

impl TcpMesh {
    /// Fills `blocks[rank]` for every rank; this rank's own block is there already. `ring` names
    /// all ranks in their order around. `progress` is called while nothing comes.
    ///
    /// # Errors
    /// [`MeshError`]: nothing can be sent over this mesh again.
    pub fn ring(
        &mut self,
        ring: &[u32],
        blocks: &mut [&mut [u8]],
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<(), MeshError> {
        let outcome = self.pass_on(ring, blocks, progress);
        if outcome.is_err() {
            self.close();
        }
        outcome
    }

    fn pass_on(
        &mut self,
        ring: &[u32],
        blocks: &mut [&mut [u8]],
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<(), MeshError> {
        self.begin();
        let n = ring.len();
        let Some(place) = ring
            .iter()
            .position(|&rank| rank == self.me)
            .filter(|_| n > 1)
        else {
            return Ok(());
        };
        let (next, previous) = (ring[(place + 1) % n], ring[(place + n - 1) % n]);
        // The k-th block on its way past this rank: its own, then the one before it, and so on
        // around.
        let order: Vec<usize> = (0..n).map(|k| ring[(place + n - k) % n] as usize).collect();
        let mut come = StreamPosition { block: 1, octet: 0 };
        let mut gone = StreamPosition { block: 0, octet: 0 };
        let mut ready = Vec::new();
        loop {
            self.receive(previous, &order, blocks, &mut come)?;
            self.send_on(next, &order, blocks, &mut gone, come)?;
            if come.block == n && gone.block == n - 1 {
                return Ok(());
            }
            watchdog::begin_wait(|| {
                let what = match order.get(come.block) {
                    Some(rank) => format!("the block of rank {rank} from rank {previous}"),
                    None => format!("its blocks to rank {next} to go"),
                };
                format!(
                    "rank {} in allgather over tcp: {what} (block {} of {n})",
                    self.me, come.block
                )
            });
            ready.clear();
            let mut tokens = Vec::new();
            while !ready.iter().any(|r| {
                matches!(r, ReadyPeer::Readable(rank) if *rank == previous)
                    || matches!(r, ReadyPeer::Writable(rank) if *rank == next)
            }) {
                self.wait(&mut ready, &mut tokens, progress)?;
            }
        }
    }

    fn receive(
        &mut self,
        previous: u32,
        order: &[usize],
        blocks: &mut [&mut [u8]],
        come: &mut StreamPosition,
    ) -> Result<(), MeshError> {
        while let Some(&rank) = order.get(come.block) {
            let block = &mut blocks[rank];
            let length = block.len();
            let n = self
                .peer(previous)?
                .receive(previous, &mut block[come.octet..])?;
            if !come.advance(n, length) {
                let chunk = (CHUNK - come.octet % CHUNK).min(length - come.octet);
                self.peer(previous)?.wake_at(chunk)?;
                break;
            }
        }
        Ok(())
    }

    fn send_on(
        &mut self,
        next: u32,
        order: &[usize],
        blocks: &[&mut [u8]],
        gone: &mut StreamPosition,
        come: StreamPosition,
    ) -> Result<(), MeshError> {
        while gone.block < order.len() - 1 && gone.block <= come.block {
            let block = &blocks[order[gone.block]];
            let there = if gone.block < come.block {
                block.len()
            } else {
                come.octet / CHUNK * CHUNK
            };
            let whole = there == block.len();
            if there <= gone.octet && !whole {
                break;
            }
            let n = self.peer(next)?.send(next, &block[gone.octet..there])?;
            if !gone.advance(n, block.len()) {
                break;
            }
        }
        Ok(())
    }
}

/// How far a stream of blocks is.
#[derive(Debug, Clone, Copy)]
struct StreamPosition {
    block: usize,
    octet: usize,
}

impl StreamPosition {
    /// Goes on within a block of this length; whether the block is over.
    fn advance(&mut self, octets: usize, length: usize) -> bool {
        self.octet += octets;
        if self.octet < length {
            return false;
        }
        *self = StreamPosition {
            block: self.block + 1,
            octet: 0,
        };
        true
    }
}
