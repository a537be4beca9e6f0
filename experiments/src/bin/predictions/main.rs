//! Predicted against measured times, as a table and a picture: `cargo run --release --bin
//! predictions -- DIR` writes `predictions.svg` and a part of `figures.md` in DIR. Every run gives the
//! same result; `scripts/bench-mpi --cells` measured the calls.
mod judged;

use drawing::chart::{self, AxisLabel, AxisScale, ChartLine, ChartPanel, ChartPoint};
use experiments::figures;
use judged::{JudgedCell, RankingScore, share, spread};
use std::fmt::Write;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: predictions DIR")?;
    let cells = judged::cells();
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join("predictions.svg"), picture(&cells))?;
    figures::write_part(directory, "predictions", &page(&cells))?;
    Ok(())
}

/// One panel for predictions from all calls, one for those from other networks.
fn picture(cells: &[JudgedCell]) -> String {
    let panel = |title: &str, predicted: fn(&JudgedCell) -> f64| {
        let series = |name: &str, kind: &str| ChartLine {
            name: name.to_owned(),
            is_joined: false,
            points: cells
                .iter()
                .filter(|cell| cell.kind() == kind)
                .map(|cell| ChartPoint::from((cell.measured * 1e3, predicted(cell) * 1e3)))
                .collect(),
        };
        let ends = cells.iter().map(|cell| cell.measured * 1e3);
        let (least, most) = ends.fold((f64::MAX, 0f64), |(least, most), end| {
            (least.min(end), most.max(end))
        });
        ChartPanel {
            title: title.to_owned(),
            x: AxisLabel::plain("measured, ms", AxisScale::Powers(10.0)),
            y: AxisLabel::plain("predicted, ms", AxisScale::Powers(10.0)),
            lines: vec![
                series("over tcp", "tcp"),
                series("over mpi", "mpi"),
                series("library's own", "own"),
                ChartLine {
                    name: "equal".to_owned(),
                    is_joined: true,
                    points: [least, most].map(|end| ChartPoint::from((end, end))).into(),
                },
            ],
        }
    };
    chart::picture(&[
        panel("from all measured calls", |cell| cell.fitted),
        panel("from calls on other networks", |cell| cell.elsewhere),
    ])
    .document("predicted against measured times")
}

fn page(cells: &[JudgedCell]) -> String {
    let all: Vec<&JudgedCell> = cells.iter().collect();
    include_str!("page.md")
        .replace("{cells}", &cells.len().to_string())
        .replace("{summary}", &summary(&all))
        .replace("{ranking}", &ranking(cells))
}

/// A row for each kind of way, and one for all.
fn summary(cells: &[&JudgedCell]) -> String {
    let mut text = String::new();
    let mut row = |name: &str, of: &dyn Fn(&JudgedCell) -> bool| {
        let own: Vec<&JudgedCell> = cells.iter().copied().filter(|cell| of(cell)).collect();
        let figures = |off: fn(&JudgedCell) -> f64| {
            let (median, most) = spread(&own, off);
            let within = share(&own, off) * 100.0;
            format!(
                "**{within:.0} %** | {:.1} % | {:.0} %",
                median * 100.0,
                most * 100.0
            )
        };
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} |",
            own.len(),
            figures(JudgedCell::off_fitted),
            figures(JudgedCell::off_elsewhere)
        );
    };
    for (name, kind) in [
        ("heddle over tcp", "tcp"),
        ("heddle over mpi", "mpi"),
        ("library's own", "own"),
    ] {
        row(name, &|cell| cell.kind() == kind);
    }
    row("all", &|_| true);
    text
}

fn ranking(cells: &[JudgedCell]) -> String {
    let line = |name: &str, predicted: fn(&JudgedCell) -> f64| {
        let RankingScore {
            calls,
            order,
            beyond_noise,
            chosen,
        } = RankingScore::counted(cells, predicted);
        let percent = |number: usize| 100.0 * number as f64 / calls.max(1) as f64;
        format!(
            "| {name} | {calls} | {:.0} % | **{:.0} %** | {:.0} % |\n",
            percent(order),
            percent(beyond_noise),
            percent(chosen)
        )
    };
    line("from all measured calls", |cell| cell.fitted)
        + &line("from calls on other networks", |cell| cell.elsewhere)
}
