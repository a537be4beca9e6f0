//! The ranks agree on the epoch that they follow: rank 0 looks into the shared directory, and has a word
//! for all.
//!
//! A process set that has met a few times does not wait for that word. Rank 0 sends its header at the call
//! at which an agreement is due, and the others read it at their next one, so that ranks which the
//! application lets drift apart stay so. Only news are waited for.
use super::ProcessSet;
use super::network::NetworkKnowledge;
use crate::call_comm::CallComm;
use crate::mpi::mpi;
use crate::mpi_result::MpiResult;
use crate::pending_collective::PendingCollective;
use directory::epoch::LeanEpoch;
use policy::forced::ForcedWays;
use runtime::agreement_pace::AgreementPace;
use runtime::directive::RootDirective;
use runtime::held_epoch::HeldEpoch;
use runtime::plan::FollowedEpoch;
use runtime::tracing::recorder::TraceOrder;
use runtime::watchdog;

/// Octets of a header: the length of the body, the work until the next agreement, and whether the ranks
/// report how fast blocks came to them.
const HEADER: usize = 9;
/// Octets of the first word that go with its header, in one message: the epochs of clusters of some dozens of
/// hosts.
const WITH_FIRST_HEADER: usize = 4096;
/// The same where all hold the epoch: what jobs learned at the place, and settings.
const WITH_HELD_EPOCH: usize = 256;
/// A process set that has agreed so often will do so many times more.
const ACQUAINTED: u32 = 3;

/// The header under way, and on rank 0 the body.
#[derive(Debug, Default)]
pub(super) struct DirectiveUnderWay {
    header: Option<PendingCollective>,
    body: Vec<u8>,
    agreed: u32,
    /// The epoch that all ranks held when the process set was made.
    held: Option<HeldEpoch>,
    /// The call under way made the process set, which has agreed for it.
    is_of_this_call: bool,
}

impl DirectiveUnderWay {
    /// The communicator goes on which a header may be under way: waits for it, and has it read later.
    pub(super) fn rest(&mut self) -> MpiResult<()> {
        self.agreed = 0;
        self.header.as_mut().map_or(Ok(()), PendingCollective::wait)
    }
}

impl ProcessSet {
    /// The ranks of a new process set agree, at a call that it will serve; all of them hold an epoch, or some do not.
    /// Collective.
    pub(crate) fn agree_first(
        &mut self,
        within: &CallComm,
        held: Option<HeldEpoch>,
    ) -> MpiResult<()> {
        self.agreement.is_of_this_call = true;
        self.agreement.held = held;
        self.agree(within)
    }

    /// True if the ranks have agreed for the call under way.
    pub(super) fn has_agreed(&mut self) -> bool {
        std::mem::take(&mut self.agreement.is_of_this_call)
    }

    /// The ranks agree, and wait for rank 0. Collective.
    fn agree(&mut self, within: &CallComm) -> MpiResult<()> {
        watchdog::begin_wait(|| format!("{}: the word of rank 0 on {}", self.me(), self.hosts[0]));
        // All ranks count their agreements alike, so that the broadcast has the same length on each.
        let room = match self.agreement.agreed {
            0 if self.agreement.held.is_some() => WITH_HELD_EPOCH,
            0 => WITH_FIRST_HEADER,
            _ => 0,
        };
        let header = self.next_header();
        let mut word = [&header[..], &self.agreement.body].concat();
        word.resize(HEADER + room, 0);
        within.broadcast(&mut word)?;
        let (header, body) = word.split_first_chunk().unwrap_or((&header, &[]));
        self.obey(within, *header, body)
    }

