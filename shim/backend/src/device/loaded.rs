//! The drivers that the process has loaded. heddle loads none.
//!
//! A program may load one between any two calls, so each call that heddle carries asks. Whether
//! there can be news is seen from how many objects the loader has loaded so far.
use super::cuda::CudaDriver;
use super::driver::{DeviceDriver, DevicePlace};
use super::hip::HipDriver;
use super::library::{DriverLibrary, MissingFunction};
use runtime::stderr;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A driver that a process may load.
struct KnownDriver {
    /// How the name of its library's file begins.
    file: &'static str,
    open: fn(DriverLibrary) -> Result<Box<dyn DeviceDriver>, MissingFunction>,
    /// Set once it is loaded; to `None` if it cannot be used.
    opened: OnceLock<Option<Box<dyn DeviceDriver>>>,
}

static KNOWN: [KnownDriver; 2] = [
    KnownDriver {
        file: "libcuda.so",
        open: CudaDriver::open,
        opened: OnceLock::new(),
    },
    KnownDriver {
        file: "libamdhip64.so",
        open: HipDriver::open,
        opened: OnceLock::new(),
    },
];

/// How many objects the loader had loaded when somebody last looked for drivers.
static LOOKED_AT: AtomicU64 = AtomicU64::new(0);

/// Memory of a device: whose driver it is, and where.
#[derive(Clone, Copy)]
pub(crate) struct DeviceMemory {
    pub(crate) driver: &'static dyn DeviceDriver,
    pub(crate) place: DevicePlace,
}

impl PartialEq for DeviceMemory {
    fn eq(&self, other: &DeviceMemory) -> bool {
        std::ptr::addr_eq(self.driver, other.driver) && self.place == other.place
    }
}

/// True if the process has loaded a driver.
pub(crate) fn any_driver() -> bool {
    let loaded = objects_loaded();
    if LOOKED_AT.load(Ordering::Acquire) != loaded {
        look_for_drivers();
        // Another thread that looks as well finds the same.
        LOOKED_AT.store(loaded, Ordering::Release);
    }
    drivers().next().is_some()
}

fn drivers() -> impl Iterator<Item = &'static dyn DeviceDriver> {
    KNOWN
        .iter()
        .filter_map(|known| known.opened.get()?.as_deref())
}

/// Whose memory lies at an address that the host cannot touch. `None` for the host's own, and where
/// a driver cannot say.
pub(crate) fn device_memory(address: usize) -> Option<DeviceMemory> {
    drivers().find_map(|driver| match driver.place(address) {
        Ok(place) => place.map(|place| DeviceMemory { driver, place }),
        Err(failed) => {
            stderr::write_line_once(&format!(
                "device memory: {} failed with error {}, so heddle does not know which buffers lie \
                 on a device and takes them for the host's; if the program ends with a segmentation \
                 fault, run it with HEDDLE=off",
                failed.function, failed.code
            ));
            None
        }
    })
}

/// How many objects the loader has loaded since the process began.
fn objects_loaded() -> u64 {
    let mut loaded = 0u64;
    // SAFETY: the callback writes only into `loaded`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(take_count), (&raw mut loaded).cast()) };
    loaded
}

/// The first entry has the number, as all have.
unsafe extern "C" fn take_count(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    loaded: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid entry and the pointer given to dl_iterate_phdr.
    unsafe { *loaded.cast::<u64>() = (*info).dlpi_adds };
    1
}

fn look_for_drivers() {
    let mut files: Vec<CString> = Vec::new();
    // SAFETY: the callback only copies names into `files`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(collect_file), (&raw mut files).cast()) };
    for known in KNOWN.iter().filter(|known| known.opened.get().is_none()) {
        let file = files.iter().find(|file| is_file_of(file, known.file));
        if let Some(library) = file.and_then(|file| DriverLibrary::loaded(file)) {
            known.opened.get_or_init(|| opened(known, library));
        }
    }
}

fn opened(known: &KnownDriver, library: DriverLibrary) -> Option<Box<dyn DeviceDriver>> {
    (known.open)(library)
        .inspect_err(|MissingFunction(name)| {
            stderr::write_line_once(&format!(
                "device memory: {} has no function {}, so heddle takes all buffers for the host's; \
                 if the program ends with a segmentation fault, run it with HEDDLE=off",
                known.file,
                name.to_string_lossy()
            ));
        })
        .ok()
}

fn is_file_of(path: &CStr, begin: &str) -> bool {
    let name = path.to_bytes().rsplit(|&octet| octet == b'/').next();
    name.is_some_and(|name| name.starts_with(begin.as_bytes()))
}

/// Names of drivers' files only: a process may have hundreds of others.
unsafe extern "C" fn collect_file(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    files: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid entry and the pointer given to dl_iterate_phdr.
    let (name, files) = unsafe { ((*info).dlpi_name, &mut *files.cast::<Vec<CString>>()) };
    if !name.is_null() {
        // SAFETY: a C string of the loader.
        let name = unsafe { CStr::from_ptr(name) };
        if KNOWN.iter().any(|known| is_file_of(name, known.file)) {
            files.push(name.to_owned());
        }
    }
    0
}
