//! The MPI library of this process, and the backend for it.
use crate::interface_symbols::{OF_EVERY_LIBRARY, STANDARD_VERSION, backend_for_own};
use crate::launcher::{ReadPresence, read_presence};
use crate::loaded_objects::{find, loaded_libraries};
use crate::mapped_file::{MappedFile, file_of};
use crate::profiler;
use crate::stderr::{first_rank, say};
use libc::{RTLD_DEFAULT, RTLD_LOCAL, RTLD_NOW, c_char, c_int, c_void};
use passes::PassTable;
use presence::Ability;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One collective in one form: who serves it, and the library's own.
pub(crate) struct ServedCollective<F> {
    /// A profiler that wants to see the program's calls first.
    pub(crate) profiler: Option<F>,
    /// The backend, or the library where the runtime cannot be opened.
    pub(crate) served: F,
    /// The library's own; where it lacks the form, as served.
    pub(crate) own: F,
}

/// Where there is no backend, which also takes all calls there are: nothing passes it.
static NOBODY: PassTable = PassTable::new(usize::MAX);

/// The class of a count that does not fit; 2 in every MPI library.
const MPI_ERR_COUNT: c_int = 2;

/// In the place of a large-count form that nobody has. Whatever its arguments, it looks at none.
unsafe extern "C" fn nobody_has_it() -> c_int {
    MPI_ERR_COUNT
}

/// Looks a symbol of the MPI library up; null where it has none. Backends get this instead of
/// linking an MPI of their own: distributions name the same library differently, and a second copy
/// would be loaded.
pub(crate) type SymbolLookup = unsafe extern "C" fn(*const c_char) -> *mut c_void;
/// The function that a backend exports to be opened. It takes one way to find functions and one to find
/// objects, the way to read what other ranks published, and whether heddle is switched off. It returns 0, or the address of a C string with the
/// reason why it does not open.
type OpenBackend =
    unsafe extern "C" fn(SymbolLookup, SymbolLookup, ReadPresence, c_int) -> *const c_char;

/// The MPI library of this process, with the backend for it.
pub(crate) struct FoundMpi {
    version: String,
    pub(crate) file: MappedFile,
    backend: Option<LoadedBackend>,
}

impl FoundMpi {
    /// Finds the library and opens its backend, which must have all collectives of these names. Without any MPI
    /// the process ends with a message: somebody called an MPI function that nobody has.
    pub(crate) fn find(names: &[&str]) -> (FoundMpi, Ability) {
        let Some((version_function, version)) = version() else {
            say("an MPI function was called, but this process has no MPI library loaded");
            std::process::abort();
        };
        let off = std::env::var_os("HEDDLE").is_some_and(|v| v == "off");
        // Switched off, nothing is opened but for what the library itself lacks.
        let wanted = !off || find(c"PMPI_Alltoall_c").is_none();
        let opened = if wanted {
            backend_for(&version)
                .and_then(|backend| LoadedBackend::open(backend, names, off))
                .map(Some)
        } else {
            Ok(None)
        };
        if let (false, Err(problem)) = (off, &opened)
            && first_rank()
        {
            say(&format!("{problem}; the MPI library's own routines run"));
        }
        let ability = match &opened {
            _ if off => Ability::Off,
            Ok(Some(_)) => Ability::Serves,
            _ => Ability::NoBackend,
        };
        let found = FoundMpi {
            file: MappedFile::holding(version_function),
            version,
            backend: opened.ok().flatten(),
        };
        (found, ability)
    }

    /// `F` must be the type of the collective of this name.
    pub(crate) fn served<F: Copy>(&self, name: &str) -> ServedCollective<F> {
        let own = library_function(name).unwrap_or_else(|| {
            say(&format!(
                "{}: no PMPI_{name}; the call cannot be served",
                self.version
            ));
            std::process::abort();
        });
        self.form(name, own)
    }

