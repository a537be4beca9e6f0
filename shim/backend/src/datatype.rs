//! heddle's questions about the application's datatypes. A question that fails is heddle's own
//! trouble: the call then goes to the library, which raises what there is to raise.
#[cfg(not(open_mpi))]
use crate::abi::is_predefined_datatype;
use crate::abi::{MPI_Comm, MPI_Count, MPI_Datatype};
use crate::error_handlers::quietly;
use crate::mpi::{SUCCESS, mpi};
use crate::mpi_result::{MpiErrorCode, MpiResult, check};
use std::ffi::c_int;

/// Octets of an element; `None` for what cannot be a datatype. `comm` is the call's.
pub(crate) fn size_if_valid(datatype: MPI_Datatype, comm: MPI_Comm) -> Option<u64> {
    if datatype == mpi().handle.datatype_null || !is_valid(datatype, comm) {
        return None;
    }
    size(datatype).ok()
}

/// Questions about a datatype that fail are reported to the handler of MPI_COMM_WORLD or MPI_COMM_SELF,
/// which is perhaps not the call's. This one belongs to a communicator, which can be kept quiet;
/// what is predefined needs none.
#[cfg(not(open_mpi))]
fn is_valid(datatype: MPI_Datatype, comm: MPI_Comm) -> bool {
    let is_there = || {
        let mut size = 0;
        // SAFETY: MPICH checks handles before it follows them.
        quietly(comm, || unsafe {
            (mpi().call.Pack_size)(1, datatype, comm, &mut size)
        }) == SUCCESS
    };
    if is_predefined_datatype(datatype.0) {
        cfg!(mpich) || asked_once(datatype, is_there)
    } else {
        is_there()
    }
}

/// The standard has numbers of datatypes that a library may lack, as of Fortran's largest.
#[cfg(not(open_mpi))]
fn asked_once(datatype: MPI_Datatype, is_there: impl FnOnce() -> bool) -> bool {
    use std::sync::atomic::{AtomicBool, Ordering};
    const NUMBERS: usize = 1 << 9;
    static THERE: [AtomicBool; NUMBERS] = [const { AtomicBool::new(false) }; NUMBERS];
    // Numbers from 512 to 1,023 (`is_predefined_datatype`): each has a place of its own.
    let there = &THERE[datatype.0 as usize % NUMBERS];
    if !there.load(Ordering::Relaxed) && is_there() {
        there.store(true, Ordering::Relaxed);
    }
    there.load(Ordering::Relaxed)
}

/// Handles are addresses: nothing tells a wrong one, but null.
#[cfg(open_mpi)]
fn is_valid(datatype: MPI_Datatype, _: MPI_Comm) -> bool {
    !datatype.0.is_null()
}

/// Octets of an element of what is known to be a datatype.
pub(crate) fn size(datatype: MPI_Datatype) -> MpiResult<u64> {
    let mut size = 0;
    // SAFETY: a datatype of the application and a place for the result.
    let code = unsafe { (mpi().call.Type_size_x)(datatype, &mut size) };
    if code == SUCCESS {
        u64::try_from(size).map_err(|_| MpiErrorCode::datatype())
    } else {
        Err(MpiErrorCode(code))
    }
}

/// The layout of a type's elements in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DatatypeLayout {
    pub(crate) size: u64,
    /// Bytes from an element to the next: negative where a datatype's extent is.
    pub(crate) extent: isize,
    /// True if elements lie octet by octet, one behind the other, in the order they are sent.
    pub(crate) plain: bool,
}

impl DatatypeLayout {
    /// Of a datatype that is known to be one.
    pub(crate) fn query(datatype: MPI_Datatype) -> MpiResult<DatatypeLayout> {
        let (mut lower, mut extent) = (0isize, 0isize);
        // SAFETY: a datatype of the application and places for the results.
        check(unsafe { (mpi().call.Type_get_extent)(datatype, &mut lower, &mut extent) })?;
        let size = size(datatype)?;
        // Pairs such as MPI_DOUBLE_INT are predefined and have a gap.
        let plain = lower == 0 && extent as u64 == size && is_predefined(datatype);
        Ok(DatatypeLayout {
            size,
            extent,
            plain,
        })
    }
}

