//! The TCP path of a communicator: made when a call first asks for it, with the consent of all
//! ranks.
use crate::call::CollectiveCall;
use crate::call_comm::{CallComm, MOST_NUMBER};
use crate::lost_messages::LostMessages;
use crate::mesh_members::MeshMembers;
use crate::mesh_ways::{self, MeshWays};
use crate::mpi_result::{MpiErrorCode, MpiResult};
use crate::octets::{self, ReceiveBlocks};
use crate::private_comm::PrivateCommState;
use crate::world_ranks::is_first_of_the_job;
use inventory::counted;
use runtime::network_evidence::octets_of;
use runtime::plan::{ChosenWays, FollowedEpoch};
use runtime::settings::RuntimeSettings;
use runtime::stderr;
use runtime::tcp::greeting::MeshSecret;
use runtime::tcp::keeper::KeptMesh;
use runtime::tcp::messages::MeshMessages;
use runtime::tcp::{ArrivedBlocks, MeshError, MeshListener, TcpMesh, descriptors};
use schedules::transfers::part::RankPart;
use std::collections::HashSet;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

/// An address among the ranks: a family octet (0: none), sixteen of the address, two of the port.
const DOOR: usize = 19;

/// This process waited in vain for connections. It makes no more, so that a job waits once where a
/// firewall drops calls, and not at each communicator.
static WAITED_IN_VAIN: AtomicBool = AtomicBool::new(false);

/// The state of the connections.
#[derive(Debug, Default)]
pub(crate) enum MeshState {
    #[default]
    Untried,
    Up(KeptMesh, Option<MeshWays>),
    /// They stand between others.
    Apart,
    /// Some rank could not; nobody tries again.
    Refused,
}

impl MeshState {
    /// True if the connections stand; they are made now if nobody tried before. Collective.
    pub(crate) fn ensure_connected(
        &mut self,
        within: &CallComm,
        follow: &FollowedEpoch,
        members: MeshMembers,
        messages: &mut PrivateCommState,
    ) -> MpiResult<bool> {
        let chosen = follow.chosen_ways().filter(|_| members.are_all());
        let is_for_others = |ways: &Option<MeshWays>| !MeshWays::are_of(*ways, chosen);
        if matches!(self, MeshState::Up(_, ways) if is_for_others(ways)) {
            // A rank may be in the last call until then.
            within.holds_on_all_ranks(true)?;
            *self = MeshState::Untried;
        }
        if let MeshState::Untried = self {
            let rank = within.rank as u32;
            let is_apart = members.number(rank).is_none();
            let (mesh, problem, untraced) = connect(within, follow, members, chosen)?;
            let everybody = within.holds_on_all_ranks(is_apart || mesh.is_some())?;
            if !everybody {
                report(within, follow, problem)?;
            }
            if everybody {
                messages.up_if_spare(within)?;
            }
            let ways = match chosen.filter(|_| everybody) {
                Some(chosen) => {
                    let takes_ways = mesh.as_ref().is_some_and(TcpMesh::takes_ways);
                    Some(MeshWays::agree(
                        within, follow, chosen, takes_ways, untraced,
                    )?)
                }
                None => None,
            };
            *self = match mesh.filter(|_| everybody) {
                Some(mut mesh) => {
                    let private = messages.existing();
                    mesh.carry_by(private.map(|private| -> Box<dyn MeshMessages> {
                        Box::new(LostMessages::new(private, members))
                    }));
                    MeshState::Up(KeptMesh::new(mesh), ways)
                }
                None if everybody => MeshState::Apart,
                None => MeshState::Refused,
            };
            self.pace(rank, follow, members);
        }
        Ok(matches!(self, MeshState::Up(..) | MeshState::Apart))
    }

    /// True if messages take the ways that are chosen for them.
    pub(crate) fn takes_ways(&self, follow: &FollowedEpoch) -> bool {
        let chosen = follow.chosen_ways();
        matches!(self, MeshState::Up(_, Some(ways)) if ways.are_taken(chosen))
    }

    pub(crate) fn mesh(&self) -> Option<&KeptMesh> {
        if let MeshState::Up(mesh, _) = self {
            Some(mesh)
        } else {
            None
        }
    }

    /// Another epoch is followed: what it changed may have moved connections to other ways.
    pub(crate) fn forget_ways(&mut self, follow: &FollowedEpoch) {
        if let MeshState::Up(_, Some(ways)) = self {
            ways.forget_unless(follow.chosen_ways());
        }
    }

    /// Sends at the rates of this epoch's links.
    pub(crate) fn pace(&mut self, rank: u32, follow: &FollowedEpoch, members: MeshMembers) {
        if let Some(mesh) = self.mesh() {
            let mut mesh = mesh.lock();
            // A kernel that refuses sends faster than need be: nothing is lost but evenness.
            let _ = mesh.pace(|other| follow.view.pace(rank, members.rank(other)));
            mesh.know_frame_times(|other| follow.view.frame_time(rank, members.rank(other)));
            mesh.be_patient(follow.view.patience());
        }
    }
}

