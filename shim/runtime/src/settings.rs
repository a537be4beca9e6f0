//! The environment, read once in one grammar. Only rank 0's counts: what must be the same on all ranks travels
//! with its word. Before there is a word, and for what a rank does alone, each reads its own: when a communicator
//! is looked at ([`crate::communicator_work`]), and how long others are waited for.
use inventory::topology_file::is_network_name;
use policy::forced::{ForcedWays, ReductionOrder};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// The settings in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeSettings {
    /// `HEDDLE_DIR`: the shared directory.
    pub dir: Option<PathBuf>,
    /// `HEDDLE_FORCE`: one way at every size; `HEDDLE_TURNS`: several, one row of calls after the
    /// other; `HEDDLE_REDUCE`. Who misspells the last minds the digits, and gets the library's order.
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
    /// `HEDDLE_AFTER`: the work on a communicator after which it is looked at.
    pub after: Option<u64>,
    /// `HEDDLE_PATIENCE`: how long a communicator's ranks wait for each other at its first
    /// collective before the library's own routines run on it, and how long they wait for each other's
    /// connections, at first or when one was lost, before MPI carries the blocks.
    pub patience: Duration,
    /// `HEDDLE_PRESENT=all`: all ranks have heddle, of one version and with the same settings. So they
    /// meet where their launcher cannot say so.
    pub all_are_present: bool,
    /// `HEDDLE_DSCP`: the class, 0 to 63, with which this rank marks tokens and acknowledgements, which
    /// are few and urgent; 0 for none. It is *expedited forwarding* (RFC 3246) unless set. Who wants
    /// another class and misspells it gets no marks: other traffic may own that class.
    pub token_class: u8,
    /// `HEDDLE_WATCHDOG`: how long a rank waits before it names the one that it waits for.
    pub watchdog: Option<Duration>,
    /// The values that it did not understand, a line each.
    pub problems: Vec<String>,
}

/// Reads variables; every problem has one form.
struct SettingsReader<F> {
    var: F,
    problems: Vec<String>,
}

impl<F: Fn(&str) -> Option<String>> SettingsReader<F> {
    /// The text of a variable that is set to one.
    fn text(&self, name: &str) -> Option<String> {
        (self.var)(name).filter(|text| !text.is_empty())
    }

    /// The value of a variable; where it cannot be understood, another one with the consequence.
    fn value<T, E: Display>(
        &mut self,
        name: &str,
        unset: T,
        parse: impl FnOnce(&str) -> Result<T, E>,
        (wrong, consequence): (T, &str),
    ) -> T {
        let Some(text) = self.text(name) else {
            return unset;
        };
        parse(&text).unwrap_or_else(|problem| {
            let problem = format!("{name}={text}: {problem}; {consequence}");
            self.problems.push(problem);
            wrong
        })
    }

    fn forced_ways(&mut self) -> ForcedWays {
        let table = || (ForcedWays::default(), "the decision table decides");
        let mut force = self.value(
            "HEDDLE_FORCE",
            ForcedWays::default(),
            ForcedWays::parse,
            table(),
        );
        force = self.value("HEDDLE_TURNS", force, ForcedWays::turns, table());
        force.reductions = self.value(
            "HEDDLE_REDUCE",
            ReductionOrder::Steady,
            |text| match text {
                "reproducible" => Ok(ReductionOrder::Reproducible),
                "fast" => Ok(ReductionOrder::Fast),
                "off" => Ok(ReductionOrder::Librarys),
                _ => Err("expected reproducible, fast or off"),
            },
            (ReductionOrder::Librarys, "reductions are the library's own"),
        );
        force
    }

    /// The network named, also `published`.
    fn network(&mut self) -> Option<String> {
        self.value(
            "HEDDLE_NETWORK",
            None,
            |text| {
                let is_name = is_network_name(text).then(|| Some(text.to_owned()));
                is_name.ok_or("expected the name of a network, or published")
            },
            (None, "the ranks look which network it is"),
        )
    }

    fn learns(&mut self) -> bool {
        self.value(
            "HEDDLE_LEARN",
            true,
            |text| match text {
                "on" | "1" | "yes" => Ok(true),
                "off" | "0" | "no" => Ok(false),
                _ => Err("expected on or off"),
            },
            (true, "jobs learn"),
        )
    }