    /// The same of a large-count form, which a library may lack.
    pub(crate) fn large<F: Copy>(&self, name: &str) -> ServedCollective<F> {
        self.form(
            name,
            library_function(name)
                .or_else(|| self.ours(name))
                .unwrap_or(nobody_has_it as *mut c_void),
        )
    }

    fn form<F: Copy>(&self, name: &str, own: *mut c_void) -> ServedCollective<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: both sides are as wide as an address, and this is the collective's type.
        let typed =
            |symbol: *mut c_void| unsafe { std::mem::transmute_copy::<*mut c_void, F>(&symbol) };
        ServedCollective {
            profiler: profiler::profiler_behind(&format!("MPI_{name}"), &self.file).map(typed),
            served: typed(self.ours(name).unwrap_or(own)),
            own: typed(own),
        }
    }

    pub(crate) fn passed(&self) -> &'static PassTable {
        let symbol = self.backend.as_ref().map(|b| b.symbol("HEDDLE_PASSING"));
        match symbol {
            // SAFETY: the backend, which is never closed, exports a static of this type.
            Some(Ok(passed)) => unsafe { &*passed.cast() },
            _ => &NOBODY,
        }
    }

    fn ours(&self, name: &str) -> Option<*mut c_void> {
        self.backend.as_ref()?.symbol(&backend_name(name)).ok()
    }
}

/// A backend's own name for a collective.
fn backend_name(name: &str) -> String {
    format!("heddle_{}", name.to_lowercase())
}

fn library_function(name: &str) -> Option<*mut c_void> {
    find(&CString::new(format!("PMPI_{name}")).ok()?)
}

/// The backend beside this library, opened.
struct LoadedBackend {
    path: PathBuf,
    handle: *mut c_void,
}

impl LoadedBackend {
    /// It must have all collectives of these names.
    fn open(mpi: &str, names: &[&str], off: bool) -> Result<LoadedBackend, String> {
        let path = beside_me(&format!("libheddle-{mpi}.so"));
        let file = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: a C string; the backend has no constructors that touch MPI.
        let handle = unsafe { libc::dlopen(file.as_ptr(), RTLD_NOW | RTLD_LOCAL) };
        if handle.is_null() {
            return Err(last_error());
        }
        let backend = LoadedBackend { path, handle };
        backend.check_build()?;
        for name in names {
            backend.symbol(&backend_name(name))?;
        }
        // SAFETY: the backend defines `heddle_open` with this signature.
        let open: OpenBackend = unsafe { std::mem::transmute(backend.symbol("heddle_open")?) };
        // SAFETY: these are what it asks for.
        let problem = unsafe { open(find_function, find_object, read_presence, off.into()) };
        if problem.is_null() {
            return Ok(backend);
        }
        // SAFETY: a C string of the backend, which is never freed.
        let problem = unsafe { CStr::from_ptr(problem) }.to_string_lossy();
        Err(format!("{}: {problem}", backend.path.display()))
    }

    /// Front and backend hand each other structures whose only version is that of the build.
    fn check_build(&self) -> Result<(), String> {
        type Build = unsafe extern "C" fn() -> *const c_char;
        // SAFETY: the backend defines `heddle_build` with this signature.
        let build: Build = unsafe { std::mem::transmute(self.symbol("heddle_build")?) };
        // SAFETY: it gives a static C string.
        let build = unsafe { CStr::from_ptr(build()) }.to_string_lossy();
        if build == presence::BUILD {
            return Ok(());
        }
        Err(format!(
            "{} is of heddle {build}, libheddle.so of {}: install both from one package",
            self.path.display(),
            presence::BUILD
        ))
    }

    fn symbol(&self, name: &str) -> Result<*mut c_void, String> {
        let symbol = CString::new(name).map_err(|e| e.to_string())?;
        // SAFETY: an open handle and a C string.
        let found = unsafe { libc::dlsym(self.handle, symbol.as_ptr()) };
        if found.is_null() {
            Err(format!(
                "{}: no {name}: not a backend of this version",
                self.path.display()
            ))
        } else {
            Ok(found)
        }
    }
}