    /// The same at a call at which an agreement is due, and at the next one. Collective.
    pub(super) fn agree_by_and_by(&mut self, within: &CallComm) -> MpiResult<()> {
        if self.agreement.agreed == ACQUAINTED {
            self.carriers.messages_mut().up_if_spare(within)?;
        }
        if let Some(header) = self.agreement.header.take() {
            watchdog::begin_wait(|| {
                format!("{}: the word of rank 0 on {}", self.me(), self.hosts[0])
            });
            if let Some(root) = &mut self.root {
                root.directive_awaited();
            }
            let octets = header.octets()?;
            let header = octets.first_chunk().copied().unwrap_or_default();
            return self.obey(within, header, &[]);
        }
        if self.agreement.agreed < ACQUAINTED || self.carriers.messages().is_none() {
            return self.agree(within);
        }
        let header = self.next_header().to_vec();
        if let Some(private) = self.carriers.messages() {
            self.agreement.header = Some(PendingCollective::broadcast(private, header)?);
        }
        if let Some(root) = &mut self.root {
            root.directive_begun();
        }
        Ok(())
    }

    /// The header of rank 0's word, on rank 0.
    fn next_header(&mut self) -> [u8; HEADER] {
        self.agreement.agreed = self.agreement.agreed.saturating_add(1);
        let mut header = [0u8; HEADER];
        if let Some(root) = &mut self.root {
            let (word, next) = root.next_directive(self.pace.done());
            let body = match &self.agreement.held {
                Some(held) => word.to_holders(held),
                None => word,
            }
            .to_bytes();
            header[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
            header[4..8].copy_from_slice(&next.to_le_bytes());
            let mesh = self.carriers.mesh();
            let reports = body.is_empty() && self.watch.is_due(self.hosts.len(), mesh);
            header[8] = u8::from(reports);
            self.agreement.body = body;
        }
        header
    }

    /// Rank 0's word has this header, and this body if that came with it as a whole. Collective.
    fn obey(&mut self, within: &CallComm, header: [u8; HEADER], came: &[u8]) -> MpiResult<()> {
        let [length, next] =
            [&header[..4], &header[4..8]].map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let mut body = std::mem::take(&mut self.agreement.body);
        body.resize(length as usize, 0);
        match came.get(..body.len()) {
            Some(came) => body.copy_from_slice(came),
            None => within.broadcast(&mut body)?,
        }
        if let Some(root) = &mut self.root {
            root.directive_sent();
        }
        self.policy.passing().refuse_all();
        self.pace = AgreementPace::new(next);
        match RootDirective::from_bytes(&body) {
            RootDirective::Keep => {}
            RootDirective::Aside(problem) => self.stand_aside(problem),
            RootDirective::Follow {
                lean,
                force,
                learns,
                looks,
                trace,
            } => {
                self.network = NetworkKnowledge::before(looks);
                let lean = match self.agreement.held.take() {
                    Some(held) => held.complete(lean),
                    None => lean,
                };
                self.take_up(&lean, force, learns, trace);
            }
        }
        if header[8] == 1 {
            let arrivals = self.watch.gather(within, self.carriers.mesh())?;
            if let (Some(root), Some(arrivals)) = (&self.root, &arrivals) {
                root.watched(arrivals);
            }
        }
        self.trace.compare_clocks(within, &self.hosts)
    }

    /// Takes up the epoch that rank 0 has read. Every rank can read it: they have the same octets.
    fn take_up(&mut self, lean: &[u8], force: ForcedWays, learns: bool, trace: Option<TraceOrder>) {
        let followed = LeanEpoch::from_bytes(lean)
            .map_err(|e| e.to_string())
            .and_then(|lean| {
                FollowedEpoch::new(lean, &self.hosts, mpi().routines, force, learns)
                    .map_err(|e| e.to_string())
            });
        match followed {
            Ok((followed, grounds)) => {
                self.epoch = HeldEpoch::hold(lean);
                let view = &followed.view;
                let hosts = view.hosts_of_ranks();
                self.trace.obey(trace, self.rank, &hosts);
                self.trace.follows(view.epoch, followed.topology());
                let place = view.place(mpi().routines);
                let setup = followed.setup(&grounds);
                self.policy.follow(grounds, place, setup);
                self.followed = Some(Box::new(followed));
                self.watch.forget(self.carriers.mesh());
                if let Some(root) = &mut self.root {
                    root.follows();
                    root.learned(self.policy.learner());
                }
            }
            Err(problem) => self.stand_aside(problem),
        }
    }
}