/// Why a rank has no connections.
struct ConnectProblem {
    text: String,
    /// Another rank knows why.
    is_of_another: bool,
}

impl From<String> for ConnectProblem {
    fn from(text: String) -> ConnectProblem {
        ConnectProblem {
            text,
            is_of_another: false,
        }
    }
}

/// The lowest rank that knows says why there are no connections, and how many hosts have such a problem.
/// A job has this line once, for a communicator of its first rank: it may have thousands. Collective.
fn report(
    within: &CallComm,
    follow: &FollowedEpoch,
    problem: Option<ConnectProblem>,
) -> MpiResult<()> {
    let own = problem.as_ref().map_or(MOST_NUMBER, |problem| {
        // Ranks that only lost others come behind all that have a cause of their own.
        u64::from(problem.is_of_another) << 32 | u64::from(within.rank as u32)
    });
    let without_first = u64::from(!is_first_of_the_job());
    let least = within.least_numbers(&[own, without_first])?;
    let has_own = problem.as_ref().is_some_and(|p| !p.is_of_another);
    let all = within.gather_all(&[u8::from(has_own)])?;
    if least != [own, 0] {
        return Ok(());
    }
    let names = follow.view.hosts_of_ranks();
    let unable: HashSet<&String> = (names.iter().zip(all))
        .filter_map(|(host, has_problem)| (has_problem == 1).then_some(host))
        .collect();
    if let Some(ConnectProblem { text, .. }) = problem {
        let host = names.get(within.rank as usize).map_or("?", String::as_str);
        let hosts = unable.len().max(1);
        stderr::write_line_once(&format!(
            "TCP path: rank {} on {host}, one of {} that cannot use it: {text}; calls go without it",
            within.rank,
            counted(hosts as u64, "host")
        ));
    }
    Ok(())
}

/// This rank's connections, or why it has none; and why they may not take their ways. Collective.
fn connect(
    within: &CallComm,
    follow: &FollowedEpoch,
    members: MeshMembers,
    chosen: Option<&ChosenWays>,
) -> MpiResult<(Option<TcpMesh>, Option<ConnectProblem>, Option<String>)> {
    let me = within.rank as u32;
    let number = members.number(me);
    let door = match number {
        Some(_) => open_door(within, follow, members.count(within.size as u32), chosen),
        None => Err("the connections are for others".to_owned()),
    };
    let mut own = [0; DOOR];
    if let Ok(door) = &door {
        own = write(door.address());
    }
    let mut secret = [0; 32];
    if me == 0
        && std::fs::File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut secret))
            .is_err()
    {
        own = [0; DOOR]; // Without a secret no door is opened.
    }
    // A rank without a door takes part, too: the others would wait for it.
    let all = within.gather_all(&own)?;
    within.broadcast(&mut secret)?;
    let Some(number) = number else {
        return Ok((None, None, None));
    };
    let doors: Option<Vec<SocketAddr>> = (0..)
        .zip(all.chunks(DOOR))
        .filter(|(rank, _)| members.number(*rank).is_some())
        .map(|(_, door)| read(door))
        .collect();
    let mut untraced = None;
    let mesh = match (door, doors) {
        (Err(problem), _) => Err(problem.into()),
        (Ok(_), None) => Err(ConnectProblem {
            text: "some rank cannot be called".to_owned(),
            is_of_another: true,
        }),
        (Ok(mut door), Some(doors)) => {
            if let Some(chosen) = chosen {
                let ports = mesh_ways::ports(within, follow, chosen, &doors);
                match ports {
                    Ok(ports) => door = door.calling_from(ports),
                    Err(problem) => untraced = Some(problem),
                }
            }
            call_all(door, number, &doors, secret, within)
        }
    };
    Ok(match mesh {
        Ok(mesh) => (Some(mesh), None, untraced),
        Err(problem) => (None, Some(problem), untraced),
    })
}

/// Where `count` ranks, this one included, can call this one; or why they cannot.
fn open_door(
    within: &CallComm,
    follow: &FollowedEpoch,
    count: u32,
    chosen: Option<&ChosenWays>,
) -> Result<MeshListener, String> {
    let address = follow
        .view
        .address(within.rank as u32)
        .ok_or_else(|| "the topology states no address for this host".to_owned())?;
    if WAITED_IN_VAIN.load(Ordering::Relaxed) {
        return Err("another communicator waited for connections in vain".to_owned());
    }
    descriptors::check_descriptors(TcpMesh::descriptors(count))?;
    let door = match chosen.is_some_and(ChosenWays::has_known_flows) {
        true => MeshListener::open_known(address),
        false => MeshListener::open(address),
    };
    door.map_err(|e| format!("{address}: {e}"))
}

