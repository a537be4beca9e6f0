//! The environment. Only rank 0's counts: what must be the same on all ranks travels with its word.
//! Before there is a word, and for what a rank does alone, each reads its own: when a communicator
//! is looked at ([`crate::communicator_work`]), and how long others are waited for.
use inventory::topology_file::is_network_name;
use policy::forced::{ForcedWays, ReductionOrder};
use std::path::PathBuf;
use std::time::Duration;

/// The settings in the environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuntimeSettings {
    /// `HEDDLE_DIR`: the shared directory.
    pub dir: Option<PathBuf>,
    /// `HEDDLE_FORCE`: one way at every size; `HEDDLE_TURNS`: several, one row of calls after the
    /// other.
    pub force: ForcedWays,
    /// `HEDDLE_LEARN=off`: calls go the ways of the decision table for good.
    pub learns: bool,
    /// Unless `HEDDLE_NETWORK` is set: the ranks look whether the library's messages cross the
    /// published tree.
    pub looks: bool,
    /// `HEDDLE_NETWORK=NAME`: the network that they cross, if not the main one.
    pub network: Option<String>,
    /// `HEDDLE_VERBOSE`: 0 says nothing but why it stands aside, 1 what is followed, 2 every
    /// decision too.
    pub verbose: u8,
    /// `HEDDLE_TRACE`: the folder for traces of what each rank did when.
    pub trace: Option<PathBuf>,
}

/// Reads the variable, and says what it did not understand. Who misspells it minds the digits, and gets
/// the order that surely is the library's.
fn reduction_order(
    var: impl Fn(&str) -> Option<String>,
    problems: &mut Vec<String>,
) -> ReductionOrder {
    let text = var("HEDDLE_REDUCE").unwrap_or_default();
    match text.as_str() {
        "" => ReductionOrder::Steady,
        "reproducible" => ReductionOrder::Reproducible,
        "fast" => ReductionOrder::Fast,
        "off" => ReductionOrder::Librarys,
        _ => {
            problems.push(format!(
                "HEDDLE_REDUCE={text}: expected reproducible, fast or off; reductions are the library's own"
            ));
            ReductionOrder::Librarys
        }
    }
}

/// `HEDDLE_PATIENCE`, in seconds: how long a communicator's ranks wait for each other at its first
/// collective before the library's own routines run on it, and how long they wait for each other's
/// connections, at first or when one was lost, before MPI carries the blocks.
pub fn patience(var: impl Fn(&str) -> Option<String>) -> Duration {
    let seconds = var("HEDDLE_PATIENCE")
        .and_then(|v| v.parse().ok())
        .filter(|s| (0.0..=1e6).contains(s));
    Duration::from_secs_f64(seconds.unwrap_or(120.0))
}

/// `HEDDLE_PRESENT=all`: all ranks have heddle, of one version and with the same settings. So they
/// meet where their launcher cannot say so.
pub fn all_are_present(var: impl Fn(&str) -> Option<String>) -> bool {
    var("HEDDLE_PRESENT").is_some_and(|text| text == "all")
}

/// `HEDDLE_DSCP`: the class, 0 to 63, with which this rank marks tokens and acknowledgements, which
/// are few and urgent; 0 or `off` for none. It is *expedited forwarding* (RFC 3246) where nothing is
/// said. Who wants another class and misspells it gets no marks: other traffic may own that class.
pub fn token_class(var: impl Fn(&str) -> Option<String>) -> u8 {
    class_in(&var("HEDDLE_DSCP").unwrap_or_default()).unwrap_or(0)
}

/// The class that a text names, if it names one.
fn class_in(text: &str) -> Option<u8> {
    match text {
        "" => Some(46),
        "off" => Some(0),
        number => number.parse().ok().filter(|class| *class < 64),
    }
}

