//! The MPI library of the process: its profiling functions and a few handles, looked up by the
//! front.
//!
//! Looked up, not linked: linking would name a library file, and the process may run the same MPI
//! under another name.
#![allow(non_snake_case)] // MPI's names

use crate::abi::{
    MPI_Comm, MPI_Count, MPI_Datatype, MPI_Errhandler, MPI_Group, MPI_Op, MPI_Request, MPI_Status,
};
use inventory::{Mpi, MpiRoutines};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// Looks a symbol of the library up; null where it has none.
pub(crate) type SymbolFinder = unsafe extern "C" fn(*const c_char) -> *mut c_void;
pub(crate) type CopyAttribute = unsafe extern "C" fn(
    MPI_Comm,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_int,
) -> c_int;
pub(crate) type DeleteAttribute =
    unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;
/// MPI passes more arguments, which nobody may look at.
#[cfg(not(open_mpi))]
pub(crate) type HandleError = unsafe extern "C" fn(*mut MPI_Comm, *mut c_int);

/// The result of every MPI function that succeeds.
pub(crate) const SUCCESS: c_int = 0;

unsafe extern "C" {
    /// `MPI_IN_PLACE`
    static HEDDLE_IN_PLACE: *const c_void;
    static HEDDLE_STATUS_IGNORE: *mut MPI_Status;
    static HEDDLE_COMBINER_NAMED: c_int;
    static HEDDLE_KEYVAL_INVALID: c_int;
    static HEDDLE_THREAD_MULTIPLE: c_int;
}

/// A function of the library, of the signature the caller gives it.
///
/// # Safety
/// `find` must give the library's functions under their names, and `F` be the type of this one.
unsafe fn function<F: Copy>(find: SymbolFinder, name: &[u8]) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let name = CStr::from_bytes_with_nul(name).ok()?;
    // SAFETY: a C string.
    let found = Some(unsafe { find(name.as_ptr()) }).filter(|p| !p.is_null())?;
    // SAFETY: passed on to the caller; as wide as an address.
    Some(unsafe { std::mem::transmute_copy(&found) })
}

/// Declares a table: each function as the standard declares it, found under its `PMPI_` name.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident: $wrap:ident; $($(#[$only:meta])* $name:ident($($argument:ty),*);)*) => {
        $(#[$doc])*
        pub(crate) struct $table {
            $($(#[$only])* pub(crate) $name: functions!(@type $wrap unsafe extern "C" fn($($argument),*) -> c_int),)*
        }

        impl $table {
            /// # Safety
            /// `find` must give the library's functions under their names.
            unsafe fn find(find: SymbolFinder) -> Result<$table, &'static str> {
                Ok($table {
                    $($(#[$only])* $name: {
                        // SAFETY: passed on to the caller; the MPI standard gives this function
                        // this signature.
                        let found = unsafe { function::<unsafe extern "C" fn($($argument),*) -> c_int>(find, concat!("PMPI_", stringify!($name), "\0").as_bytes()) };
                        functions!(@value $wrap found $name)
                    },)*
                })
            }
        }
    };
    (@type Each $type:ty) => { $type };
    (@type Some $type:ty) => { Option<$type> };
    (@value Each $found:ident $name:ident) => {
        $found.ok_or(concat!("the MPI library has no PMPI_", stringify!($name), ", which heddle needs"))?
    };
    (@value Some $found:ident $name:ident) => { $found };
}

