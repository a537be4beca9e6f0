//! PMIx: the MPI library hands a rank's data over with PMIx_Commit, in MPI_Init, and this library
//! puts its own beside them before.
//!
//! PMIx is found, not linked. Open MPI 4 opens it privately, where RTLD_NEXT does not look.
use super::{INTERFACE, Interface, own_text};
use libc::{RTLD_NEXT, c_char, c_int, c_void};
use presence::KEY;
use presence::difference::Published;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

// From the PMIx standard 3.1 to 5.0 (appendix of constants, and pmix_common.h): the same in each.
const SUCCESS: c_int = 0;
const NOT_FOUND: c_int = -46;
const NOT_SUPPORTED: c_int = -47;
/// PMIX_GLOBAL: for all ranks of the job.
const GLOBAL: u8 = 3;
const BOOL: u16 = 1;
const STRING: u16 = 3;
const INT: u16 = 6;
const LONGEST_KEY: usize = 511;
const LONGEST_NAMESPACE: usize = 255;
/// PMIX_HOSTNAME: the host of a rank, of which the launcher knows by itself.
const HOST: &str = "pmix.hname";
/// PMIX_IMMEDIATE: an answer at once, rather than when a rank publishes perhaps.
const IMMEDIATE: &str = "pmix.immediate";
/// PMIX_TIMEOUT, in seconds.
const TIMEOUT: &str = "pmix.timeout";
/// A launcher answers in less than a millisecond.
const PATIENCE: c_int = 10;

/// `pmix_proc_t`.
#[repr(C)]
struct Proc {
    namespace: [u8; LONGEST_NAMESPACE + 1],
    rank: u32,
}

/// `pmix_value_t`: its data is a union as wide as three addresses.
#[repr(C)]
struct Value {
    kind: u16,
    data: [usize; 3],
}

/// `pmix_info_t`.
#[repr(C)]
struct Info {
    key: [u8; LONGEST_KEY + 1],
    flags: u32,
    value: Value,
}

type Commit = unsafe extern "C" fn() -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Get =
    unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> c_int;

/// `PMIx_Commit` of the PMIx standard; the first time with this rank's presence.
///
/// # Safety
/// As the PMIx standard says.
#[unsafe(no_mangle)]
unsafe extern "C" fn PMIx_Commit() -> c_int {
    static PUBLISHED: AtomicBool = AtomicBool::new(false);
    let Some(own) = find(c"PMIx_Commit") else {
        return NOT_SUPPORTED;
    };
    if !PUBLISHED.swap(true, Ordering::Relaxed)
        && let Some(pmix) = publish()
    {
        // Nobody else sets it: PMI-1 and PMIx are never the launchers of one process.
        let _ = INTERFACE.set(Interface::Pmix(pmix));
    }
    // SAFETY: the PMIx standard gives this signature.
    let own: Commit = unsafe { std::mem::transmute(own) };
    // SAFETY: passed on to the caller.
    unsafe { own() }
}

/// Puts this rank's presence; the launcher has it after the commit.
fn publish() -> Option<Pmix> {
    let text = CString::new(own_text()?).ok()?;
    let namespace = std::env::var_os("PMIX_NAMESPACE")?;
    let namespace = padded(namespace.as_bytes())?;
    let (put, get) = (find(c"PMIx_Put")?, find(c"PMIx_Get")?);
    // SAFETY: the PMIx standard gives these signatures.
    let (put, get): (Put, Get) = unsafe { (std::mem::transmute(put), std::mem::transmute(get)) };
    let key: [u8; LONGEST_KEY + 1] = padded(KEY.as_bytes())?;
    let mut value = Value {
        kind: STRING,
        data: [text.as_ptr() as usize, 0, 0],
    };
    // SAFETY: a key in a room of full length, and a value of its kind, of which PMIx takes a copy.
    let code = unsafe { put(GLOBAL, key.as_ptr().cast(), &mut value) };
    (code == SUCCESS).then_some(Pmix { get, namespace })
}

/// A text with zeros behind it up to the length of its place, at least one.
fn padded<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut place = [0; N];
    place[..N - 1].get_mut(..text.len())?.copy_from_slice(text);
    Some(place)
}

/// A launcher that has this rank's presence.
pub(super) struct Pmix {
    get: Get,
    namespace: [u8; LONGEST_NAMESPACE + 1],
}

impl Pmix {
    /// What it has of a rank.
    pub(super) fn read(&self, rank: u32) -> Option<Published> {
        match self.text_of(rank, KEY)? {
            Some(text) => Some(Published::Text(text)),
            None => Some(Published::Nothing(self.text_of(rank, HOST).flatten())),
        }
    }

    /// A text under a key; nothing where there is none, `None` where the launcher does not say.
    fn text_of(&self, rank: u32, key: &str) -> Option<Option<String>> {
        let of = Proc {
            namespace: self.namespace,
            rank,
        };
        let key: [u8; LONGEST_KEY + 1] = padded(key.as_bytes())?;
        let how = [
            info(IMMEDIATE, BOOL, 1)?,
            info(TIMEOUT, INT, PATIENCE as usize)?,
        ];
        let mut value: *mut Value = std::ptr::null_mut();
        let key = key.as_ptr().cast();
        // SAFETY: the arguments as the PMIx standard lays them out, and a place for the result.
        // Any thread may ask at any time.
        let code = unsafe { (self.get)(&of, key, how.as_ptr(), how.len(), &mut value) };
        if code == NOT_FOUND {
            return Some(None);
        }
        if code != SUCCESS || value.is_null() {
            return None;
        }
        // SAFETY: PMIx gives a value that the caller frees, as it does the text in it.
        unsafe {
            let (kind, data) = ((*value).kind, (*value).data[0] as *mut c_char);
            let is_text = kind == STRING && !data.is_null();
            let text = is_text.then(|| CStr::from_ptr(data).to_string_lossy().into_owned());
            if is_text {
                libc::free(data.cast());
                libc::free(value.cast());
            }
            // A value of another kind is not heddle's; it is left.
            text.map(Some)
        }
    }
}

fn info(key: &str, kind: u16, value: usize) -> Option<Info> {
    Some(Info {
        key: padded(key.as_bytes())?,
        flags: 0,
        // Of each kind the first octets count, which both machines begin with the lowest.
        value: Value {
            kind,
            data: [value, 0, 0],
        },
    })
}

/// A function of PMIx, never this library's own.
fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a C string; RTLD_NEXT starts behind this library.
    let next = unsafe { libc::dlsym(RTLD_NEXT, name.as_ptr()) };
    let found = if next.is_null() {
        // SAFETY: an open handle and a C string.
        private_library().map(|handle| unsafe { libc::dlsym(handle as *mut c_void, name.as_ptr()) })
    } else {
        Some(next)
    };
    found.filter(|p| !p.is_null())
}

/// PMIx where it was loaded out of the global scope.
fn private_library() -> Option<usize> {
    static HANDLE: OnceLock<Option<usize>> = OnceLock::new();
    *HANDLE.get_or_init(|| crate::library::loaded_library(b"libpmix", c"PMIx_Commit"))
}
