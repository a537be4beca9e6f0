//! Reductions and broadcasts. Octets are combined by exclusive or: sums of them saturate in one MPI
//! library and overflow in the other.
use crate::CollectiveBench;
use crate::bench_collective::BenchCollective;
use mpi::collective::SystemOperation;
use mpi::traits::*;

impl CollectiveBench<'_> {
    /// The blocks that the ranks send, combined.
    pub(crate) fn combine(&mut self) {
        let (send, receive, xor) = (
            &self.send[..],
            &mut self.receive[..],
            SystemOperation::bitwise_xor(),
        );
        if self.collective == BenchCollective::Allreduce {
            self.world.all_reduce_into(send, receive, xor);
        } else {
            self.world.reduce_scatter_block_into(send, receive, xor);
        }
    }

    /// From rank 0.
    pub(crate) fn spread(&mut self) {
        let buffer = if self.world.rank() == 0 {
            &mut self.send
        } else {
            &mut self.receive
        };
        self.world
            .process_at_rank(0)
            .broadcast_into(&mut buffer[..]);
    }

    /// The octet that rank `me` gets at byte `i`.
    pub(crate) fn combined_byte(&self, call: usize, me: usize, i: usize) -> u8 {
        let ranks = self.world.size() as usize;
        match self.collective {
            BenchCollective::Bcast if me == 0 => self.receive[i],
            BenchCollective::Bcast => Self::byte(call, 0, 0, i),
            _ => {
                let to = if self.collective.goes_to_all() { 0 } else { me };
                (0..ranks).fold(0, |octet, from| octet ^ Self::byte(call, from, to, i))
            }
        }
    }
}