functions! {
    /// The library's functions, by the names of the standard without their prefix.
    Functions: Each;
    #[cfg(standard_abi)]
    Abi_get_version(*mut c_int, *mut c_int);
    Abort(MPI_Comm, c_int);
    Allgather(*const c_void, c_int, MPI_Datatype, *mut c_void, c_int, MPI_Datatype, MPI_Comm);
    Allgatherv(*const c_void, c_int, MPI_Datatype, *mut c_void, *const c_int, *const c_int, MPI_Datatype, MPI_Comm);
    Allreduce(*const c_void, *mut c_void, c_int, MPI_Datatype, MPI_Op, MPI_Comm);
    Alltoall(*const c_void, c_int, MPI_Datatype, *mut c_void, c_int, MPI_Datatype, MPI_Comm);
    Alltoallv(*const c_void, *const c_int, *const c_int, MPI_Datatype, *mut c_void, *const c_int, *const c_int, MPI_Datatype, MPI_Comm);
    Alltoallw(
        *const c_void, *const c_int, *const c_int, *const MPI_Datatype, *mut c_void, *const c_int, *const c_int, *const MPI_Datatype, MPI_Comm
    );
    Barrier(MPI_Comm);
    Bcast(*mut c_void, c_int, MPI_Datatype, c_int, MPI_Comm);
    Comm_call_errhandler(MPI_Comm, c_int);
    #[cfg(not(open_mpi))]
    Comm_create_errhandler(HandleError, *mut MPI_Errhandler);
    Comm_create_keyval(CopyAttribute, DeleteAttribute, *mut c_int, *mut c_void);
    Comm_free(*mut MPI_Comm);
    Comm_get_attr(MPI_Comm, c_int, *mut c_void, *mut c_int);
    Comm_get_errhandler(MPI_Comm, *mut MPI_Errhandler);
    Comm_group(MPI_Comm, *mut MPI_Group);
    Comm_rank(MPI_Comm, *mut c_int);
    Comm_remote_size(MPI_Comm, *mut c_int);
    Comm_set_attr(MPI_Comm, c_int, *mut c_void);
    Comm_set_errhandler(MPI_Comm, MPI_Errhandler);
    Comm_size(MPI_Comm, *mut c_int);
    Comm_split(MPI_Comm, c_int, c_int, *mut MPI_Comm);
    Comm_test_inter(MPI_Comm, *mut c_int);
    Errhandler_free(*mut MPI_Errhandler);
    // MPI_File is an address.
    #[cfg(standard_abi)]
    File_get_errhandler(usize, *mut MPI_Errhandler);
    Finalized(*mut c_int);
    Get_library_version(*mut c_char, *mut c_int);
    Get_processor_name(*mut c_char, *mut c_int);
    Get_version(*mut c_int, *mut c_int);
    Group_free(*mut MPI_Group);
    Group_translate_ranks(MPI_Group, c_int, *const c_int, MPI_Group, *mut c_int);
    Iallgather(*const c_void, c_int, MPI_Datatype, *mut c_void, c_int, MPI_Datatype, MPI_Comm, *mut MPI_Request);
    Iallreduce(*const c_void, *mut c_void, c_int, MPI_Datatype, MPI_Op, MPI_Comm, *mut MPI_Request);
    Ibarrier(MPI_Comm, *mut MPI_Request);
    Ibcast(*mut c_void, c_int, MPI_Datatype, c_int, MPI_Comm, *mut MPI_Request);
    Initialized(*mut c_int);
    Iprobe(c_int, c_int, MPI_Comm, *mut c_int, *mut MPI_Status);
    Irecv(*mut c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Request);
    Isend(*const c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Request);
    Op_commutative(MPI_Op, *mut c_int);
    Pack(*const c_void, c_int, MPI_Datatype, *mut c_void, c_int, *mut c_int, MPI_Comm);
    #[cfg(not(open_mpi))]
    Pack_size(c_int, MPI_Datatype, MPI_Comm, *mut c_int);
    Query_thread(*mut c_int);
    Reduce(*const c_void, *mut c_void, c_int, MPI_Datatype, MPI_Op, c_int, MPI_Comm);
    Reduce_local(*const c_void, *mut c_void, c_int, MPI_Datatype, MPI_Op);
    Reduce_scatter_block(*const c_void, *mut c_void, c_int, MPI_Datatype, MPI_Op, MPI_Comm);
    Test(*mut MPI_Request, *mut c_int, *mut MPI_Status);
    // MPI_Aint is an integer as wide as an address.
    Type_get_envelope(MPI_Datatype, *mut c_int, *mut c_int, *mut c_int, *mut c_int);
    Type_get_extent(MPI_Datatype, *mut isize, *mut isize);
    Type_get_true_extent(MPI_Datatype, *mut isize, *mut isize);
    Type_size_x(MPI_Datatype, *mut MPI_Count);
    Wait(*mut MPI_Request, *mut MPI_Status);
    Waitsome(c_int, *mut MPI_Request, *mut c_int, *mut c_int, *mut MPI_Status);
}

