//! The few lines the runtime writes, all to standard error.
use std::collections::HashSet;
use std::io::Write;
use std::sync::Mutex;

/// A line, written at once: the ranks of a host share one terminal, and pieces of their lines would
/// mix.
pub fn write_line(text: &str) {
    // A closed standard error is not a problem of the job.
    let _ = std::io::stderr().write_all(format!("heddle: {text}\n").as_bytes());
}

/// A line, unless this process has written the same before: a program may make a thousand
/// communicators, and a problem may last.
pub fn write_line_once(text: &str) {
    static WRITTEN: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let mut guard = WRITTEN
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let written = guard.get_or_insert_default();
    // A program that runs for weeks beside a flapping directory must not fill its memory or its
    // log.
    if written.len() < 64 && written.insert(text.to_owned()) {
        write_line(text);
    }
}
