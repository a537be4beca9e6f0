//! The memory of the process goes back to the system. By default each thread allocates from an arena
//! of its own, and large blocks stay with the process once some were freed: in a fleet of 20,000
//! hosts a quarter of the resident memory was free.
#![allow(unsafe_code, reason = "mallopt has no safe wrapper")]

/// Arenas for all threads together.
const ARENAS: libc::c_int = 2;
/// Blocks from this size on are mapped one by one, and given back when they are freed; so is as much
/// at the end of the heap.
const LARGE: libc::c_int = 128 << 10;

/// Sets the allocator up. To be called before there are other threads: each keeps the arena that it
/// began with.
pub fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    for (what, value) in [
        (libc::M_ARENA_MAX, ARENAS),
        (libc::M_MMAP_THRESHOLD, LARGE),
        (libc::M_TRIM_THRESHOLD, LARGE),
    ] {
        // SAFETY: mallopt takes two numbers and is thread-safe (mallopt(3)). A value that it refuses
        // leaves the default.
        unsafe { libc::mallopt(what, value) };
    }
}
