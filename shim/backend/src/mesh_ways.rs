//! The ways of a communicator's connections through the stages of a fabric.
use crate::call_comm::{CallComm, MOST_NUMBER};
use crate::mpi_result::MpiResult;
use crate::world_ranks::is_first_of_the_job;
use runtime::plan::{ChosenWays, FollowedEpoch};
use runtime::stderr;
use runtime::tcp::way_search::{self, WantedWays};
use std::net::SocketAddr;

/// The ways for which connections were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MeshWays {
    /// [`ChosenWays::digest`]; none once another epoch was followed.
    chosen: Option<u64>,
    /// Every connection takes its way.
    known: bool,
}

impl MeshWays {
    /// True if connections with these ways were made for the chosen ones, or none are chosen.
    pub(crate) fn are_of(ways: Option<MeshWays>, chosen: Option<&ChosenWays>) -> bool {
        let digest = chosen.map(ChosenWays::digest);
        digest.is_none() || ways.is_some_and(|ways| ways.chosen == digest)
    }

    /// True if the connections take these ways.
    pub(crate) fn are_taken(self, chosen: Option<&ChosenWays>) -> bool {
        self.known && self.chosen.is_some() && self.chosen == chosen.map(ChosenWays::digest)
    }

    pub(crate) fn forget_unless(&mut self, chosen: Option<&ChosenWays>) {
        let digest = chosen.map(ChosenWays::digest);
        self.chosen = self.chosen.filter(|_| digest == self.chosen);
    }

    /// Whether the connections of all ranks take their ways; where not, the lowest rank that knows says why,
    /// once a job. Collective.
    pub(crate) fn agree(
        within: &CallComm,
        follow: &FollowedEpoch,
        chosen: &ChosenWays,
        takes_ways: bool,
        untraced: Option<String>,
    ) -> MpiResult<MeshWays> {
        let taken = "a source port is in use".to_owned();
        let problem = untraced.or_else(|| (!takes_ways).then_some(taken));
        let rank = within.rank as u64;
        let own = if problem.is_some() { rank } else { MOST_NUMBER };
        let without_first = u64::from(!is_first_of_the_job());
        let least = within.least_numbers(&[own, without_first])?;
        if let Some(problem) = problem.filter(|_| least == [own, 0]) {
            let names = follow.view.hosts_of_ranks();
            let host = names.get(within.rank as usize).map_or("?", String::as_str);
            stderr::write_line_once(&format!(
                "TCP path: rank {rank} on {host}: the ways of its connections are not known \
                 ({problem}); messages take those that the hash of their ports gives"
            ));
        }
        Ok(MeshWays {
            chosen: Some(chosen.digest()),
            known: least[0] == MOST_NUMBER,
        })
    }
}

/// The source port for each rank, or why some way is not known.
pub(crate) fn ports(
    within: &CallComm,
    follow: &FollowedEpoch,
    chosen: &ChosenWays,
    doors: &[SocketAddr],
) -> Result<Vec<Option<u16>>, String> {
    let me = within.rank as u32;
    let own = follow
        .view
        .address(me)
        .ok_or("the topology states no address")?;
    let wanted = WantedWays {
        paths: chosen.paths(),
        ports: chosen.ports(),
        answers: chosen.answers(),
        place: follow.view.place_on_host(me),
    };
    way_search::find(own, doors, &wanted, &mut || within.progress()).map_err(|e| e.to_string())
}
