//! The few lines the runtime writes, all to standard error.
use std::collections::HashSet;
use std::sync::Mutex;

/// A line.
pub fn line(text: &str) {
    eprintln!("heddle: {text}");
}

/// A line, unless this process has said the same before: a program may make a thousand communicators, and a
/// problem may last.
pub fn once(text: &str) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let mut said = SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let said = said.get_or_insert_default();
    // A program that runs for weeks beside a flapping directory must not fill its memory or its log.
    if said.len() < 64 && said.insert(text.to_owned()) {
        line(text);
    }
}
