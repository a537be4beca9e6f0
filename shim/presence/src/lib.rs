//! The text that a rank publishes about its heddle beside MPI, before the ranks first meet in a call, and
//! whether that of all ranks agrees.
//!
//! A rank without heddle answers no call of heddle's, one with other settings comes to the first of
//! them at another call, and one of another version may understand it in another way. So each rank
//! hands the job's launcher one short text in MPI_Init, and reads those of others before it meets
//! them.
//!
//! | module | one idea |
//! |---|---|
//! | [`text`] | the form in which launchers carry it |
//! | [`difference`] | the first rank that differs from most others |
//! | [`known`] | the texts of all ranks, as one rank keeps them |
pub mod difference;
pub mod known;
pub mod text;

/// The name under which launchers keep a rank's text; where they have one space of names for all
/// ranks, `-` and the rank follow.
pub const KEY: &str = "heddle";

/// The version and commit of this build.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("HEDDLE_COMMIT"));

/// The ability of a rank's heddle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// It serves collectives.
    Serves,
    /// It is switched off: `HEDDLE=off`.
    Off,
    /// It found no backend for the rank's MPI library, or one that does not open.
    NoBackend,
}

/// The variables by which each rank decides for itself at which call the ranks first meet, and how
/// calls go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DecidingSettings {
    /// `HEDDLE_AFTER`, if it is a number.
    pub after: Option<u64>,
    /// `HEDDLE_FORCE`; a digest of it where it is long.
    pub force: String,
    /// `HEDDLE_TURNS`, in the same way.
    pub turns: String,
}

/// A rank's heddle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// Version and commit: [`BUILD`] of that rank.
    pub build: String,
    pub ability: Ability,
    /// The variables that decide there.
    pub settings: DecidingSettings,
    /// The host, as the kernel names it.
    pub host: String,
}

impl Presence {
    /// This process's own, with the settings that `var` gives.
    pub fn here(ability: Ability, host: &str, var: impl Fn(&str) -> Option<String>) -> Presence {
        let text_of = |name| text::bounded(&var(name).unwrap_or_default());
        Presence {
            build: BUILD.to_owned(),
            ability,
            settings: DecidingSettings {
                after: var("HEDDLE_AFTER").and_then(|text| text.parse().ok()),
                force: text_of("HEDDLE_FORCE"),
                turns: text_of("HEDDLE_TURNS"),
            },
            host: text::bounded(host),
        }
    }
}