/// Connects the member with this number to all others.
fn call_all(
    door: MeshListener,
    number: u32,
    doors: &[SocketAddr],
    secret: [u8; 32],
    within: &CallComm,
) -> Result<TcpMesh, ConnectProblem> {
    let patience = RuntimeSettings::here().patience;
    let mut mesh = door
        .connect(number, doors, &MeshSecret(secret), patience, || {
            within.progress()
        })
        .map_err(|e| {
            WAITED_IN_VAIN.fetch_or(e.kind() == ErrorKind::TimedOut, Ordering::Relaxed);
            ConnectProblem {
                text: e.to_string(),
                is_of_another: e.kind() == ErrorKind::ConnectionAborted,
            }
        })?;
    mesh.mark(RuntimeSettings::here().token_class);
    Ok(mesh)
}

fn write(door: SocketAddr) -> [u8; DOOR] {
    let mut octets = [0; DOOR];
    octets[0] = 1;
    octets[1..17].copy_from_slice(&octets_of(door.ip()));
    octets[17..].copy_from_slice(&door.port().to_be_bytes());
    octets
}

fn read(octets: &[u8]) -> Option<SocketAddr> {
    let ip: [u8; 16] = octets.get(1..17)?.try_into().ok()?;
    let port = u16::from_be_bytes([octets[17], octets[18]]);
    (octets[0] == 1).then(|| SocketAddr::new(IpAddr::from(ip).to_canonical(), port))
}

/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn alltoall(
    call: &CollectiveCall,
    within: &CallComm,
    mesh: &KeptMesh,
    parts: &[RankPart],
) -> MpiResult<()> {
    let mut began = false;
    // SAFETY: passed on to the caller.
    let outcome = unsafe {
        octets::alltoall(call, within, |sends, receives| {
            began = true;
            within.part_by_part(parts, |part| {
                exchange(call, within, mesh, part, sends, receives)
            })
        })
    };
    if !began {
        // The others wait for blocks that are not going to come.
        mesh.lock().close();
    }
    outcome
}

fn exchange(
    call: &CollectiveCall,
    within: &CallComm,
    mesh: &KeptMesh,
    part: &RankPart,
    sends: &[&[u8]],
    receives: &mut [&mut [u8]],
) -> MpiResult<()> {
    let progress = &mut || within.progress();
    let equal = |(sent, received): (&&[u8], &&mut [u8])| sent.len() == received.len();
    if !call.collective.has_own_lengths() && !sends.iter().zip(&*receives).all(equal) {
        // Blocks of two lengths cannot both match those of the other ranks. Without frames the ranks
        // would wait for each other, or take octets of this call for those of the next.
        mesh.lock().close();
        return Err(MpiErrorCode::truncated());
    }
    let arrived = if call.collective.has_own_lengths() {
        mesh.lock()
            .carry_out_framed(part, sends, receives, progress)
    } else {
        mesh.lock()
            .carry_out(part, sends, receives, progress)
            .map(|()| ArrivedBlocks::Whole)
    };
    match arrived {
        Ok(ArrivedBlocks::Whole) => Ok(()),
        Ok(ArrivedBlocks::Truncated) => Err(MpiErrorCode::truncated()),
        Err(broken) => Err(failed(&broken)),
    }
}

/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn allgather(
    call: &CollectiveCall,
    within: &CallComm,
    mesh: &KeptMesh,
    parts: &[RankPart],
) -> MpiResult<()> {
    let me = within.rank as u32;
    let incoming = call.received()?;
    if !call.in_place() {
        // SAFETY: passed on to the caller.
        unsafe { call.sent()?.of_rank(0).copy(incoming.of_rank(me)) }?;
    }
    let ranks = 0..within.size as u32;
    let mut places =
        ReceiveBlocks::allocate(ranks.map(|rank| (incoming.of_rank(rank), incoming.octets(rank))))?;
    // SAFETY: passed on to the caller.
    unsafe { places.pack(me) }?;
    // SAFETY: the application leaves the buffer alone during the call, and its blocks do not
    // overlap.
    let mut blocks = unsafe { places.blocks() };
    let outcome = parts.iter().try_for_each(|part| {
        mesh.lock()
            .carry_out(part, &[], &mut blocks, &mut || within.progress())
    });
    outcome.map_err(|broken| failed(&broken))?;
    // SAFETY: passed on to the caller.
    unsafe { places.unpack(me) }
}

/// The call has begun and cannot be undone, so the application hears of the failure as of any failure
/// of its MPI library.
pub(crate) fn failed(broken: &MeshError) -> MpiErrorCode {
    stderr::write_line(&format!("TCP path: {broken}; the call failed"));
    MpiErrorCode::other()
}