    fn token_class(&mut self) -> u8 {
        self.value(
            "HEDDLE_DSCP",
            EXPEDITED_FORWARDING,
            |text| match text {
                "off" => Ok(0),
                number => number
                    .parse()
                    .ok()
                    .filter(|class| *class < 64)
                    .ok_or("expected a class of 0 to 63, or off"),
            },
            (0, "nothing is marked"),
        )
    }

    fn watchdog(&mut self) -> Option<Duration> {
        self.value(
            "HEDDLE_WATCHDOG",
            None,
            |text| match text {
                "0" | "off" => Ok(None),
                _ => seconds(text, 0.1)
                    .map(Some)
                    .ok_or("expected seconds, 0.1 or more"),
            },
            (None, "nobody watches"),
        )
    }
}

/// The seconds that a text names, from `least` to a million.
fn seconds(text: &str, least: f64) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|s| (least..=1e6).contains(s));
    seconds.map(Duration::from_secs_f64)
}

impl RuntimeSettings {
    /// Those of this process.
    pub fn here() -> &'static RuntimeSettings {
        static HERE: OnceLock<RuntimeSettings> = OnceLock::new();
        HERE.get_or_init(|| RuntimeSettings::read(|name| std::env::var(name).ok()))
    }

    /// Reads the settings through `var`.
    pub fn read(var: impl Fn(&str) -> Option<String>) -> RuntimeSettings {
        let mut variables = SettingsReader {
            var,
            problems: Vec::new(),
        };
        let network = variables.network();
        RuntimeSettings {
            dir: variables.text("HEDDLE_DIR").map(PathBuf::from),
            force: variables.forced_ways(),
            learns: variables.learns(),
            looks: network.is_none(),
            network: network.filter(|name| name != "published"),
            verbose: variables.value(
                "HEDDLE_VERBOSE",
                0,
                |text| text.parse().map_err(|_| "expected 0, 1 or 2"),
                (0, "0 holds"),
            ),
            trace: variables
                .text("HEDDLE_TRACE")
                .and_then(|dir| std::path::absolute(dir).ok()),
            after: variables.value(
                "HEDDLE_AFTER",
                None,
                |text| text.parse().map(Some).map_err(|_| "expected a number"),
                (None, "the usual number holds"),
            ),
            patience: variables.value(
                "HEDDLE_PATIENCE",
                PATIENCE,
                |text| seconds(text, 0.0).ok_or("expected seconds"),
                (PATIENCE, "120 holds"),
            ),
            all_are_present: variables.value(
                "HEDDLE_PRESENT",
                false,
                |text| (text == "all").then_some(true).ok_or("expected all"),
                (false, "the launcher is asked"),
            ),
            token_class: variables.token_class(),
            watchdog: variables.watchdog(),
            problems: variables.problems,
        }
    }
}

/// The class of packets that are few and urgent (RFC 3246).
const EXPEDITED_FORWARDING: u8 = 46;