/// A file in the directory this library was loaded from.
fn beside_me(name: &str) -> PathBuf {
    file_of(beside_me as fn(&str) -> PathBuf as *const c_void)
        .unwrap_or_default()
        .with_file_name(name)
}

fn last_error() -> String {
    // SAFETY: dlerror gives null or a C string valid until the next dl call of this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

/// `MPI_Get_library_version` and what it says: allowed at any time, before initialization too.
fn version() -> Option<(*mut c_void, String)> {
    type LibraryVersionFunction = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
    let found = find(OF_EVERY_LIBRARY)?;
    // SAFETY: the MPI standard gives this signature.
    let get: LibraryVersionFunction = unsafe { std::mem::transmute(found) };
    // at least MPI_MAX_LIBRARY_VERSION_STRING of every library: 256 and 8192
    let mut text = vec![0u8; 16 * 1024];
    let mut length = 0;
    // SAFETY: the buffer is longer than any library writes.
    unsafe { get(text.as_mut_ptr().cast(), &mut length) };
    let text = CStr::from_bytes_until_nul(&text).ok()?;
    Some((found, text.to_string_lossy().into_owned()))
}

unsafe extern "C" fn find_function(name: *const c_char) -> *mut c_void {
    // SAFETY: the backend passes C strings.
    find(unsafe { CStr::from_ptr(name) }).unwrap_or(std::ptr::null_mut())
}

/// An object of the library, like Open MPI's predefined handles. The one that counts is the first
/// in the process: a program that names such an object may hold the only living copy of it (a copy
/// relocation), and what lies in the library's own file is then a dead duplicate.
unsafe extern "C" fn find_object(name: *const c_char) -> *mut c_void {
    // SAFETY: the backend passes C strings.
    let name = unsafe { CStr::from_ptr(name) };
    // SAFETY: a C string.
    let first = unsafe { libc::dlsym(RTLD_DEFAULT, name.as_ptr()) };
    if first.is_null() {
        find(name).unwrap_or(std::ptr::null_mut())
    } else {
        first
    }
}

/// The name of the backend for this process's library, or why there is none. Its symbols decide: a version
/// text is a name, and Intel MPI, MVAPICH, Cray MPICH and ParaStation MPI have the interface of MPICH. The
/// backend asks about handles and sizes later, for most of it may not be asked before MPI_Init.
fn backend_for(version: &str) -> Result<&'static str, String> {
    let version = version.lines().next().unwrap_or(version).trim();
    let files = library_files();
    if files.len() > 1 {
        let files: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        return Err(format!(
            "this process has two MPI libraries: {}",
            files.join(" and ")
        ));
    }
    if has_standard_abi() {
        return Ok("abi");
    }
    backend_for_own(|symbol| find(symbol).is_some())
        .ok_or_else(|| format!("\"{version}\": heddle has no backend for this MPI library"))
}

/// The files that have MPI's functions.
fn library_files() -> BTreeSet<PathBuf> {
    let local = loaded_libraries(b"libmpi", OF_EVERY_LIBRARY).into_iter();
    let functions = local
        .map(|(_, function)| function)
        .chain(find(OF_EVERY_LIBRARY));
    functions.filter_map(|f| file_of(f)).collect()
}

/// Whether the library has the handles of the MPI standard's own ABI (MPI-5.0, Application Binary
/// Interface) and not its own. One and the same library comes in both
/// forms. May be asked before initialization, and gives -1 where it has its own.
fn has_standard_abi() -> bool {
    type AbiVersionFunction = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    find(STANDARD_VERSION).is_some_and(|found: *mut c_void| {
        // SAFETY: the MPI standard gives this signature.
        let get: AbiVersionFunction = unsafe { std::mem::transmute(found) };
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: places for the results.
        let code = unsafe { get(&mut major, &mut minor) };
        code == 0 && major >= 0
    })
}
