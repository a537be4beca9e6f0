//! The calls that `scripts/bench-mpi --cells` measured, and the networks on which it did.
use super::{CallProfile, MeasuredCall, TimedRoutine};
use inventory::tree::Tree;
use inventory::{Bytes, Mpi, TopologyFile};
use policy::decision_table::Collective;
use policy::library_routine::LibraryRoutine;
use serde::Deserialize;
use std::fmt::Write;
use std::sync::OnceLock;

/// One JSON object a line.
const MEASURED: &str = include_str!("measured.jsonl");

/// A cell of `scripts/bench-mpi`: a call that was measured in several launches.
#[derive(Debug, Clone, Deserialize)]
pub struct BenchCell {
    /// The network.
    #[serde(flatten)]
    pub shape: BenchShape,
    /// The library.
    pub mpi: Mpi,
    pub collective: Collective,
    /// The size of a block.
    pub block: Bytes,
    /// The way, as the script names it.
    pub way: String,
    /// The median of the calls of each launch.
    pub seconds: Vec<f64>,
}

/// A network of `scripts/bench-mpi`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BenchShape {
    #[serde(rename = "shape")]
    pub name: String,
    /// Hosts on each switch.
    pub each: u32,
    /// The number by which all rates are divided.
    pub slower: f64,
}

impl BenchShape {
    /// The network, as in the script's `SHAPES`; `None` under another name.
    pub fn tree(&self) -> Option<Tree> {
        let (switches, trunks, host, trunk): (u32, &[(u32, u32)], f64, f64) = match &*self.name {
            "switch" => (1, &[], 20.0, 20.0),
            "pair" => (2, &[(0, 1)], 50.0, 50.0),
            "star" => (5, &[(0, 1), (0, 2), (0, 3), (0, 4)], 50.0, 50.0),
            "chain" => (4, &[(0, 1), (1, 2), (2, 3)], 50.0, 50.0),
            "slow" => (4, &[(0, 1), (1, 2), (2, 3)], 10.0, 10.0),
            "wide" => (5, &[(0, 1), (0, 2), (0, 3), (0, 4)], 20.0, 80.0),
            _ => return None,
        };
        let [host, trunk] =
            [host, trunk].map(|mega| format!("{}K", (mega / self.slower * 1e3).round()));
        // The first of five switches joins the others and has no host.
        let own = u32::from(switches == 5)..switches;
        let mut text = format!("switches: [{}]\nhosts:\n", list(0..switches));
        for (number, switch) in own
            .flat_map(|switch| std::iter::repeat_n(switch, self.each as usize))
            .enumerate()
        {
            let _ = writeln!(text, "  n{number}: {{switch: s{switch}, rate: {host}}}");
        }
        text += if trunks.is_empty() {
            "links: []\n"
        } else {
            "links:\n"
        };
        for (a, b) in trunks {
            let _ = writeln!(text, "  - {{a: s{a}, b: s{b}, rate: {trunk}}}");
        }
        let file = TopologyFile::parse(&self.name, &text).ok()?;
        let tree = file.tree().ok()?;
        // In the order of the ranks.
        let names: Vec<String> = (0..tree.hosts()).map(|host| format!("n{host}")).collect();
        tree.restrict(&names).ok()
    }
}

fn list(switches: std::ops::Range<u32>) -> String {
    let names: Vec<String> = switches.map(|switch| format!("s{switch}")).collect();
    names.join(", ")
}

impl BenchCell {
    /// The median of the launches.
    pub fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// True for the cells by which predictions are judged: 8 or 16 hosts at 20 Mbit/s, four sizes.
    pub fn is_goal(&self) -> bool {
        let BenchShape { name, each, .. } = &self.shape;
        [1 << 10, 1 << 13, 1 << 16, 1 << 18].contains(&self.block.0)
            && *each == if name == "switch" { 16 } else { 4 }
    }

    /// The routine behind the script's name for it.
    pub fn routine(&self, ranks: u32) -> Option<TimedRoutine> {
        let library = |routine| Some(TimedRoutine::Library(self.mpi, routine));
        match &*self.way {
            "own" => library(LibraryRoutine::chosen(
                self.mpi,
                self.collective,
                ranks,
                self.block,
            )),
            "linear" => library(LibraryRoutine::Linear),
            "linear sync" => library(LibraryRoutine::LinearSync),
            "scattered" => library(LibraryRoutine::Scattered),
            "pairwise" => library(LibraryRoutine::Pairwise),
            "bruck" | "brucks" => library(LibraryRoutine::Bruck),
            "recursive doubling" => library(LibraryRoutine::Doubling),
            "ring" => library(LibraryRoutine::Ring),
            "neighbour" => library(LibraryRoutine::Neighbour),
            "aapc over mpi" | "ring over mpi" => Some(TimedRoutine::OverMpi(self.mpi)),
            "aapc over tcp" | "ring over tcp" => Some(TimedRoutine::OverTcp),
            _ => None,
        }
    }

    /// The call, with its demands on the network.
    pub fn call(&self) -> Option<MeasuredCall> {
        let tree = self.shape.tree()?;
        let routine = self.routine(tree.hosts())?;
        Some(MeasuredCall {
            collective: self.collective,
            routine,
            profile: CallProfile::predicted(&tree, self.collective, routine, self.block)?,
            seconds: self.median(),
            network: self.shape.name.clone(),
            weight: 1.0,
        })
    }
}

/// The cells that heddle ships with.
pub fn shipped_cells() -> &'static [BenchCell] {
    static CELLS: OnceLock<Vec<BenchCell>> = OnceLock::new();
    CELLS.get_or_init(|| {
        MEASURED
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    })
}
