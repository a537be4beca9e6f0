//! PMIx: the MPI library hands a rank's data over with PMIx_Commit, in MPI_Init, and this library
//! puts its own beside them before.
//!
//! PMIx is found, not linked. Open MPI 4 opens it privately, where RTLD_NEXT does not look.
use super::{INTERFACE, Interface, own_text};
use crate::loaded_objects::loaded_library;
use libc::{RTLD_NEXT, c_char, c_int, c_void};
use presence::KEY;
use presence::difference::Published;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

// From the PMIx standard 3.1 to 5.0 (appendix of constants, and pmix_common.h): the same in each.
const SUCCESS: c_int = 0;
const TIMED_OUT: c_int = -24;
const NOT_FOUND: c_int = -46;
const NOT_SUPPORTED: c_int = -47;
/// PMIX_GLOBAL: for all ranks of the job.
const GLOBAL: u8 = 3;
const BOOL: u16 = 1;
const STRING: u16 = 3;
const LONGEST_KEY: usize = 511;
const LONGEST_NAMESPACE: usize = 255;
/// PMIX_HOSTNAME: the host of a rank.
const HOST: &str = "pmix.hname";
/// PMIX_IMMEDIATE: an answer at once, rather than when a rank publishes perhaps.
const IMMEDIATE: &str = "pmix.immediate";
/// A launcher answers in less than a millisecond, or never: PMIX_TIMEOUT does not hold in PMIx 4.2.
/// So this process waits in vain once.
const PATIENCE: Duration = Duration::from_secs(5);

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
type Take = unsafe extern "C" fn(c_int, *const Value, *mut c_void);
type GetLater = unsafe extern "C" fn(
    *const Proc,
    *const c_char,
    *const Info,
    usize,
    Take,
    *mut c_void,
) -> c_int;

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
        // Nobody else sets it: PMI and PMIx are never the launchers of one process.
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
    let name = std::env::var_os("PMIX_NAMESPACE")?;
    let namespace = padded(name.as_bytes())?;
    let own_rank = std::env::var("PMIX_RANK").ok()?.parse().ok()?;
    let (put, get) = (find(c"PMIx_Put")?, find(c"PMIx_Get_nb")?);
    // SAFETY: the PMIx standard gives this signature.
    let put: Put = unsafe { std::mem::transmute(put) };
    // SAFETY: as above.
    let get: GetLater = unsafe { std::mem::transmute(get) };
    let key: [u8; LONGEST_KEY + 1] = padded(KEY.as_bytes())?;
    let mut value = Value {
        kind: STRING,
        data: [text.as_ptr() as usize, 0, 0],
    };
    // SAFETY: a key in a room of full length, and a value of its kind, of which PMIx takes a copy.
    let code = unsafe { put(GLOBAL, key.as_ptr().cast(), &mut value) };
    (code == SUCCESS).then_some(Pmix {
        get,
        namespace,
        own_rank,
        is_collected: AtomicBool::new(false),
        left: Mutex::new(PATIENCE),
    })
}

/// A text with zeros behind it up to the length of its place, at least one.
fn padded<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut place = [0; N];
    place[..N - 1].get_mut(..text.len())?.copy_from_slice(text);
    Some(place)
}

/// A launcher that has this rank's presence.
pub(super) struct Pmix {
    get: GetLater,
    namespace: [u8; LONGEST_NAMESPACE + 1],
    own_rank: u32,
    /// All data have come to each host: those of a rank on another one are here.
    is_collected: AtomicBool,
    /// For how long an answer from where data were published may be waited for.
    left: Mutex<Duration>,
}

impl Pmix {
    /// The text that it has of a rank.
    pub(super) fn read(&self, rank: u32) -> Option<Published> {
        if let Some(text) = self.text_of(rank, KEY, true)? {
            self.note_place_of(rank);
            return Some(Published::Text(text));
        }
        // Launchers mostly collect all data in MPI_Init. One that leaves them where they were
        // published asks there, but only if it may take its time.
        let text = if self.is_collected.load(Ordering::Relaxed) {
            None
        } else {
            self.text_of(rank, KEY, false)?
        };
        match text {
            Some(text) => Some(Published::Text(text)),
            None => Some(Published::Nothing(self.host_of(rank))),
        }
    }

