//! The TCP path of a communicator: made when a call first asks for it, with the consent of all ranks.
use crate::call::{Call, Outgoing};
use crate::mpi::{SUCCESS, mpi};
use crate::private::{Data, Failed, Private, Result, check};
use ::mpi::ffi::MPI_Datatype;
use runtime::plan::Follow;
use runtime::say;
use runtime::tcp::greeting::Secret;
use runtime::tcp::{Broken, Door, Mesh, descriptors};
use schedules::slice::Step;
use std::ffi::c_int;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How long the other ranks may take to call: connections are made at once, but a host may be busy.
const PATIENCE: Duration = Duration::from_secs(10);
/// The tag of a message to itself.
pub(crate) const OWN: c_int = 1;
/// An address among the ranks: a family octet (0: none), sixteen of the address, two of the port.
const DOOR: usize = 19;

/// Whether the connections stand.
#[derive(Debug, Default)]
pub(crate) enum Wires {
    #[default]
    Untried,
    Up(Mesh),
    /// Some rank could not; nobody tries again.
    Refused,
}

impl Wires {
    /// Whether the connections stand; they are made now if nobody tried before. Collective.
    pub(crate) fn up(&mut self, private: &Private, follow: &Follow) -> Result<bool> {
        if let Wires::Untried = self {
            let (mesh, problem) = connect(private, follow)?;
            let own = [u8::from(mesh.is_some())];
            let everybody = private.gather_all(&own)?.iter().all(|&up| up == 1);
            if let (false, Some(problem)) = (everybody, problem) {
                say::once(&format!("TCP path: {problem}; MPI point-to-point carries the blocks"));
            }
            *self = mesh.filter(|_| everybody).map_or(Wires::Refused, Wires::Up);
            self.pace(private, follow);
        }
        Ok(self.mesh().is_some())
    }

    pub(crate) fn mesh(&mut self) -> Option<&mut Mesh> {
        if let Wires::Up(mesh) = self { Some(mesh) } else { None }
    }

    /// Sends at the rates of this epoch's links.
    pub(crate) fn pace(&mut self, private: &Private, follow: &Follow) {
        if let Wires::Up(mesh) = self {
            // A kernel that refuses sends faster than need be: nothing is lost but evenness.
            let _ = mesh.pace(|rank| follow.rate(private.rank as u32, rank));
        }
    }
}

/// This rank's connections, or why it has none. Collective.
fn connect(private: &Private, follow: &Follow) -> Result<(Option<Mesh>, Option<String>)> {
    let me = private.rank as u32;
    let address = follow.address(me).ok_or_else(|| "the topology states no address for this host".to_owned());
    let address = address.and_then(|address| descriptors::enough(Mesh::descriptors(private.size as u32)).map(|()| address));
    let door = address.and_then(|address| Door::open(address).map_err(|e| format!("{address}: {e}")));
    let mut own = [0; DOOR];
    if let Ok(door) = &door {
        own = write(door.address());
    }
    let mut secret = [0; 32];
    if me == 0 && std::fs::File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut secret)).is_err() {
        own = [0; DOOR]; // Without a secret no door is opened.
    }
    let all = private.gather_all(&own)?;
    private.broadcast(&mut secret)?;
    let doors: Option<Vec<SocketAddr>> = all.chunks(DOOR).map(read).collect();
    Ok(match (door, doors) {
        (Err(problem), _) => (None, Some(problem)),
        (Ok(_), None) => (None, (me == 0).then(|| "some rank cannot be called; it says why".to_owned())),
        (Ok(door), Some(doors)) => match door.connect(me, &doors, &Secret(secret), PATIENCE, || private.progress()) {
            Ok(mesh) => (Some(mesh), None),
            Err(e) => (None, Some(e.to_string())),
        },
    })
}

