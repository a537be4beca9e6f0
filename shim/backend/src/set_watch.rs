//! The watch over moved cables: now and then the ranks of a process set tell how fast blocks came to
//! them. They do so at an agreement, when rank 0 says so.
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use runtime::arrival_watch::ArrivalWatch;
use runtime::tcp::keeper::KeptMesh;
use simulation::watched::{self, BlockArrivals};
use std::time::Instant;

/// The watch of rank 0; empty on other ranks.
#[derive(Debug)]
pub(crate) struct SetWatch(Option<ArrivalWatch>);

impl SetWatch {
    pub(crate) fn of_rank(rank: u32) -> SetWatch {
        SetWatch((rank == 0).then(|| ArrivalWatch::new(Instant::now())))
    }

    /// Rank 0's word whether the ranks tell now.
    pub(crate) fn is_due(&self, ranks: usize, mesh: Option<&KeptMesh>) -> bool {
        let (Some(watch), Some(mesh)) = (&self.0, mesh) else {
            return false;
        };
        ranks <= watched::MOST_RANKS && watch.is_over(Instant::now(), mesh.lock().metered_calls())
    }

    /// Gathers what the ranks tell; on rank 0 all of it, if any is known. Collective.
    pub(crate) fn gather(
        &mut self,
        within: &CallComm,
        mesh: Option<&KeptMesh>,
    ) -> MpiResult<Option<BlockArrivals>> {
        let began = Instant::now();
        let ranks = within.size as usize;
        let shares = mesh
            .map(|mesh| mesh.lock().take_arrivals())
            .unwrap_or_default();
        let mut own: Vec<u8> = shares.into_iter().map(BlockArrivals::level).collect();
        own.resize(ranks, BlockArrivals::level(None));
        let all = within.gather_all(&own)?;
        let Some(watch) = &mut self.0 else {
            return Ok(None);
        };
        let arrivals = BlockArrivals::gathered(ranks, all).filter(|all| !all.is_empty());
        let now = Instant::now();
        watch.reported(now, now - began, arrivals.clone());
        Ok(arrivals)
    }

    /// Another tree is followed: what came before says nothing of it.
    pub(crate) fn forget(&mut self, mesh: Option<&KeptMesh>) {
        mesh.map(|mesh| mesh.lock().take_arrivals());
        if let Some(watch) = &mut self.0 {
            watch.forget();
        }
    }

    pub(crate) fn root(&self) -> Option<&ArrivalWatch> {
        self.0.as_ref()
    }
}
