//! What this process knows as a member of one communicator, and the agreements among its members.
use crate::call::{Amount, Call};
use crate::head::Head;
use crate::private::{Private, Result, check};
use crate::wires::{self, Wires};
use crate::{aapc, lg, meeting, ring};
use ::mpi::ffi::MPI_Comm;
use inventory::Bytes;
use runtime::pace::Pace;
use runtime::plan::Follow;
use runtime::settings::{self, Force};
use runtime::word::Word;
use runtime::{say, watch};
use schedules::epoch::Lean;
use schedules::table::{Carrier, Collective, Mpi, Way};
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The library this backend is compiled for.
const MPI: Mpi = if cfg!(open_mpi) { Mpi::OpenMpi } else { Mpi::Mpich };
/// Bytes of a host name on the wire between ranks: no MPI has longer processor names.
const NAME: usize = 256;
/// A call over TCP needs a packed copy, if its type has gaps.
const MOST_OVER_TCP: u64 = 1 << 30;

/// Calls of one kind, one after the other: the same on all ranks, so that ways can be taken in turn.
#[derive(Debug, Default)]
struct Row {
    kind: Option<(Collective, u64)>,
    calls: u64,
}

impl Row {
    /// Counts a call; gives how many of its kind came just before.
    fn count(&mut self, collective: Collective, block: u64) -> u64 {
        let same = self.kind.replace((collective, block)) == Some((collective, block));
        self.calls = if same { self.calls + 1 } else { 0 };
        self.calls
    }
}

/// A member of a communicator.
#[derive(Debug)]
pub(crate) struct Member {
    private: Private,
    /// The host of each rank.
    hosts: Vec<String>,
    pace: Pace,
    row: Row,
    follow: Option<Follow>,
    wires: Wires,
    /// Rank 0 has more to do.
    head: Option<Box<Head>>,
}

impl Member {
    /// Meets the other members, and agrees with them for the first time; `None` if not all of them come, or if all are on one
    /// host, where no epoch ever gives them a network to schedule. Collective.
    pub(crate) fn join(call: &Call, size: usize) -> Result<Option<Member>> {
        let patience = settings::patience(|name| std::env::var(name).ok());
        watch::waits(|| format!("all {size} ranks of a communicator to come to its first collective; is heddle loaded on each of them?"));
        if !meeting::everybody_comes(call.comm, size, patience)? {
            not_everybody(call.comm, size, patience);
            return Ok(None);
        }
        let mut private = Private::of(call.comm)?;
        let mut name = [0u8; NAME];
        private.processor_name(&mut name)?;
        let names = private.gather_all(&name)?;
        let hosts: Vec<String> = names.chunks(NAME).map(text).collect();
        if hosts.iter().all(|host| *host == hosts[0]) {
            return check(private.free()).map(|()| None);
        }
        let head = (private.rank == 0).then(|| Box::new(Head::new(&hosts)));
        let mut member = Member { private, hosts, pace: Pace::new(1), row: Row::default(), follow: None, wires: Wires::default(), head };
        member.agree()?;
        Ok(Some(member))
    }

    /// Carries one call out. Collective.
    ///
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    pub(crate) unsafe fn serve(&mut self, call: &Call, amount: Amount) -> Result<i32> {
        // In MPI_Alltoallv each rank knows its own blocks only.
        let differs = call.collective == Collective::Alltoallv;
        if self.pace.due(self.private.size as u64, if differs { 0 } else { amount.block }) {
            self.agree()?;
        }
        let amount = if differs { self.mean(amount)? } else { amount };
        let way = self.way(call, amount)?;
        watch::waits(|| format!("{}: {} of {} B a block, the library's routine", self.me(), call.collective, amount.block));
        let timer = self.head.as_mut().map(|head| head.begin(call.collective, way, amount.block, self.follow.as_ref()));
        // SAFETY: passed on to the caller.
        let code = unsafe { self.carry_out(call, way, amount.block as usize) };
        if let (Some(head), Some(timer)) = (&mut self.head, &timer) {
            head.done(timer);
        }
        code
    }