impl RuntimeSettings {
    /// Reads the settings through `var`, and says what it did not understand.
    pub fn read(var: impl Fn(&str) -> Option<String>) -> (RuntimeSettings, Vec<String>) {
        let mut problems = Vec::new();
        let text = var("HEDDLE_FORCE").unwrap_or_default();
        let mut force = ForcedWays::parse(&text).unwrap_or_else(|| {
            problems.push(format!(
                "HEDDLE_FORCE={text}: expected aapc, lg or bundled, ring, relay, several as \
                 aapc,ring, or native; the decision table decides"
            ));
            ForcedWays::default()
        });
        if let Some(turns) = var("HEDDLE_TURNS").filter(|v| !v.is_empty()) {
            force = ForcedWays::turns(&turns).unwrap_or_else(|wrong| {
                problems.push(format!("HEDDLE_TURNS: {wrong}; the decision table decides"));
                ForcedWays::default()
            });
        }
        let learn = var("HEDDLE_LEARN").unwrap_or_default();
        let learns = !matches!(learn.as_str(), "off" | "0" | "no");
        if !matches!(learn.as_str(), "" | "on" | "off" | "0" | "1" | "no" | "yes") {
            problems.push(format!(
                "HEDDLE_LEARN={learn}: expected on or off; jobs learn"
            ));
        }
        let network = var("HEDDLE_NETWORK").unwrap_or_default();
        if !network.is_empty() && !is_network_name(&network) {
            problems.push(format!(
                "HEDDLE_NETWORK={network}: expected the name of a network, or published; the ranks \
                 look which network it is"
            ));
        }
        let class = var("HEDDLE_DSCP").unwrap_or_default();
        if class_in(&class).is_none() {
            problems.push(format!(
                "HEDDLE_DSCP={class}: expected a class of 0 to 63, or off; nothing is marked"
            ));
        }
        force.reductions = reduction_order(&var, &mut problems);
        let dir = var("HEDDLE_DIR")
            .filter(|v| !v.is_empty())
            .map(PathBuf::from);
        let trace = var("HEDDLE_TRACE")
            .filter(|v| !v.is_empty())
            .and_then(|dir| std::path::absolute(dir).ok());
        let verbose = var("HEDDLE_VERBOSE")
            .and_then(|v| v.parse().ok())
            .unwrap_or(0);
        (
            RuntimeSettings {
                dir,
                force,
                learns,
                looks: !is_network_name(&network),
                network: Some(network).filter(|n| n != "published" && is_network_name(n)),
                verbose,
                trace,
            },
            problems,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::Bytes;
    use policy::decision_table::Collective;
    use policy::ways::{DataCarrier, Way};

    #[test]
    fn reads_the_environment_and_names_what_it_does_not_know() {
        let env = |pairs: &'static [(&str, &str)]| {
            RuntimeSettings::read(|name| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned()))
        };
        let (s, problems) = env(&[
            ("HEDDLE_DIR", "/shared"),
            ("HEDDLE_FORCE", "ring"),
            ("HEDDLE_VERBOSE", "2"),
        ]);
        assert_eq!(
            (s.dir, s.force, s.verbose, problems),
            (
                Some(PathBuf::from("/shared")),
                ForcedWays::parse("ring").unwrap(),
                2,
                vec![]
            )
        );
        let (s, problems) = env(&[
            ("HEDDLE_FORCE", "fast"),
            ("HEDDLE_DIR", ""),
            ("HEDDLE_LEARN", "of"),
        ]);
        assert_eq!((s.dir, s.force), (None, ForcedWays::default()));
        let [force, learn] = &problems[..] else {
            panic!("both are named: {problems:?}")
        };
        assert!(force.contains("expected aapc, lg or bundled, ring"));
        assert!(learn.starts_with("HEDDLE_LEARN=of: "));
    }

    #[test]
    fn who_names_a_network_looks_for_none() {
        for (text, looks, named, is_wrong) in [
            ("", true, None, false),
            ("published", false, None, false),
            ("data", false, Some("data"), false),
            ("../data", true, None, true),
        ] {
            let (settings, problems) =
                RuntimeSettings::read(|name| (name == "HEDDLE_NETWORK").then(|| text.to_owned()));
            let found = (settings.looks, settings.network.as_deref());
            assert_eq!((found, !problems.is_empty()), ((looks, named), is_wrong));
        }
    }

    #[test]
    fn patience_has_a_default_and_bounds() {
        for (text, seconds) in [
            (None, 120),
            (Some("3"), 3),
            (Some("-1"), 120),
            (Some("inf"), 120),
            (Some("soon"), 120),
        ] {
            assert_eq!(
                patience(|_| text.map(str::to_owned)),
                Duration::from_secs(seconds),
                "{text:?}"
            );
        }
    }

