//! The library's answers, compared with the numbers that this backend was compiled for. A library of another binary
//! interface under the same symbols would read heddle's handles as other things and write statuses
//! over what lies beside them. So before the first call is served it is asked a few things whose
//! answers this backend knows; where one differs, heddle serves no call.
//!
//! All ranks of a job run one library, so all of them come to one answer.
#[cfg(not(open_mpi))]
use crate::abi::{MPI_Comm, MPI_Errhandler};
use crate::abi::{MPI_Datatype, MPI_Request, MPI_Status};
use crate::datatype::is_predefined;
use crate::error_handlers::quietly;
use crate::mpi::{SUCCESS, mpi};
use std::ffi::c_int;
use std::mem::{MaybeUninit, offset_of};
use std::sync::OnceLock;

unsafe extern "C" {
    safe static HEDDLE_ANY_SOURCE: c_int;
    safe static HEDDLE_ANY_TAG: c_int;
}

/// True if the library is what this backend was compiled for. Asked once; one line says what
/// differs.
pub(crate) fn passed() -> bool {
    static PASSED: OnceLock<bool> = OnceLock::new();
    *PASSED.get_or_init(|| match first_difference() {
        None => true,
        Some(difference) => {
            runtime::stderr::write_line(&format!(
                "the MPI library is not the one that heddle's backend is for: {difference}; its \
                 own routines run"
            ));
            false
        }
    })
}

/// The first answer that differs, in words. The handles come first, as a library ends the job over
/// one that it does not know.
fn first_difference() -> Option<String> {
    let handle = &mpi().handle;
    handles_differ().or_else(status_differs).or_else(|| {
        quietly(handle.comm_world, || {
            quietly(handle.comm_self, || {
                datatype_differs("MPI_BYTE", handle.byte, 1)
                    .or_else(|| datatype_differs("MPI_PACKED", handle.packed, 1))
                    .or_else(|| datatype_differs("MPI_UINT64_T", handle.uint64, 8))
                    .or_else(communicator_differs)
                    .or_else(in_place_differs)
            })
        })
    })
}

/// A handle that the library makes, whatever the handles are that it is asked about. MPICH's say in
/// four of their bits what they are of.
#[cfg(mpich)]
fn handles_differ() -> Option<String> {
    const OBJECT: c_int = 0b1111 << 26;
    let known = mpi().handle.errors_are_fatal;
    new_handle_differs(|made| made.0 & OBJECT == known.0 & OBJECT)
}

/// The standard keeps numbers for its own objects. The version is of its binary interface.
#[cfg(standard_abi)]
fn handles_differ() -> Option<String> {
    use crate::abi::LAST_RESERVED;
    const KNOWN: c_int = 1;
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: places for the results.
    let code = unsafe { (mpi().call.Abi_get_version)(&mut major, &mut minor) };
    if code != SUCCESS || major != KNOWN {
        return Some(format!("MPI_Abi_get_version says {major}.{minor}"));
    }
    new_handle_differs(|made| made.0 as usize > LAST_RESERVED)
}

#[cfg(not(open_mpi))]
fn new_handle_differs(is_one: impl Fn(MPI_Errhandler) -> bool) -> Option<String> {
    unsafe extern "C" fn nothing(_: *mut MPI_Comm, _: *mut c_int) {}
    let (call, mut made) = (&mpi().call, mpi().handle.errors_are_fatal);
    // SAFETY: a function of the right kind and a place for the result, which is given back.
    let code = unsafe { (call.Comm_create_errhandler)(nothing, &mut made) };
    if code != SUCCESS || !is_one(made) {
        let handle = made.0 as usize as u32;
        return Some(format!("a handle of a new error handler is {handle:#x}"));
    }
    // SAFETY: as above.
    unsafe { (call.Errhandler_free)(&mut { made }) };
    None
}

/// Open MPI's handles are looked up in the library, so they are its own.
#[cfg(open_mpi)]
fn handles_differ() -> Option<String> {
    None
}