    /// This rank, as the watchdog names it.
    fn me(&self) -> String {
        format!("rank {} on {}", self.private.rank, self.hosts[self.private.rank as usize])
    }

    /// What all ranks together move, where each of them knows its own part; this rank's own where nobody needs to know. Collective.
    fn mean(&mut self, own: Amount) -> Result<Amount> {
        if !self.follow.as_ref().is_some_and(|follow| follow.takes_part(Collective::Alltoallv)) {
            return Ok(own);
        }
        let told = if own.fits { own.block } else { u64::MAX };
        let all = self.private.gather_all(&told.to_le_bytes())?;
        let all = all.chunks_exact(8).map(|octets| octets.iter().rev().fold(0, |n, &octet| n << 8 | u64::from(octet)));
        let (mut sum, mut fits) = (0u64, true);
        all.for_each(|block| {
            fits &= block < u64::MAX;
            sum = sum.saturating_add(block);
        });
        let block = sum.div_ceil(self.private.size as u64);
        self.pace.add(self.private.size as u64, block);
        Ok(Amount { block, fits })
    }

    /// # Safety
    /// As the MPI standard says of the call's arguments.
    unsafe fn carry_out(&mut self, call: &Call, way: Way, block: usize) -> Result<i32> {
        let private = &self.private;
        let Some(follow) = self.follow.as_ref().filter(|_| way != Way::Native) else {
            // SAFETY: passed on to the caller.
            return Ok(unsafe { call.native() });
        };
        let mesh = self.wires.mesh().filter(|_| way.carrier() == Some(Carrier::Tcp));
        // SAFETY: passed on to the caller.
        unsafe {
            match (way, mesh) {
                (Way::Lg, _) => lg::alltoall(call, private, follow.lg(), 1, block)?,
                (Way::Aapc { sync, .. }, Some(mesh)) => wires::alltoall(call, private, mesh, follow.steps(sync), block)?,
                (Way::Aapc { sync, .. }, None) => aapc::alltoall(call, private, follow.steps(sync))?,
                (Way::Bundled, _) => lg::alltoall(call, private, follow.bundle(), usize::MAX, block)?,
                (_, Some(mesh)) => wires::allgather(call, private, mesh, follow.ring(), block)?,
                (_, None) => ring::allgather(call, private, follow.ring())?,
            }
        }
        Ok(crate::mpi::SUCCESS)
    }

    /// The same on every rank. Connects the ranks where the way first asks for it. Collective.
    fn way(&mut self, call: &Call, amount: Amount) -> Result<Way> {
        let Amount { block, fits } = amount;
        let Some(follow) = self.follow.as_ref().filter(|follow| block > 0 && fits && follow.takes_part(call.collective)) else {
            return Ok(Way::Native);
        };
        let way = follow.way(call.collective, block, self.row.count(call.collective, block));
        if way.carrier() != Some(Carrier::Tcp) {
            return Ok(way);
        }
        let equal = matches!(call.collective, Collective::Alltoall | Collective::Allgather);
        watch::waits(|| format!("{}: the connections of all ranks", self.me()));
        let connects = equal && block <= MOST_OVER_TCP && follow.may_connect(call.collective);
        let connected = connects && self.wires.up(&self.private, follow)?;
        Ok(if connected { way } else { follow.way_without_tcp(call.collective, block, way) })
    }