/// Unless `HEDDLE_PATIENCE` is set.
const PATIENCE: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::Bytes;
    use policy::decision_table::Collective;
    use policy::ways::{DataCarrier, Way};

    fn env(pairs: &[(&str, &str)]) -> RuntimeSettings {
        RuntimeSettings::read(|name| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned()))
    }

    #[test]
    fn reads_the_environment_and_names_what_it_does_not_know() {
        let s = env(&[
            ("HEDDLE_DIR", "/shared"),
            ("HEDDLE_FORCE", "ring"),
            ("HEDDLE_VERBOSE", "2"),
        ]);
        assert_eq!(
            (s.dir, s.force, s.verbose, s.problems),
            (
                Some(PathBuf::from("/shared")),
                ForcedWays::parse("ring").unwrap(),
                2,
                vec![]
            )
        );
        let wrong = [
            ("HEDDLE_FORCE", "fast"),
            ("HEDDLE_LEARN", "of"),
            ("HEDDLE_VERBOSE", "much"),
            ("HEDDLE_AFTER", "soon"),
            ("HEDDLE_PATIENCE", "-1"),
            ("HEDDLE_PRESENT", "some"),
            ("HEDDLE_WATCHDOG", "nan"),
        ];
        let s = env(&[&wrong[..], &[("HEDDLE_DIR", "")]].concat());
        assert_eq!((s.dir, s.force), (None, ForcedWays::default()));
        assert!(
            s.problems[0].contains("expected native, bundled, "),
            "{}",
            s.problems[0]
        );
        for ((name, text), problem) in wrong.iter().zip(&s.problems) {
            assert!(
                problem.starts_with(&format!("{name}={text}: ")),
                "{problem}"
            );
        }
        assert_eq!(s.problems.len(), wrong.len());
    }

    #[test]
    fn who_names_a_network_looks_for_none() {
        for (text, looks, named, is_wrong) in [
            ("", true, None, false),
            ("published", false, None, false),
            ("data", false, Some("data"), false),
            ("../data", true, None, true),
        ] {
            let settings = env(&[("HEDDLE_NETWORK", text)]);
            let found = (settings.looks, settings.network.as_deref());
            let is_told = !settings.problems.is_empty();
            assert_eq!((found, is_told), ((looks, named), is_wrong));
        }
    }

    #[test]
    fn patience_has_a_default_and_bounds() {
        for (text, seconds) in [
            ("", 120),
            ("3", 3),
            ("-1", 120),
            ("inf", 120),
            ("soon", 120),
        ] {
            let patience = env(&[("HEDDLE_PATIENCE", text)]).patience;
            assert_eq!(patience, Duration::from_secs(seconds), "{text:?}");
        }
    }

    #[test]
    fn the_watchdog_is_off_unless_a_number_asks_for_it() {
        for off in ["", "0", "off", "-1", "soon", "nan", "inf"] {
            assert_eq!(env(&[("HEDDLE_WATCHDOG", off)]).watchdog, None, "{off:?}");
        }
        let half = env(&[("HEDDLE_WATCHDOG", "0.5")]).watchdog;
        assert_eq!(half, Some(Duration::from_millis(500)));
    }

    #[test]
    fn tokens_are_marked_unless_somebody_says_no() {
        for (text, class) in [
            ("", 46),
            ("0", 0),
            ("off", 0),
            ("48", 48),
            ("none", 0),
            ("64", 0),
            ("-1", 0),
        ] {
            let RuntimeSettings {
                token_class,
                problems,
                ..
            } = env(&[("HEDDLE_DSCP", text)]);
            assert_eq!(token_class, class, "{text:?}");
            let is_wrong = matches!(text, "none" | "64" | "-1");
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
                way("bundled", Collective::Alltoallv),
                way("bundled", Collective::Allgather)
            ),
            (Some(Way::Bundled), None)
        );
        assert!(ForcedWays::parse("LG").is_err());
    }

    #[test]
    fn reductions_stay_the_librarys_where_digits_count() {
        let relay = env(&[("HEDDLE_FORCE", "relay")]).force;
        let off = env(&[("HEDDLE_FORCE", "relay"), ("HEDDLE_REDUCE", "off")]).force;
        for collective in [Collective::Allreduce, Collective::ReduceScatterBlock] {
            assert_eq!(relay.ways(collective), [Way::Relay]);
            assert_eq!(off.ways(collective), [Way::Native]);
        }
        assert_eq!(off.ways(Collective::Bcast), [Way::Relay]);
        assert_eq!(off.ways(Collective::Alltoall), []);
        assert!(!env(&[("HEDDLE_REDUCE", "off")]).force.is_any());
        for (text, reductions, is_wrong) in [
            ("", ReductionOrder::Steady, false),
            ("reproducible", ReductionOrder::Reproducible, false),
            ("fast", ReductionOrder::Fast, false),
            ("of", ReductionOrder::Librarys, true),
        ] {
            let settings = env(&[("HEDDLE_REDUCE", text)]);
            assert_eq!(settings.force.reductions, reductions, "{text}");
            let is_named = settings
                .problems
                .iter()
                .any(|problem| problem.contains("expected reproducible"));
            assert_eq!(is_named, is_wrong, "{text}");
        }
    }

    #[test]
    fn turns_are_taken_one_row_after_the_other() {
        let settings = env(&[("HEDDLE_TURNS", "native,aapc sender tcp,ring,aapc")]);
        assert_eq!(settings.problems, [""; 0]);
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
        let settings = env(&[("HEDDLE_TURNS", "native,fast")]);
        assert_eq!(settings.force, ForcedWays::default());
        assert!(settings.problems[0].contains("\"fast\""));
    }
}