/// The status of no request: any source and any tag (MPI-4.1, section 3.7.3).
fn status_differs() -> Option<String> {
    const BESIDE: usize = 64;
    const UNTOUCHED: u8 = 0x5a;
    #[repr(C)]
    struct Place {
        status: MaybeUninit<MPI_Status>,
        beside: [u8; BESIDE],
    }
    let mpi = mpi();
    let mut place = Place {
        status: MaybeUninit::uninit(),
        beside: [UNTOUCHED; BESIDE],
    };
    let octets = place.status.as_mut_ptr().cast::<u8>();
    let (mut request, mut done): (MPI_Request, c_int) = (mpi.handle.request_null, 0);
    // SAFETY: the status has so many octets; no request, and places for the answers.
    let code = unsafe {
        octets.write_bytes(UNTOUCHED, size_of::<MPI_Status>());
        (mpi.call.Test)(&mut request, &mut done, octets.cast())
    };
    let number = |offset: usize| {
        // SAFETY: every octet of the status was written above, and a number lies there.
        unsafe { octets.add(offset).cast::<c_int>().read_unaligned() }
    };
    let source = number(offset_of!(MPI_Status, source));
    let tag = number(offset_of!(MPI_Status, tag));
    if code != SUCCESS || done == 0 {
        Some(format!("MPI_Test of no request gives {code}, {done}"))
    } else if (source, tag) != (HEDDLE_ANY_SOURCE, HEDDLE_ANY_TAG) {
        Some(format!(
            "the status of no request has source {source} and tag {tag}, not {HEDDLE_ANY_SOURCE} \
             and {HEDDLE_ANY_TAG}"
        ))
    } else if place.beside != [UNTOUCHED; BESIDE] {
        let size = size_of::<MPI_Status>();
        Some(format!("an MPI_Status has more than {size} octets"))
    } else {
        None
    }
}

/// A predefined datatype by its size and its envelope.
fn datatype_differs(name: &str, datatype: MPI_Datatype, octets: i64) -> Option<String> {
    let mut size = -1;
    // SAFETY: a place for the result; errors come back as codes.
    let code = unsafe { (mpi().call.Type_size_x)(datatype, &mut size) };
    if code != SUCCESS || size != octets {
        Some(format!("MPI_Type_size of {name} gives {code}, {size}"))
    } else if !is_predefined(datatype) {
        Some(format!("the envelope of {name} is not MPI_COMBINER_NAMED"))
    } else {
        None
    }
}

/// MPI_COMM_SELF has one rank, and MPI_MIN is commutative.
fn communicator_differs() -> Option<String> {
    let (call, handle) = (&mpi().call, &mpi().handle);
    let (mut size, mut commutes) = (-1, -1);
    // SAFETY: places for the results; errors come back as codes.
    let codes = unsafe {
        (
            (call.Comm_size)(handle.comm_self, &mut size),
            (call.Op_commutative)(handle.op_min, &mut commutes),
        )
    };
    if codes.0 != SUCCESS || size != 1 {
        Some(format!("MPI_Comm_size of MPI_COMM_SELF gives {size}"))
    } else if codes.1 != SUCCESS || commutes != 1 {
        Some(format!("MPI_Op_commutative of MPI_MIN gives {commutes}"))
    } else {
        None
    }
}

/// In place the library looks at none of the arguments about what is sent. One that knows another
/// MPI_IN_PLACE finds this count wrong, before it looks at a buffer.
fn in_place_differs() -> Option<String> {
    let (mpi, mut octet) = (mpi(), 0u8);
    let (byte, place) = (mpi.handle.byte, (&raw mut octet).cast());
    // SAFETY: one octet of room, on a communicator of one rank; errors come back as codes.
    let code = unsafe {
        (mpi.call.Alltoall)(mpi.in_place, -1, byte, place, 1, byte, mpi.handle.comm_self)
    };
    (code != SUCCESS).then(|| format!("MPI_Alltoall with MPI_IN_PLACE gives {code}"))
}