/// Where the octets of a type's elements lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrueExtent {
    pub(crate) size: usize,
    /// The first octet, from an element's address.
    pub(crate) true_lower: isize,
    /// From an element's first octet to its last one.
    pub(crate) true_extent: usize,
    /// Bytes from an element to the next: negative where a datatype's extent is.
    pub(crate) extent: isize,
}

impl TrueExtent {
    /// Of a datatype that is known to be one.
    pub(crate) fn query(datatype: MPI_Datatype) -> MpiResult<TrueExtent> {
        let (mut lower, mut extent) = (0isize, 0isize);
        // SAFETY: a datatype of the application and places for the results.
        check(unsafe { (mpi().call.Type_get_extent)(datatype, &mut lower, &mut extent) })?;
        let (mut true_lower, mut true_extent) = (0isize, 0isize);
        // SAFETY: as above.
        check(unsafe {
            (mpi().call.Type_get_true_extent)(datatype, &mut true_lower, &mut true_extent)
        })?;
        Ok(TrueExtent {
            size: size(datatype)? as usize,
            true_lower,
            true_extent: true_extent.max(0) as usize,
            extent,
        })
    }
}

/// Larger elements are not looked at.
const MOST_LOOKED_AT: u64 = 1 << 16;

/// True if elements, of an application's own datatype perhaps, lie without gaps, octet by octet as
/// they are sent: two octets of each place's number are packed in the places' order.
pub(crate) fn lies_as_sent(datatype: MPI_Datatype) -> bool {
    let Ok(layout) = DatatypeLayout::query(datatype) else {
        return false;
    };
    let size = layout.size;
    if layout.plain || size == 0 || layout.extent as u64 != size || size > MOST_LOOKED_AT {
        return layout.plain;
    }
    let (mut lower, mut extent) = (0, 0);
    // SAFETY: a datatype of the application and places for the results.
    let code = unsafe { (mpi().call.Type_get_true_extent)(datatype, &mut lower, &mut extent) };
    if code != SUCCESS || lower != 0 || extent as u64 != size {
        return false;
    }
    let own = mpi().handle.comm_self;
    [0, 8].into_iter().all(|shift| {
        let places: Vec<u8> = (0..size as u32)
            .map(|place| (place >> shift) as u8)
            .collect();
        let mut packed = vec![0; places.len()];
        let (from, into) = (places.as_ptr().cast(), packed.as_mut_ptr().cast());
        let (room, mut position) = (size as c_int, 0);
        let code = quietly(own, || {
            // SAFETY: an element lies within its true extent, and there is room for it.
            unsafe { (mpi().call.Pack)(from, 1, datatype, into, room, &mut position, own) }
        });
        code == SUCCESS && packed == places
    })
}

/// By the form with large counts where the library has it: the other one refuses types that were
/// made with large counts (MPI-4.0, 5.1.13).
pub(crate) fn is_predefined(datatype: MPI_Datatype) -> bool {
    let mpi = mpi();
    let mut combiner = mpi.combiner_named.wrapping_add(1);
    let code = if let Some(large) = mpi.large.Type_get_envelope_c {
        let mut numbers: [MPI_Count; 4] = [0; 4];
        let [integers, addresses, counts, types] = &mut numbers;
        // SAFETY: a datatype of the application and places for the results.
        unsafe { large(datatype, integers, addresses, counts, types, &mut combiner) }
    } else {
        let mut numbers: [c_int; 3] = [0; 3];
        let [integers, addresses, types] = &mut numbers;
        // SAFETY: as above.
        unsafe { (mpi.call.Type_get_envelope)(datatype, integers, addresses, types, &mut combiner) }
    };
    code == SUCCESS && combiner == mpi.combiner_named
}