    /// The data of this rank are here, wherever it runs.
    fn note_place_of(&self, rank: u32) {
        if !self.is_collected.load(Ordering::Relaxed)
            && let (Some(there), Some(here)) = (self.host_of(rank), self.host_of(self.own_rank))
            && there != here
        {
            self.is_collected.store(true, Ordering::Relaxed);
        }
    }

    /// The host of a rank, of which the launcher knows by itself.
    fn host_of(&self, rank: u32) -> Option<String> {
        self.text_of(rank, HOST, true).flatten()
    }

    /// A text under a key, `at_once` only if it is on this host already; nothing where there is
    /// none, `None` where the launcher does not say.
    fn text_of(&self, rank: u32, key: &str, at_once: bool) -> Option<Option<String>> {
        let question = Arc::new(Question {
            of: Proc {
                namespace: self.namespace,
                rank,
            },
            key: padded(key.as_bytes())?,
            how: [info(IMMEDIATE, BOOL, usize::from(at_once))?],
            answer: Mutex::new(None),
            answered: Condvar::new(),
        });
        let kept = Arc::into_raw(Arc::clone(&question));
        let (of, key, how) = (&question.of, question.key.as_ptr().cast(), &question.how);
        // SAFETY: the arguments as the PMIx standard lays them out. They live until the answer
        // comes, or for good. Any thread may ask at any time.
        let code = unsafe {
            (self.get)(
                of,
                key,
                how.as_ptr(),
                how.len(),
                take,
                kept.cast_mut().cast(),
            )
        };
        if code != SUCCESS {
            // SAFETY: no answer comes, so this is the only one to take it back.
            drop(unsafe { Arc::from_raw(kept) });
            return (code == NOT_FOUND).then_some(None);
        }
        let answer = if at_once {
            question.wait(PATIENCE)
        } else {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = question.wait(*left);
            if matches!(answer, None | Some((TIMED_OUT, _))) {
                *left = Duration::ZERO;
            }
            answer
        };
        match answer {
            Some((SUCCESS, text)) => text.map(Some),
            // One that asks where no such thing was published waits, for some time or for good.
            Some((NOT_FOUND | TIMED_OUT, _)) | None => Some(None),
            Some(_) => None,
        }
    }
}

/// The question, and the answer: a code, and a text if it is one.
struct Question {
    of: Proc,
    key: [u8; LONGEST_KEY + 1],
    how: [Info; 1],
    answer: Mutex<Option<(c_int, Option<String>)>>,
    answered: Condvar,
}

impl Question {
    fn wait(&self, longest: Duration) -> Option<(c_int, Option<String>)> {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waited = self
            .answered
            .wait_timeout_while(answer, longest, |answer| answer.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        waited.0.take()
    }
}

/// The answer comes, on a thread of PMIx.
unsafe extern "C" fn take(code: c_int, value: *const Value, question: *mut c_void) {
    // SAFETY: what `text_of` kept for this call, which comes once.
    let question: Arc<Question> = unsafe { Arc::from_raw(question.cast_const().cast()) };
    // SAFETY: PMIx gives null or a value, with a text where it says so, until this call ends.
    let text = unsafe {
        let value = value.as_ref().filter(|value| value.kind == STRING);
        let text = value.map(|value| value.data[0] as *const c_char);
        text.filter(|text| !text.is_null())
            .map(|text| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    let mut answer = question
        .answer
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    *answer = Some((code, text));
    question.answered.notify_all();
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

/// PMIx where it was loaded out of the global scope: a library of its own, or a part of Open MPI 4.
fn private_library() -> Option<usize> {
    static HANDLE: OnceLock<Option<usize>> = OnceLock::new();
    *HANDLE.get_or_init(|| {
        let names: [&[u8]; 3] = [b"libpmix", b"mca_pmix_", b"libopen-pal"];
        let mut handles = names
            .iter()
            .map(|name| loaded_library(name, c"PMIx_Commit"));
        handles.find_map(|handle| handle)
    })
}