    #[test]
    fn tokens_are_marked_unless_somebody_says_no() {
        for (text, class) in [
            (None, 46),
            (Some(""), 46),
            (Some("0"), 0),
            (Some("off"), 0),
            (Some("48"), 48),
            (Some("none"), 0),
            (Some("64"), 0),
            (Some("-1"), 0),
        ] {
            let var = |name: &str| text.filter(|_| name == "HEDDLE_DSCP").map(str::to_owned);
            assert_eq!(token_class(var), class, "{text:?}");
            let is_wrong = matches!(text, Some("none" | "64" | "-1"));
            let problems = RuntimeSettings::read(var).1;
            assert_eq!(problems.len(), usize::from(is_wrong), "{problems:?}");
            let hint = "0 to 63, or off; nothing is marked";
            assert!(problems.iter().all(|problem| problem.contains(hint)));
        }
    }

    #[test]
    fn a_forced_way_holds_where_it_can_be_gone() {
        let way = |text: &str, collective| {
            ForcedWays::parse(text)
                .unwrap()
                .way(collective, Bytes(8), 5)
        };
        assert_eq!(way("ring", Collective::Alltoall), None);
        assert_eq!(
            way("aapc,ring", Collective::Allgather),
            Some(Way::Ring {
                over: DataCarrier::Mpi
            })
        );
        assert_eq!(way("native", Collective::Alltoall), Some(Way::Native));
        assert_eq!(way("aapc,lg", Collective::Alltoall), Some(Way::Lg));
        assert_eq!(
            (
                way("lg", Collective::Alltoallv),
                way("aapc,lg", Collective::Alltoallv)
            ),
            (None, way("aapc", Collective::Alltoall))
        );
        assert_eq!(
            (
                way("bundled", Collective::Alltoall),
                way("bundled", Collective::Alltoallv)
            ),
            (Some(Way::Bundled), None)
        );
        assert_eq!(ForcedWays::parse("LG"), None);
    }

    #[test]
    fn reductions_stay_the_librarys_where_digits_count() {
        let env = |pairs: &'static [(&str, &str)]| {
            RuntimeSettings::read(|name| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned()))
                .0
                .force
        };
        let relay = env(&[("HEDDLE_FORCE", "relay")]);
        let off = env(&[("HEDDLE_FORCE", "relay"), ("HEDDLE_REDUCE", "off")]);
        for collective in [Collective::Allreduce, Collective::ReduceScatterBlock] {
            assert_eq!(relay.ways(collective), [Way::Relay]);
            assert_eq!(off.ways(collective), [Way::Native]);
        }
        assert_eq!(off.ways(Collective::Bcast), [Way::Relay]);
        assert_eq!(off.ways(Collective::Alltoall), []);
        assert!(!env(&[("HEDDLE_REDUCE", "off")]).is_any());
        for (text, reductions, is_wrong) in [
            ("", ReductionOrder::Steady, false),
            ("reproducible", ReductionOrder::Reproducible, false),
            ("fast", ReductionOrder::Fast, false),
            ("of", ReductionOrder::Librarys, true),
        ] {
            let (settings, problems) =
                RuntimeSettings::read(|name| (name == "HEDDLE_REDUCE").then(|| text.to_owned()));
            assert_eq!(settings.force.reductions, reductions, "{text}");
            let is_named = problems
                .iter()
                .any(|problem| problem.contains("expected reproducible"));
            assert_eq!(is_named, is_wrong, "{text}");
        }
    }

    #[test]
    fn turns_are_taken_one_row_after_the_other() {
        let env = |turns: &'static str| {
            RuntimeSettings::read(|name| (name == "HEDDLE_TURNS").then(|| turns.to_owned()))
        };
        let (settings, problems) = env("native,aapc sender tcp,ring,aapc");
        assert_eq!(problems, [""; 0]);
        let names = |collective| {
            (0..4)
                .map(|n| {
                    settings
                        .force
                        .way(collective, Bytes(1 << 15), 2 * n + 1)
                        .unwrap()
                        .to_string()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(Collective::Alltoall),
            ["native", "aapc sender tcp", "aapc", "aapc"]
        );
        assert_eq!(
            names(Collective::Allgather),
            ["native", "ring", "ring", "native"]
        );
        let (settings, problems) = env("native,fast");
        assert_eq!(settings.force, ForcedWays::default());
        assert!(problems[0].contains("\"fast\""));
    }
}
