//! The errors of inference: the topologies inferred on many generated networks, compared with the
//! true cabling, by situation.
//!
//! Each network is made into recorded walks, read back as a device is read, and inferred twice:
//! with an inventory (which lists hosts), and from the recordings alone (as `heddle discover
//! --walks` does). Half of the networks of each situation have up to three bridges that nobody
//! asks. [`truth`] says what of a network an observer can know.
//!
//! A failing network is named by its situation and seed; this writes it as a folder of walks:
//!
//! ```text
//! cargo run --release -p fleet --example networks -- situation FOLDER SITUATION SEED asked|unasked
//! ```
//!
//! HEDDLE_VERDICTS=FILE writes the table by situation, and every error, into a file.
//! HEDDLE_VERDICT_NETWORKS=N judges so many networks, to look for mistakes; limits are not checked.
#[path = "inference/judge.rs"]
mod judge;
#[path = "inference/limits.rs"]
mod limits;
#[path = "inference/truth.rs"]
mod truth;
#[path = "inference/verdict.rs"]
mod verdict;

use agent::recording::DeviceRecording;
use fleet::network::{GeneratedNetwork, NetworkSituation, generate};
use infer::{infer, infer_recorded};
use inventory::Millis;
use inventory::device_view::{DeviceViews, apply};
use judge::judge;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::thread;
use verdict::InferenceVerdict;

/// The number of clusters with one network, of those with several, and of fabrics.
const CLUSTERS: [u64; 3] = if cfg!(debug_assertions) {
    [68, 6, 20]
} else {
    [1_000, 100, 500]
};

/// Situation, whether some bridges are not asked, whether it is inferred from recordings alone.
type VerdictKey = (NetworkSituation, bool, bool);

fn read_back(network: &GeneratedNetwork) -> DeviceViews {
    let mut views = DeviceViews::new();
    for name in network.views.keys() {
        let walk = network.walk(name);
        let recording = DeviceRecording::parse(name, walk.as_bytes()).expect("a walk has records");
        for observation in recording.observations(Millis(1)) {
            apply(&mut views, &observation);
        }
    }
    views
}

/// The verdicts on the network of a seed, whose situation is one of these.
fn verdicts(all: &[NetworkSituation], seed: u64) -> [(VerdictKey, InferenceVerdict); 2] {
    let situation = all[(seed % all.len() as u64) as usize];
    let unasked = seed / all.len() as u64 % 2 == 1;
    let network = generate(&situation.options(seed, unasked), seed);
    let views = read_back(&network);
    [false, true].map(|recorded| {
        let found = match recorded {
            true => infer_recorded(&views),
            false => infer(&network.inventory, &views),
        };
        let mut verdict = judge(&network, &found, recorded);
        verdict.networks = 1;
        let part = if unasked { "unasked" } else { "asked" };
        let how = if recorded { "recorded" } else { "inventory" };
        for (_, text) in &mut verdict.errors {
            let nodes = network.truth.nodes.len();
            text.insert_str(
                0,
                &format!("{situation} {seed} {part} ({how}, {nodes} nodes): "),
            );
        }
        ((situation, unasked, recorded), verdict)
    })
}

fn judged(clusters: [u64; 3]) -> BTreeMap<VerdictKey, InferenceVerdict> {
    let workers = 2;
    let situations: [&[NetworkSituation]; 3] = [
        &NetworkSituation::OF_ONE,
        &NetworkSituation::OF_SEVERAL,
        &NetworkSituation::OF_FABRICS,
    ];
    let numbered = situations.into_iter().zip(clusters);
    let seeds: Vec<(&[NetworkSituation], u64)> = numbered
        .flat_map(|(all, clusters)| (0..clusters).map(move |seed| (all, seed)))
        .collect();
    let mut sums: BTreeMap<VerdictKey, InferenceVerdict> = BTreeMap::new();
    let parts: Vec<Vec<_>> = thread::scope(|scope| {
        let seeds = &seeds;
        let work = |w: u64| {
            move || {
                let own = seeds.iter().skip(w as usize).step_by(workers);
                own.flat_map(|(all, seed)| verdicts(all, *seed)).collect()
            }
        };
        let threads: Vec<_> = (0..workers as u64).map(|w| scope.spawn(work(w))).collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("judged"))
            .collect()
    });
    for (key, verdict) in parts.into_iter().flatten() {
        sums.entry(key).or_default().add(&verdict);
    }
    sums
}

fn table(sums: &BTreeMap<VerdictKey, InferenceVerdict>) -> String {
    let mut text = String::new();
    for recorded in [false, true] {
        let how = if recorded {
            "From recordings alone"
        } else {
            "With an inventory"
        };
        let _ = writeln!(text, "{how}:\n\n{}", InferenceVerdict::head());
        for ((situation, unasked, _), verdict) in sums.iter().filter(|(k, _)| k.2 == recorded) {
            let _ = writeln!(text, "| {situation} | {} | {verdict}", named(*unasked));
        }
        for unasked in [false, true] {
            let mut all = InferenceVerdict::default();
            let part = sums
                .iter()
                .filter(|(k, _)| (k.1, k.2) == (unasked, recorded));
            part.for_each(|(_, verdict)| all.add(verdict));
            let _ = writeln!(text, "| **together** | {} | {all}", named(unasked));
        }
        text += "\n";
    }
    text
}

fn named(unasked: bool) -> &'static str {
    if unasked { "up to 3 not" } else { "all" }
}

#[test]
fn the_figures_hold_by_situation() {
    let more: Option<u64> = std::env::var("HEDDLE_VERDICT_NETWORKS")
        .ok()
        .map(|n| n.parse().expect("a number of networks"));
    let sums = judged(more.map_or(CLUSTERS, |n| [n, n / 10, n / 2]));
    let mut text = table(&sums);
    if let Ok(file) = std::env::var("HEDDLE_VERDICTS") {
        text += &limits::rows(&sums);
        for (error, what) in sums.values().flat_map(|v| &v.errors) {
            let _ = writeln!(text, "{error:?} {what}");
        }
        std::fs::write(&file, &text).expect("the file for verdicts can be written");
    }
    let broken: Vec<String> = sums
        .iter()
        .filter(|(key, verdict)| !limits::hold(**key, verdict))
        .map(|((situation, unasked, recorded), verdict)| {
            let errors: Vec<String> =
                verdict.errors.iter().map(|(e, text)| format!("{e:?} {text}")).collect();
            format!(
                "{situation}, unasked: {unasked}, recorded: {recorded}: {:?} is worse than {:?}:\n{verdict}\n{}",
                limits::measured(verdict),
                limits::limits_of((*situation, *unasked, *recorded)),
                errors.join("\n")
            )
        })
        .collect();
    println!("{text}");
    let [all, invented] = [0, 1].map(|n| sums.values().map(|v| v.made_up[n]).sum());
    let share = verdict::share(invented, all).unwrap_or_default();
    assert!(
        cfg!(debug_assertions) || share <= limits::MADE_UP,
        "{invented} of {all} made up"
    );
    assert!(more.is_some() || broken.is_empty(), "{}", broken.join("\n"));
}
