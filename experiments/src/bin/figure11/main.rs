//! Figure 11 of the allgather paper as a table and a picture: `cargo run --release --bin figure11
//! -- DIR` writes `figure11.svg`
//! and a part of `figures.md` in DIR. Every run gives the same result.
use drawing::chart::{self, AxisLabel, AxisScale, ChartLine, ChartPanel, ChartPoint};
use experiments::figures;
use experiments::graph::{
    HOSTS_PER_SWITCH, MEAN_DEGREE, SplitMix64, TreeConstruction, random_cluster, spanning_tree,
};
use schedules::allgather::{AllgatherAlgorithm, plan_as};
use schedules::verify;
use std::path::Path;

/// Random clusters for each point, as in the paper.
const CLUSTERS: u64 = 50;
/// The sizes. The paper's text does not name those of its figure.
const SWITCHES: [usize; 8] = [20, 50, 100, 200, 400, 600, 800, 1000];
const CONSTRUCTIONS: [(TreeConstruction, &str); 3] = [
    (TreeConstruction::BreadthFirst, "BFS tree"),
    (TreeConstruction::Random, "random tree"),
    (TreeConstruction::DepthFirst, "DFS tree"),
];
const ALGORITHMS: [AllgatherAlgorithm; 2] = [AllgatherAlgorithm::Lr1, AllgatherAlgorithm::Lr3];

/// Longest paths over the clusters of one size, by one construction and one algorithm.
struct PathSample(Vec<u32>);

impl PathSample {
    fn mean(&self) -> f64 {
        f64::from(self.0.iter().sum::<u32>()) / self.0.len() as f64
    }
}

/// The samples by algorithm, then by construction.
type SampleRow = [[PathSample; 3]; 2];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: figure11 DIR")?;
    let rows = SWITCHES
        .iter()
        .map(|&switches| row(switches))
        .collect::<Result<Vec<SampleRow>, _>>()?;
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join("figure11.svg"), picture(&rows))?;
    figures::write_part(directory, "figure11", &page(&rows))?;
    Ok(())
}

fn row(switches: usize) -> Result<SampleRow, Box<dyn std::error::Error>> {
    let mut row: SampleRow =
        std::array::from_fn(|_| std::array::from_fn(|_| PathSample(Vec::new())));
    for seed in 0..CLUSTERS {
        let mut random = SplitMix64::new(seed << 32 | switches as u64);
        let cluster = random_cluster(switches, switches * HOSTS_PER_SWITCH, &mut random);
        for (c, (construction, _)) in CONSTRUCTIONS.into_iter().enumerate() {
            let tree = spanning_tree(&cluster, construction, &mut random).tree()?;
            for (a, algorithm) in ALGORITHMS.into_iter().enumerate() {
                let ring = plan_as(&tree, algorithm)?;
                verify::allgather(&tree, &ring)?;
                row[a][c].0.push(ring.longest_path);
            }
        }
    }
    Ok(row)
}

fn picture(rows: &[SampleRow]) -> String {
    let lines = |a: usize| {
        let points = |c: usize| {
            SWITCHES
                .iter()
                .zip(rows)
                .map(|(&switches, row)| {
                    ChartPoint::from(((switches * HOSTS_PER_SWITCH) as f64, row[a][c].mean()))
                })
                .collect()
        };
        CONSTRUCTIONS
            .iter()
            .enumerate()
            .map(|(c, (_, name))| ChartLine {
                name: (*name).to_owned(),
                points: points(c),
                is_joined: true,
            })
            .collect()
    };
    let panel = |title: &str, a| ChartPanel {
        title: title.to_owned(),
        x: AxisLabel::plain("machines", AxisScale::Linear),
        y: AxisLabel::plain("longest path (switches), mean", AxisScale::Linear),
        lines: lines(a),
    };
    chart::picture(&[panel("(a) LR1", 0), panel("(b) LR3", 1)])
        .document("the longest path of a ring against the machines")
}

fn page(rows: &[SampleRow]) -> String {
    let mut table = String::new();
    for (switches, row) in SWITCHES.iter().zip(rows) {
        let cells: Vec<String> = row
            .iter()
            .flatten()
            .map(|sample| format!("{:.2}", sample.mean()))
            .collect();
        table += &format!(
            "| {} | {switches} | {} |\n",
            switches * HOSTS_PER_SWITCH,
            cells.join(" | ")
        );
    }
    let lr3 = || {
        rows.iter()
            .flat_map(|row| row[1].iter().flat_map(|sample| &sample.0))
    };
    let threes = lr3().filter(|&&path| path == 3).count() as f64 / lr3().count() as f64 * 100.0;
    let mean =
        |row: &SampleRow| row[1].iter().map(PathSample::mean).sum::<f64>() / row[1].len() as f64;
    format!(
        include_str!("page.md"),
        clusters = CLUSTERS,
        per_switch = HOSTS_PER_SWITCH,
        degree = MEAN_DEGREE,
        table = table,
        threes = threes,
        most = lr3().max().unwrap_or(&0),
        small = mean(&rows[0]),
        fewest = SWITCHES[0],
        large = mean(&rows[rows.len() - 1]),
        largest = SWITCHES[SWITCHES.len() - 1],
    )
}