    /// Rank 0 looks into the shared directory, all hear of it, plan, and make sure that all have the same plan. Collective.
    fn agree(&mut self) -> Result<()> {
        watch::waits(|| format!("{}: the word of rank 0 on {}", self.me(), self.hosts[0]));
        let mut header = [0u8; 8];
        let mut body = Vec::new();
        if let Some(head) = &mut self.head {
            let (word, next) = head.speak(self.pace.done());
            body = word.to_bytes();
            header[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
            header[4..].copy_from_slice(&next.to_le_bytes());
        }
        self.private.broadcast(&mut header)?;
        let [length, next] = [&header[..4], &header[4..]].map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        body.resize(length as usize, 0);
        self.private.broadcast(&mut body)?;
        if let Some(head) = &mut self.head {
            head.spoken();
        }
        self.pace = Pace::new(next);
        match Word::from_bytes(&body) {
            Word::Keep => Ok(()),
            Word::Aside(problem) => {
                self.stand_aside(Some(problem));
                Ok(())
            }
            Word::Follow { lean, force } => {
                let planned = self.plan(&lean, force);
                self.take_up(planned)
            }
        }
    }

    /// This rank's plan, or why there is none. Planning only computes, so a panic in it may be caught.
    fn plan(&self, lean: &[u8], force: Force) -> std::result::Result<Follow, Option<String>> {
        let planned = catch_unwind(AssertUnwindSafe(|| {
            let lean = Lean::from_bytes(lean).map_err(|e| Some(e.to_string()))?;
            Follow::plan(&lean, MPI, &force, &self.hosts, self.private.rank as u32).map_err(|e| e.is_news().then(|| e.to_string()))
        }));
        planned.unwrap_or_else(|_| Err(Some("planning for this communicator failed; please report this".into())))
    }

    /// Follows the plan if all ranks have the same one. Collective.
    fn take_up(&mut self, planned: std::result::Result<Follow, Option<String>>) -> Result<()> {
        watch::waits(|| format!("{}: the plans of all ranks", self.me()));
        let own = planned.as_ref().map_or(0, Follow::digest).to_le_bytes();
        let all = self.private.gather_all(&own)?;
        let same = all.chunks(own.len()).all(|digest| digest == own);
        match planned {
            Ok(follow) if same => {
                if let Some(head) = &mut self.head {
                    head.follows(&follow);
                }
                self.wires.pace(&self.private, &follow);
                self.follow = Some(follow);
            }
            Err(problem) if same => self.stand_aside(problem),
            _ => self.stand_aside(Some("the ranks came to different plans; do all hosts have the same version of heddle?".into())),
        }
        Ok(())
    }

    fn stand_aside(&mut self, problem: Option<String>) {
        self.follow = None;
        if let Some(head) = &mut self.head {
            head.stands_aside(problem);
        }
    }

    /// The communicator is freed, or MPI goes down: the last word of the job record, and the private
    /// communicator given back.
    pub(crate) fn leave(&mut self) -> i32 {
        if let Some(mut head) = self.head.take() {
            head.finish();
        }
        self.private.free()
    }
}

/// Two ranks say it, in case rank 0 is the one without the runtime.
fn not_everybody(comm: MPI_Comm, size: usize, patience: Duration) {
    let mut rank = 0;
    // SAFETY: a communicator of the application and a place for the result.
    let known = check(unsafe { (crate::mpi::mpi().call.Comm_rank)(comm, &mut rank) }).is_ok();
    if known && rank < 2 {
        say::once(&format!(
            "communicator of {size} ranks: not all came to its first collective within {} s (HEDDLE_PATIENCE); one is late, or heddle is loaded \
             on some of them only; the MPI library's own routines run on it. Load heddle on all ranks or on none: where some lack it, \
             non-blocking collectives of the program may fail",
            patience.as_secs_f64()
        ));
    }
}

/// Seconds of one such call at the payload bound; 0 where no tree is known.
pub(crate) fn bound_seconds(follow: Option<&Follow>, collective: Collective, block: Bytes) -> f64 {
    follow.map_or(0.0, |follow| follow.bound_seconds(collective, block))
}

fn text(name: &[u8]) -> String {
    let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

impl Private {
    /// This process's host, as MPI calls it.
    fn processor_name(&self, name: &mut [u8; NAME]) -> Result<()> {
        let mut length = 0;
        // SAFETY: MPI_MAX_PROCESSOR_NAME is 128 in MPICH and 256 in Open MPI.
        check(unsafe { (crate::mpi::mpi().call.Get_processor_name)(name.as_mut_ptr().cast::<c_char>(), &mut length) })
    }
}
