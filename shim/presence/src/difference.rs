//! The first rank that differs from most others, and in what.
use crate::text::{common_part, decode};
use crate::{Ability, Presence};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;

/// The text that the launcher has of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Published {
    /// The rank's text.
    Text(String),
    /// Nothing: heddle is not in that process. Its host, where the launcher knows it.
    Nothing(Option<String>),
}

/// A rank that differs, by its place among the ranks that were compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The rank.
    pub at: usize,
    /// Its host, if anybody knows it.
    pub host: Option<String>,
    /// In what it differs from most ranks.
    pub what: What,
    /// Ranks that differ from most, this one among them.
    pub ranks: usize,
    /// The rank that says so, one of those that are alike; `None` if none of them serves.
    pub speaker: Option<usize>,
}

/// In what a rank differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// heddle is not loaded into it.
    Absent,
    /// `HEDDLE=off`.
    Off,
    /// No backend opens there.
    NoBackend,
    /// Its version, and that of most.
    Build(String, String),
    /// A variable, its value there and on most ranks; empty where it is not set.
    Setting(&'static str, String, String),
    /// Its text is in a form of another version.
    Form,
}

/// The first of these ranks whose heddle is not that of most; `None` if all serve alike.
pub fn first_difference(ranks: &[impl Borrow<Published>]) -> Option<Difference> {
    let ranks: Vec<&Published> = ranks.iter().map(Borrow::borrow).collect();
    let common = most_common(&ranks);
    let differs = |published: &Published| match published {
        Published::Text(text) => common.is_none_or(|common| common_part(text) != common),
        Published::Nothing(_) => true,
    };
    let at = ranks.iter().position(|published| differs(published))?;
    let model = (ranks.iter()).position(|published| !differs(published));
    let text_of = |at: usize| match ranks[at] {
        Published::Text(text) => decode(text),
        Published::Nothing(_) => None,
    };
    let there = text_of(at);
    let host = match (ranks[at], &there) {
        (Published::Nothing(host), _) => host.clone(),
        (_, there) => there.as_ref().map(|presence| presence.host.clone()),
    };
    let what = match (ranks[at], there, model.and_then(text_of)) {
        (Published::Nothing(_), ..) => What::Absent,
        (_, Some(there), model) => what_differs(there, model),
        (_, None, _) => What::Form,
    };
    let ranks = ranks.iter().filter(|published| differs(published)).count();
    Some(Difference {
        at,
        host,
        what,
        ranks,
        speaker: model,
    })
}

/// The common part of most texts of ranks that serve; of two that are as common, that of the lower
/// rank.
fn most_common<'a>(ranks: &[&'a Published]) -> Option<&'a str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let common_parts = ranks.iter().filter_map(|published| match published {
        Published::Text(text) => Some(common_part(text)),
        Published::Nothing(_) => None,
    });
    // The map has a random order, and all ranks that compare must find the same.
    let mut in_order = Vec::new();
    for part in common_parts {
        let count = counts.entry(part).or_default();
        if *count == 0 {
            in_order.push(part);
        }
        *count += 1;
    }
    let serves = |part: &&&str| {
        decode(&format!("{part}:")).is_some_and(|presence| presence.ability == Ability::Serves)
    };
    let mut most: Option<&str> = None;
    for part in in_order.iter().filter(serves) {
        if most.is_none_or(|most| counts[part] > counts[most]) {
            most = Some(part);
        }
    }
    most
}

fn what_differs(there: Presence, model: Option<Presence>) -> What {
    match (there.ability, model) {
        (Ability::Off, _) => What::Off,
        // A rank that serves does not come here without a model: its own text would be one.
        (Ability::NoBackend, _) | (Ability::Serves, None) => What::NoBackend,
        (Ability::Serves, Some(model)) if there.build != model.build => {
            What::Build(there.build, model.build)
        }
        (Ability::Serves, Some(model)) => {
            let (there, model) = (there.settings, model.settings);
            let number = |after: Option<u64>| after.map(|n| n.to_string()).unwrap_or_default();
            if there.after != model.after {
                What::Setting("HEDDLE_AFTER", number(there.after), number(model.after))
            } else if there.force != model.force {
                What::Setting("HEDDLE_FORCE", there.force, model.force)
            } else {
                What::Setting("HEDDLE_TURNS", there.turns, model.turns)
            }
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let set = |value: &str| match value {
            "" => "is not set".to_owned(),
            value => format!("is {value}"),
        };
        match self {
            What::Absent => write!(
                f,
                "heddle is not loaded there: load it on all ranks or on none"
            ),
            What::Off => write!(f, "HEDDLE=off is set there: set it on all ranks or on none"),
            What::NoBackend => write!(
                f,
                "heddle found no backend for the MPI library there: install the same package on \
                 all hosts"
            ),
            What::Build(there, model) => write!(
                f,
                "heddle there is {there}, elsewhere {model}: install the same package on all hosts"
            ),
            What::Form => write!(
                f,
                "heddle there is of another version: install the same package on all hosts"
            ),
            What::Setting(name, there, model) => write!(
                f,
                "{name} {} there and {} elsewhere: set it alike on all ranks",
                set(there),
                set(model)
            ),
        }
    }
}

#[cfg(test)]
mod tests;