fn write(door: SocketAddr) -> [u8; DOOR] {
    let mut octets = [0; DOOR];
    let ip = match door.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    octets[0] = 1;
    octets[1..17].copy_from_slice(&ip.octets());
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
pub(crate) unsafe fn alltoall(call: &Call, private: &Private, mesh: &mut Mesh, steps: &[Step], block: usize) -> Result<()> {
    let me = private.rank as u32;
    // SAFETY: passed on to the caller.
    let outgoing = unsafe { Outgoing::of(call, private) }?;
    let incoming = call.received()?;
    if outgoing.own_block_moves() {
        // SAFETY: passed on to the caller.
        unsafe { private.copy(outgoing.to(me), incoming.of_rank(me), OWN) }?;
    }
    let ranks = 0..private.size as u32;
    // SAFETY: passed on to the caller.
    let packed = unsafe { Packed::of(ranks.clone().map(|rank| outgoing.to(rank)), private, block) }?;
    let sends = packed.blocks();
    let mut places = Places::of(ranks.map(|rank| incoming.of_rank(rank)), block)?;
    // SAFETY: the application leaves both buffers alone during the call, and its blocks do not overlap.
    let outcome = mesh.alltoall(steps, &sends, &mut unsafe { places.blocks() }, &mut || private.progress());
    outcome.map_err(|broken| failed(&broken))?;
    // SAFETY: passed on to the caller.
    unsafe { places.unpack(private, me) }
}

/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn allgather(call: &Call, private: &Private, mesh: &mut Mesh, ring: &[u32], block: usize) -> Result<()> {
    let me = private.rank as u32;
    let incoming = call.received()?;
    if !call.in_place() {
        // SAFETY: passed on to the caller.
        unsafe { private.copy(call.sent()?.of_rank(0), incoming.of_rank(me), OWN) }?;
    }
    let mut places = Places::of((0..private.size as u32).map(|rank| incoming.of_rank(rank)), block)?;
    // SAFETY: passed on to the caller.
    unsafe { places.pack(private, me) }?;
    // SAFETY: the application leaves the buffer alone during the call, and its blocks do not overlap.
    let outcome = mesh.ring(ring, &mut unsafe { places.blocks() }, &mut || private.progress());
    outcome.map_err(|broken| failed(&broken))?;
    // SAFETY: passed on to the caller.
    unsafe { places.unpack(private, me) }
}

/// What has begun cannot be undone: the application hears of it as of any failure of its MPI library.
fn failed(broken: &Broken) -> Failed {
    say::line(&format!("TCP path: {broken}; the call failed"));
    Failed(::mpi::ffi::MPI_ERR_OTHER as c_int)
}

/// Whether elements of this type lie in memory octet by octet, one behind the other, in the order they are sent.
fn is_plain(datatype: MPI_Datatype) -> Result<bool> {
    let call = &mpi().call;
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    let (mut lower, mut extent, mut size) = (0isize, 0isize, 0);
    // SAFETY: a datatype of the application and places for the results.
    unsafe {
        check((call.Type_get_envelope)(datatype, &mut integers, &mut addresses, &mut types, &mut combiner))?;
        check((call.Type_get_extent)(datatype, &mut lower, &mut extent))?;
        check((call.Type_size_x)(datatype, &mut size))?;
    }
    // Pairs such as MPI_DOUBLE_INT are predefined and have a gap.
    Ok(combiner == mpi().combiner_named && lower == 0 && extent as i64 == size)
}

/// Blocks to send as octets: the application's own memory where it is plain, else a copy.
pub(crate) struct Packed {
    at: Vec<*const u8>,
    length: usize,
    /// Holds what the addresses point to.
    _copy: Vec<u8>,
}

impl Packed {
    /// # Safety
    /// The buffers must hold what their datatypes say, and stay as they are as long as this lives.
    pub(crate) unsafe fn of(blocks: impl Iterator<Item = Data>, private: &Private, length: usize) -> Result<Packed> {
        let blocks: Vec<Data> = blocks.collect();
        let plain = blocks.first().is_none_or(|b| b.datatype == mpi().handle.packed) || is_plain(blocks[0].datatype)?;
        if plain {
            return Ok(Packed { at: blocks.iter().map(|b| b.at.cast_const().cast()).collect(), length, _copy: Vec::new() });
        }
        let mut copy = room(length.saturating_mul(blocks.len()))?;
        for (block, place) in blocks.iter().zip(copy.chunks_exact_mut(length)) {
            // SAFETY: passed on to the caller.
            unsafe { private.flatten(*block, place) }?;
        }
        Ok(Packed { at: copy.chunks_exact(length).map(<[u8]>::as_ptr).collect(), length, _copy: copy })
    }

    pub(crate) fn blocks(&self) -> Vec<&[u8]> {
        // SAFETY: each address begins a block of this length: MPI's argument, or a chunk of the copy.
        self.at.iter().map(|&at| unsafe { std::slice::from_raw_parts(at, self.length) }).collect()
    }
}

/// Where blocks are received as octets: the application's own memory where it is plain, else aside.
pub(crate) struct Places {
    blocks: Vec<Data>,
    length: usize,
    aside: Option<Vec<u8>>,
}

impl Places {
    pub(crate) fn of(blocks: impl Iterator<Item = Data>, length: usize) -> Result<Places> {
        let blocks: Vec<Data> = blocks.collect();
        let plain = blocks.first().is_none_or(|b| b.datatype == mpi().handle.byte) || is_plain(blocks[0].datatype)?;
        let aside = if plain { None } else { Some(room(length.saturating_mul(blocks.len()))?) };
        Ok(Places { blocks, length, aside })
    }

    /// # Safety
    /// The application's blocks must be as long as said and not overlap.
    pub(crate) unsafe fn blocks(&mut self) -> Vec<&mut [u8]> {
        match &mut self.aside {
            Some(aside) => aside.chunks_exact_mut(self.length).collect(),
            // SAFETY: passed on to the caller.
            None => self.blocks.iter().map(|b| unsafe { std::slice::from_raw_parts_mut(b.at.cast(), self.length) }).collect(),
        }
    }

    /// Puts a rank's block aside as the others' will be.
    ///
    /// # Safety
    /// The buffer must hold what its datatype says.
    unsafe fn pack(&mut self, private: &Private, rank: u32) -> Result<()> {
        let Some(aside) = &mut self.aside else { return Ok(()) };
        let begin = rank as usize * self.length;
        // SAFETY: passed on to the caller.
        unsafe { private.flatten(self.blocks[rank as usize], &mut aside[begin..begin + self.length]) }
    }

    /// Puts what came aside where it belongs; the block of `me` is there.
    ///
    /// # Safety
    /// The buffers must have room for what their datatypes say.
    pub(crate) unsafe fn unpack(&self, private: &Private, me: u32) -> Result<()> {
        let Some(aside) = &self.aside else { return Ok(()) };
        for (rank, (block, octets)) in (0..).zip(self.blocks.iter().zip(aside.chunks_exact(self.length))) {
            if rank != me {
                // SAFETY: passed on to the caller.
                unsafe { private.copy(octets_of(octets), *block, OWN) }?;
            }
        }
        Ok(())
    }
}

/// Octets as elements of any type, as the standard lets them be sent and received (MPI-4.1, 5.2: MPI_PACKED).
fn octets_of(octets: &[u8]) -> Data {
    Data { at: octets.as_ptr().cast_mut().cast(), count: octets.len() as c_int, datatype: mpi().handle.packed }
}

pub(crate) fn room(octets: usize) -> Result<Vec<u8>> {
    let mut room = Vec::new();
    room.try_reserve_exact(octets).map_err(|_| Failed(::mpi::ffi::MPI_ERR_NO_MEM as c_int))?;
    room.resize(octets, 0);
    Ok(room)
}

impl Private {
    /// Lets the library move on with what else is under way: the application may have messages pending on which another rank waits
    /// before it comes to this call.
    fn progress(&self) -> bool {
        let mut flag = 0;
        // SAFETY: places for the results; no message on this communicator has this tag.
        unsafe { (mpi().call.Iprobe)(0, 0, self.handle(), &mut flag, mpi().status_ignore) == SUCCESS }
    }

    /// Copies a block's elements one behind the other. By a message to itself: MPI_Pack of MPICH refuses `MPI_BOTTOM`.
    ///
    /// # Safety
    /// The buffer must hold what its datatype says.
    unsafe fn flatten(&self, block: Data, into: &mut [u8]) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.copy(block, octets_of(into), OWN) }
    }
}
