//! The environment variables of heddle: one table for commands, jobs and the documents.

/// A reader of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableReader {
    /// The library in MPI jobs.
    Jobs,
    /// Commands of the program.
    Commands,
    /// The units of systemd, from files in `/etc/heddle`.
    Units,
}

/// An environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownVariable {
    pub name: &'static str,
    /// Its readers.
    pub reader: VariableReader,
    /// Its meaning, values and default.
    pub meaning: &'static str,
}

const fn variable(
    reader: VariableReader,
    name: &'static str,
    meaning: &'static str,
) -> KnownVariable {
    KnownVariable {
        name,
        reader,
        meaning,
    }
}

use VariableReader::{Commands, Jobs, Units};
use strsim::osa_distance;

/// All variables, those of users first.
pub const VARIABLES: &[KnownVariable] = &[
    variable(
        Jobs,
        "HEDDLE_DIR",
        "the shared directory; without it the MPI library's own routines run",
    ),
    variable(
        Jobs,
        "HEDDLE",
        "`off` on all ranks: the library does nothing",
    ),
    variable(
        Jobs,
        "HEDDLE_VERBOSE",
        "1: rank 0 says what it follows and, at the end, what served the calls; 2: every decision, \
         too; 0 unless set",
    ),
    variable(
        Jobs,
        "HEDDLE_TRACE",
        "a folder into which each rank writes a trace of its calls (tracing.md)",
    ),
    variable(
        Jobs,
        "HEDDLE_LEARN",
        "`off`: calls go the ways of the decision table, and the job learns nothing (learning.md)",
    ),
    variable(
        Jobs,
        "HEDDLE_NETWORK",
        "the name of the network whose tree jobs follow, where there are several; `published`: the MPI \
         library's messages cross the main network's tree. Either way no job looks whether they do \
         (mpi-runtime.md)",
    ),
    variable(
        Jobs,
        "HEDDLE_REDUCE",
        "`reproducible`: floating-point sums and products, and a program's own operations, are the \
         library's own, to the last digit; `fast`: sums and products change to the faster way at any \
         call; `off`: all reductions are the library's own (learning.md)",
    ),
    variable(
        Jobs,
        "HEDDLE_WATCHDOG",
        "a rank that waits so many seconds names the rank it waits for",
    ),
    variable(
        Jobs,
        "HEDDLE_PATIENCE",
        "seconds for which ranks wait for each other before a communicator stands aside, and for a lost \
         connection before MPI messages replace it; 120 unless set",
    ),
    variable(
        Jobs,
        "HEDDLE_AFTER",
        "units of work on a communicator after which the ranks agree on an epoch at the latest; \
         4096. Set it alike on all ranks",
    ),
    variable(
        Jobs,
        "HEDDLE_PRESENT",
        "`all`: all ranks have heddle, of one version and with the same settings, and heddle does \
         not ask the launcher (loading.md). Set it alike on all ranks",
    ),
    variable(
        Jobs,
        "HEDDLE_FORCE",
        "one way at every size: `aapc`, `lg`, `bundled` or `bundled-phases`, `ring`, `rings` (with `tcp`), `relay`, several as \
         `aapc,ring`, or `native`; with `tcp` over the runtime's own connections. Set it alike on \
         all ranks",
    ),
    variable(
        Jobs,
        "HEDDLE_TURNS",
        "several of them in turn, for measurements. Set it alike on all ranks",
    ),
    variable(
        Jobs,
        "HEDDLE_DSCP",
        "the class, 0 to 63, with which a rank marks tokens and acknowledgements of its own \
         connections; 46 (expedited forwarding), 0 or `off` for none",
    ),
    variable(
        Commands,
        "HEDDLE_CONNECT",
        "the controller's address, for commands that ask it",
    ),
    variable(
        Commands,
        "HEDDLE_CA",
        "a PEM file with the authorities that certify the controller",
    ),
    variable(
        Commands,
        "HEDDLE_TOKEN_FILE",
        "a file with the controller's token",
    ),
    variable(
        Commands,
        "HEDDLE_LAB",
        "the name of the lab, for `heddle lab` and `heddle bench`; `lab` unless set",
    ),
    variable(
        Units,
        "HEDDLE_LISTEN",
        "the address that the controller's API listens on",
    ),
    variable(
        Units,
        "HEDDLE_CONTROLLER",
        "the controller's address, for the host agent",
    ),
    variable(Units, "HEDDLE_OPTIONS", "further flags"),
];

/// A variable that nobody reads, and the one that was probably meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{written} is set, but heddle knows no such variable; did you mean {meant}?")]
pub struct MisspeltVariable {
    /// The name as it is set.
    pub written: String,
    /// The name of a variable of heddle.
    pub meant: &'static str,
}

/// The names that differ from a variable of heddle by a few letters. A name that resembles none may
/// be the operator's own, such as that of a secret.
pub fn misspelt(names: impl Iterator<Item = String>) -> Vec<MisspeltVariable> {
    let ours = names
        .filter(|name| name.starts_with("HEDDLE") && !VARIABLES.iter().any(|v| v.name == name));
    let mut found: Vec<MisspeltVariable> = ours
        .filter_map(|written| {
            let near = VARIABLES
                .iter()
                .map(|v| (osa_distance(&written, v.name), v));
            let (letters, nearest) = near.min_by_key(|(letters, _)| *letters)?;
            // One typing error, two in a long name: HEDDLE_SOURCE is not meant to be HEDDLE_FORCE.
            let own = nearest.name.len().saturating_sub("HEDDLE_".len());
            let most = own.min((own / 4).max(1));
            (letters <= most.min(MOST_LETTERS)).then_some(MisspeltVariable {
                written,
                meant: nearest.name,
            })
        })
        .collect();
    found.sort_by(|a, b| a.written.cmp(&b.written));
    found
}

/// Two typing errors; with more it is another word.
const MOST_LETTERS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_reported_and_names_of_others_are_not() {
        assert_eq!(meant("HEDDLE_DRI"), Some("HEDDLE_DIR"));
        assert_eq!(meant("HEDDLE_VERBOES"), Some("HEDDLE_VERBOSE"));
        assert_eq!(meant("HEDDLE_PATIENSE"), Some("HEDDLE_PATIENCE"));
        for other in [
            "HEDDLE_DIR",
            "HEDDLE",
            "HEDDLE_SNMP_SECRET",
            "HEDDLE_IP",
            "HEDDLE_SOURCE",
            "PATH",
            "HEDDLE_HOME_DIRECTORY",
        ] {
            assert_eq!(meant(other), None, "{other}");
        }
    }

    fn meant(name: &str) -> Option<&'static str> {
        let found = misspelt(std::iter::once(name.to_owned()));
        found.first().map(|found| found.meant)
    }
}