functions! {
    /// Those with large counts, where the library has them (MPI-4.0, section 2.5.8).
    Large: Some;
    Allgather_c(*const c_void, MPI_Count, MPI_Datatype, *mut c_void, MPI_Count, MPI_Datatype, MPI_Comm);
    Allgatherv_c(*const c_void, MPI_Count, MPI_Datatype, *mut c_void, *const MPI_Count, *const isize, MPI_Datatype, MPI_Comm);
    Allreduce_c(*const c_void, *mut c_void, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
    Alltoall_c(*const c_void, MPI_Count, MPI_Datatype, *mut c_void, MPI_Count, MPI_Datatype, MPI_Comm);
    Alltoallv_c(
        *const c_void, *const MPI_Count, *const isize, MPI_Datatype, *mut c_void, *const MPI_Count, *const isize, MPI_Datatype, MPI_Comm
    );
    Alltoallw_c(
        *const c_void, *const MPI_Count, *const isize, *const MPI_Datatype, *mut c_void, *const MPI_Count, *const isize, *const MPI_Datatype, MPI_Comm
    );
    Bcast_c(*mut c_void, MPI_Count, MPI_Datatype, c_int, MPI_Comm);
    Reduce_scatter_block_c(*const c_void, *mut c_void, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
    Type_get_envelope_c(MPI_Datatype, *mut MPI_Count, *mut MPI_Count, *mut MPI_Count, *mut MPI_Count, *mut c_int);
}

/// Predefined handles: numbers in MPICH and the standard, addresses inside the library in Open MPI.
#[derive(Clone, Copy)]
pub(crate) struct MpiHandles {
    pub(crate) byte: MPI_Datatype,
    pub(crate) packed: MPI_Datatype,
    pub(crate) uint64: MPI_Datatype,
    pub(crate) datatype_null: MPI_Datatype,
    pub(crate) comm_null: MPI_Comm,
    pub(crate) comm_self: MPI_Comm,
    pub(crate) comm_world: MPI_Comm,
    pub(crate) group_null: MPI_Group,
    pub(crate) op_null: MPI_Op,
    pub(crate) op_band: MPI_Op,
    pub(crate) op_min: MPI_Op,
    pub(crate) op_prod: MPI_Op,
    pub(crate) op_sum: MPI_Op,
    /// The operations of reductions.
    #[cfg(open_mpi)]
    pub(crate) ops: [MPI_Op; 12],
    pub(crate) request_null: MPI_Request,
    pub(crate) errors_are_fatal: MPI_Errhandler,
    #[cfg(not(standard_abi))]
    pub(crate) errors_return: MPI_Errhandler,
}

impl MpiHandles {
    #[cfg(open_mpi)]
    fn find(find: SymbolFinder) -> Option<MpiHandles> {
        let address = |name: &CStr| {
            // SAFETY: a C string.
            Some(unsafe { find(name.as_ptr()) }).filter(|p| !p.is_null())
        };
        // Open MPI's mpi.h defines MPI_BYTE and the others as the addresses of these symbols.
        let op = |name| Some(MPI_Op(address(name)?.cast()));
        Some(MpiHandles {
            ops: [
                op(c"ompi_mpi_op_max")?,
                op(c"ompi_mpi_op_min")?,
                op(c"ompi_mpi_op_sum")?,
                op(c"ompi_mpi_op_prod")?,
                op(c"ompi_mpi_op_land")?,
                op(c"ompi_mpi_op_band")?,
                op(c"ompi_mpi_op_lor")?,
                op(c"ompi_mpi_op_bor")?,
                op(c"ompi_mpi_op_lxor")?,
                op(c"ompi_mpi_op_bxor")?,
                op(c"ompi_mpi_op_maxloc")?,
                op(c"ompi_mpi_op_minloc")?,
            ],
            byte: MPI_Datatype(address(c"ompi_mpi_byte")?.cast()),
            packed: MPI_Datatype(address(c"ompi_mpi_packed")?.cast()),
            uint64: MPI_Datatype(address(c"ompi_mpi_uint64_t")?.cast()),
            datatype_null: MPI_Datatype(address(c"ompi_mpi_datatype_null")?.cast()),
            comm_null: MPI_Comm(address(c"ompi_mpi_comm_null")?.cast()),
            comm_self: MPI_Comm(address(c"ompi_mpi_comm_self")?.cast()),
            comm_world: MPI_Comm(address(c"ompi_mpi_comm_world")?.cast()),
            group_null: MPI_Group(address(c"ompi_mpi_group_null")?.cast()),
            op_null: MPI_Op(address(c"ompi_mpi_op_null")?.cast()),
            op_band: op(c"ompi_mpi_op_band")?,
            op_min: op(c"ompi_mpi_op_min")?,
            op_prod: op(c"ompi_mpi_op_prod")?,
            op_sum: op(c"ompi_mpi_op_sum")?,
            request_null: MPI_Request(address(c"ompi_request_null")?.cast()),
            errors_are_fatal: MPI_Errhandler(address(c"ompi_mpi_errors_are_fatal")?.cast()),
            errors_return: MPI_Errhandler(address(c"ompi_mpi_errors_return")?.cast()),
        })
    }

    #[cfg(not(open_mpi))]
    fn find(_find: SymbolFinder) -> Option<MpiHandles> {
        unsafe extern "C" {
            static HEDDLE_BYTE: MPI_Datatype;
            static HEDDLE_PACKED: MPI_Datatype;
            static HEDDLE_UINT64: MPI_Datatype;
            static HEDDLE_DATATYPE_NULL: MPI_Datatype;
            static HEDDLE_COMM_NULL: MPI_Comm;
            static HEDDLE_COMM_SELF: MPI_Comm;
            static HEDDLE_COMM_WORLD: MPI_Comm;
            static HEDDLE_GROUP_NULL: MPI_Group;
            static HEDDLE_OP_NULL: MPI_Op;
            static HEDDLE_OP_BAND: MPI_Op;
            static HEDDLE_OP_MIN: MPI_Op;
            static HEDDLE_OP_PROD: MPI_Op;
            static HEDDLE_OP_SUM: MPI_Op;
            static HEDDLE_REQUEST_NULL: MPI_Request;
            static HEDDLE_ERRORS_ARE_FATAL: MPI_Errhandler;
            #[cfg(not(standard_abi))]
            static HEDDLE_ERRORS_RETURN: MPI_Errhandler;
        }
        // SAFETY: constants of constants.c.
        unsafe {
            Some(MpiHandles {
                byte: HEDDLE_BYTE,
                packed: HEDDLE_PACKED,
                uint64: HEDDLE_UINT64,
                datatype_null: HEDDLE_DATATYPE_NULL,
                comm_null: HEDDLE_COMM_NULL,
                comm_self: HEDDLE_COMM_SELF,
                comm_world: HEDDLE_COMM_WORLD,
                group_null: HEDDLE_GROUP_NULL,
                op_null: HEDDLE_OP_NULL,
                op_band: HEDDLE_OP_BAND,
                op_min: HEDDLE_OP_MIN,
                op_prod: HEDDLE_OP_PROD,
                op_sum: HEDDLE_OP_SUM,
                request_null: HEDDLE_REQUEST_NULL,
                errors_are_fatal: HEDDLE_ERRORS_ARE_FATAL,
                #[cfg(not(standard_abi))]
                errors_return: HEDDLE_ERRORS_RETURN,
            })
        }
    }
}

/// The library as a whole.
pub(crate) struct MpiLibrary {
    pub(crate) call: Functions,
    pub(crate) large: Large,
    pub(crate) handle: MpiHandles,
    pub(crate) in_place: *const c_void,
    pub(crate) status_ignore: *mut MPI_Status,
    pub(crate) combiner_named: c_int,
    pub(crate) keyval_invalid: c_int,
    pub(crate) thread_multiple: c_int,
    /// Whose routines it has.
    pub(crate) routines: MpiRoutines,
    /// True if an error on a communicator without a handler of its own goes to that of
    /// MPI_COMM_WORLD, as in MPICH.
    pub(crate) lends_handlers: bool,
}

impl MpiLibrary {
    /// True from MPI_Init to MPI_Finalize, as long as there are MPI_COMM_WORLD and MPI_COMM_SELF. A
    /// program may have sessions before and after, or alone.
    pub(crate) fn has_world(&self) -> bool {
        let (mut begun, mut ended) = (0, 0);
        // SAFETY: places for the results. Both may be asked at any time.
        unsafe {
            (self.call.Initialized)(&mut begun);
            (self.call.Finalized)(&mut ended);
        }
        begun != 0 && ended == 0
    }
}

// SAFETY: function addresses and predefined handles, which MPI lets every thread use.
unsafe impl Send for MpiLibrary {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for MpiLibrary {}

static OPENED: OnceLock<MpiLibrary> = OnceLock::new();

/// The oldest version of the standard that has all that heddle calls.
const OLDEST: c_int = 3;

/// Looks everything up, once. Gives the reason where the library cannot be served.
///
/// # Safety
/// `function` and `object` must give those of the MPI library this crate was compiled for.
pub(crate) unsafe fn open(function: SymbolFinder, object: SymbolFinder) -> Result<(), String> {
    // SAFETY: passed on to the caller.
    let call = unsafe { Functions::find(function) }?;
    // SAFETY: as above.
    let large = unsafe { Large::find(function) }?;
    let handle = MpiHandles::find(object).ok_or("the MPI library lacks a handle heddle needs")?;
    let (mut version, mut minor) = (0, 0);
    // SAFETY: places for the results. It may be asked before MPI_Init.
    unsafe { (call.Get_version)(&mut version, &mut minor) };
    if version < OLDEST {
        return Err(format!(
            "MPI_Get_version of the library says {version}.{minor}, and heddle needs {OLDEST}.0"
        ));
    }
    // As the front has room for it.
    let mut text = vec![0u8; 16 * 1024];
    // SAFETY: the buffer is longer than any library writes. It may be asked before MPI_Init.
    unsafe { (call.Get_library_version)(text.as_mut_ptr().cast(), &mut minor) };
    let text = CStr::from_bytes_until_nul(&text)
        .unwrap_or_default()
        .to_string_lossy();
    // The standard's interface is of several.
    let family = if cfg!(open_mpi) || cfg!(standard_abi) && text.contains(Mpi::OpenMpi.title()) {
        Mpi::OpenMpi
    } else {
        Mpi::Mpich
    };
    // SAFETY: constants of constants.c.
    let mpi = unsafe {
        MpiLibrary {
            call,
            large,
            handle,
            in_place: HEDDLE_IN_PLACE,
            status_ignore: HEDDLE_STATUS_IGNORE,
            combiner_named: HEDDLE_COMBINER_NAMED,
            keyval_invalid: HEDDLE_KEYVAL_INVALID,
            thread_multiple: HEDDLE_THREAD_MULTIPLE,
            routines: MpiRoutines::of_version(&text, family),
            lends_handlers: family == Mpi::Mpich,
        }
    };
    OPENED.get_or_init(|| mpi);
    Ok(())
}

/// The library. The front opens it before it passes any call.
pub(crate) fn mpi() -> &'static MpiLibrary {
    match OPENED.get() {
        Some(mpi) => mpi,
        None => unreachable!("the front calls heddle_open before any collective"),
    }
}

/// True if threads of this process may call MPI at once: then calls on two communicators have no
/// common order.
pub(crate) fn threads_call_at_once() -> bool {
    static MULTIPLE: OnceLock<bool> = OnceLock::new();
    *MULTIPLE.get_or_init(|| {
        let mut provided = 0;
        // SAFETY: a place for the result.
        let code = unsafe { (mpi().call.Query_thread)(&mut provided) };
        code != SUCCESS || provided == mpi().thread_multiple
    })
}
