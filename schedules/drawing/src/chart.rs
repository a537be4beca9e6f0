//! Charts of lines and points over axes, panels side by side, one legend.
use crate::palette;
use crate::svg::{SvgElement, SvgNumber, SvgPicture, text_width};

/// One line of a panel. Lines of one name have one colour in all panels.
#[derive(Debug, Clone)]
pub struct ChartLine {
    /// Its name in the legend.
    pub name: String,
    /// The points, from left to right.
    pub points: Vec<ChartPoint>,
    /// True for a line through the points, false for the points alone.
    pub is_joined: bool,
}

/// A point with its error bar.
#[derive(Debug, Clone, Copy)]
pub struct ChartPoint {
    /// Its place along the horizontal axis.
    pub x: f64,
    /// Its place along the vertical axis.
    pub y: f64,
    /// The bar reaches so far up and down; 0 for no bar.
    pub error: f64,
}

impl From<(f64, f64)> for ChartPoint {
    fn from((x, y): (f64, f64)) -> ChartPoint {
        ChartPoint { x, y, error: 0.0 }
    }
}

/// One pair of axes.
#[derive(Debug, Clone)]
pub struct ChartPanel {
    /// The title above the panel.
    pub title: String,
    /// The horizontal axis.
    pub x: AxisLabel,
    /// The vertical axis.
    pub y: AxisLabel,
    pub lines: Vec<ChartLine>,
}

/// An axis: its name, its scale, and how its numbers are written.
#[derive(Debug, Clone)]
pub struct AxisLabel {
    /// The name beside it.
    pub name: String,
    pub scale: AxisScale,
    /// The unit of its numbers.
    pub unit: AxisUnit,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy)]
pub enum AxisScale {
    /// Linear, from 0.
    Linear,
    /// Logarithmic, from one power of this base to another.
    Powers(f64),
}

/// How the numbers of an axis are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisUnit {
    /// As they are.
    Plain,
    /// With a binary prefix: `64k`.
    Octets,
    /// As a time: `20 ms`.
    Seconds,
}

impl AxisLabel {
    /// An axis with plain numbers.
    pub fn plain(name: &str, scale: AxisScale) -> AxisLabel {
        AxisLabel {
            name: name.to_owned(),
            scale,
            unit: AxisUnit::Plain,
        }
    }
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 320.0;
/// The margins left, right, above and below the plotted area.
const MARGIN: (f64, f64, f64, f64) = (72.0, 16.0, 44.0, 52.0);
const LEGEND_LINE: f64 = 20.0;
/// The most ticks with a number along the horizontal axis.
const MOST_NUMBERS: usize = 8;

/// The panels as a picture.
pub fn picture(panels: &[ChartPanel]) -> SvgPicture {
    let width = WIDTH * panels.len() as f64;
    let mut names: Vec<&str> = Vec::new();
    for line in panels.iter().flat_map(|panel| &panel.lines) {
        if !names.contains(&line.name.as_str()) {
            names.push(&line.name);
        }
    }
    let mut content = SvgElement::group();
    for (i, panel) in panels.iter().enumerate() {
        let shift = format!("translate({} 0)", SvgNumber(WIDTH * i as f64));
        content.push(panel.drawn(&names).with("transform", &shift));
    }
    let rows = legend_rows(&names, width - 40.0);
    for (i, row) in rows.iter().enumerate() {
        let wide: f64 = row.iter().map(|&series| legend_width(names[series])).sum();
        let mut x = (width - wide) / 2.0;
        let y = HEIGHT + 12.0 + LEGEND_LINE * i as f64;
        for &series in row {
            content.push(stroked(SvgElement::line((x, y), (x + 22.0, y)), series));
            content.push(mark(series, x + 11.0, y));
            content.push(SvgElement::text(x + 28.0, y + 4.0, names[series]).class("ink"));
            x += legend_width(names[series]);
        }
    }
    SvgPicture {
        width,
        height: HEIGHT + 10.0 + LEGEND_LINE * rows.len() as f64,
        content,
    }
}

fn legend_width(name: &str) -> f64 {
    text_width(name, 12.0) + 48.0
}

/// The series in rows that are at most so wide.
fn legend_rows(names: &[&str], most: f64) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut room = 0.0;
    for (series, name) in names.iter().enumerate() {
        let wide = legend_width(name);
        match rows.last_mut() {
            Some(row) if wide <= room => row.push(series),
            _ => {
                rows.push(vec![series]);
                room = most;
            }
        }
        room -= wide;
    }
    rows
}

impl ChartPanel {
    fn drawn(&self, names: &[&str]) -> SvgElement {
        let (left, right, above, below) = MARGIN;
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let across = ChartAxis::new(&self.x, all().map(|point| point.x));
        let up = ChartAxis::new(&self.y, all().map(|point| point.y));
        let x = |value: f64| left + across.share(value) * (WIDTH - left - right);
        let y = |value: f64| HEIGHT - below - up.share(value) * (HEIGHT - above - below);
        let mut panel = self.frame(&across, &up, &x, &y);
        for line in &self.lines {
            let series = names
                .iter()
                .position(|name| *name == line.name)
                .unwrap_or(0);
            panel.push(line.drawn(series, &x, &y));
        }
        panel
    }

    /// Title, axes, ticks.
    fn frame(
        &self,
        across: &ChartAxis,
        up: &ChartAxis,
        x: &dyn Fn(f64) -> f64,
        y: &dyn Fn(f64) -> f64,
    ) -> SvgElement {
        let (left, right, above, below) = MARGIN;
        let (floor, end) = (HEIGHT - below, WIDTH - right);
        let (middle, centre) = (f64::midpoint(left, end), f64::midpoint(above, floor));
        let label = |x, y, text: &str, class: &str| SvgElement::text(x, y, text).class(class);
        let mut frame = SvgElement::group()
            .and(label(middle, 26.0, &self.title, "ink bold").anchor("middle"))
            .and(label(middle, HEIGHT - 10.0, &self.x.name, "dim").anchor("middle"))
            .and(
                label(16.0, centre, &self.y.name, "dim")
                    .anchor("middle")
                    .with(
                        "transform",
                        &format!("rotate(-90 16 {})", SvgNumber(centre)),
                    ),
            );
        for &tick in &up.ticks {
            let at = y(tick);
            frame.push(SvgElement::line((left, at), (end, at)).class("rule"));
            frame.push(
                label(left - 8.0, at + 4.0, &self.y.unit.shown(tick), "dim small").anchor("end"),
            );
        }
        let every = across.ticks.len().div_ceil(MOST_NUMBERS).max(1);
        for (i, &tick) in across.ticks.iter().enumerate() {
            let at = x(tick);
            frame.push(SvgElement::line((at, floor), (at, floor + 5.0)).class("axis"));
            if i % every == 0 {
                let number = label(at, floor + 18.0, &self.x.unit.shown(tick), "dim small");
                frame.push(number.anchor("middle"));
            }
        }
        frame.and(SvgElement::line((left, floor), (end, floor)).class("axis"))
    }
}

impl ChartLine {
    fn drawn(&self, series: usize, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> SvgElement {
        let mut line = SvgElement::group();
        if self.is_joined {
            let places = self
                .points
                .iter()
                .map(|p| format!("{},{}", SvgNumber(x(p.x)), SvgNumber(y(p.y))));
            let points = places.collect::<Vec<_>>().join(" ");
            line.push(stroked(
                SvgElement::new("polyline").with("points", &points),
                series,
            ));
        }
        for point in &self.points {
            let at = x(point.x);
            if point.error > 0.0 {
                // On a logarithmic axis a bar cannot reach below zero.
                let low = y((point.y - point.error).max(point.y / 100.0)).min(HEIGHT - MARGIN.3);
                let high = y(point.y + point.error).max(MARGIN.2);
                let (n, left, right) = (SvgNumber, at - 3.0, at + 3.0);
                let bar = format!(
                    "M{} {}H{}M{} {}V{}M{} {}H{}",
                    n(left),
                    n(low),
                    n(right),
                    n(at),
                    n(low),
                    n(high),
                    n(left),
                    n(high),
                    n(right)
                );
                line.push(
                    SvgElement::path(&bar)
                        .class(&palette::line(series))
                        .number("stroke-width", 1.2),
                );
            }
            line.push(mark(series, at, y(point.y)));
        }
        line
    }
}

impl AxisUnit {
    fn shown(self, value: f64) -> String {
        let plain = |value: f64| {
            let text = format!("{value:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        match self {
            AxisUnit::Plain => plain(value),
            AxisUnit::Octets => match value {
                v if v >= 1_048_576.0 => format!("{}M", plain(v / 1_048_576.0)),
                v if v >= 1024.0 => format!("{}k", plain(v / 1024.0)),
                v => plain(v),
            },
            AxisUnit::Seconds => match value {
                0.0 => "0".to_owned(),
                v if v >= 1.0 => format!("{} s", plain(v)),
                v if v >= 9.99e-4 => format!("{} ms", plain(v * 1e3)),
                v => format!("{} µs", plain(v * 1e6)),
            },
        }
    }
}

/// The places of values along an axis.
struct ChartAxis {
    scale: AxisScale,
    ticks: Vec<f64>,
}

impl ChartAxis {
    fn new(label: &AxisLabel, values: impl Iterator<Item = f64> + Clone) -> ChartAxis {
        let most = values.clone().fold(f64::MIN_POSITIVE, f64::max);
        let ticks = match label.scale {
            AxisScale::Linear => {
                let step = step(most);
                (0..=(most / step).ceil().max(1.0) as u32)
                    .map(|i| (f64::from(i) * step * 1e6).round() / 1e6)
                    .collect()
            }
            AxisScale::Powers(base) => {
                let power = |value: f64| value.log(base);
                let least = (power(values.fold(most, f64::min)) + 1e-9).floor() as i32;
                (least..=((power(most) - 1e-9).ceil() as i32).max(least + 1))
                    .map(|i| base.powi(i))
                    .collect()
            }
        };
        ChartAxis {
            scale: label.scale,
            ticks,
        }
    }

    /// The place of a value: 0 at the first tick, 1 at the last one.
    fn share(&self, value: f64) -> f64 {
        let (first, last) = (self.ticks[0], self.ticks[self.ticks.len() - 1]);
        match self.scale {
            AxisScale::Linear => value / last,
            AxisScale::Powers(_) => (value / first).ln() / (last / first).ln(),
        }
    }
}

/// The distance of ticks: 1, 2 or 5 times a power of ten, for four to ten ticks.
fn step(most: f64) -> f64 {
    let power = 10f64.powf((most / 4.0).log10().floor());
    [5.0, 2.0, 1.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| most / step >= 4.0)
        .unwrap_or(power)
}

/// A line of a series. Those that share a colour have different dashes.
fn stroked(element: SvgElement, series: usize) -> SvgElement {
    let element = element
        .class(&palette::line(series))
        .number("stroke-width", 1.8);
    match series / palette::SERIES {
        0 => element,
        1 => element.with("stroke-dasharray", "6 3"),
        _ => element.with("stroke-dasharray", "2 3"),
    }
}

/// The mark of a series: a disc, a square, a triangle or a diamond.
fn mark(series: usize, x: f64, y: f64) -> SvgElement {
    let shape = [
        "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        "m-3.5 -3.5h7v7h-7z",
        "m0 -4.5l4.5 8h-9z",
        "m0 -5l5 5l-5 5l-5 -5z",
    ][series % 4];
    SvgElement::path(&format!("M{} {}{shape}", SvgNumber(x), SvgNumber(y)))
        .class(&palette::fill(series))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(y: AxisScale, points: &[(f64, f64)]) -> ChartPanel {
        ChartPanel {
            title: "all-to-all".into(),
            x: AxisLabel {
                name: "block".into(),
                scale: AxisScale::Powers(2.0),
                unit: AxisUnit::Octets,
            },
            y: AxisLabel::plain("time", y),
            lines: vec![line("own <b>", points), line("aapc", points)],
        }
    }

    fn line(name: &str, points: &[(f64, f64)]) -> ChartLine {
        ChartLine {
            name: name.to_owned(),
            points: points.iter().copied().map(ChartPoint::from).collect(),
            is_joined: true,
        }
    }

    #[test]
    fn axes_reach_as_far_as_the_points() {
        for scale in [AxisScale::Linear, AxisScale::Powers(10.0)] {
            let panel = panel(scale, &[(1024.0, 0.002), (65536.0, 0.3)]);
            let text = picture(&[panel]).document("a chart");
            assert!(
                text.contains(">64k<") && text.contains("own &lt;b&gt;"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_chart_of_nothing_is_drawn() {
        let text = picture(&[panel(AxisScale::Linear, &[])]).document("nothing");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn units_are_short() {
        assert_eq!(AxisUnit::Seconds.shown(0.02), "20 ms");
        assert_eq!(AxisUnit::Seconds.shown(1e-5), "10 µs");
        assert_eq!(AxisUnit::Octets.shown(512.0), "512");
        assert_eq!(AxisUnit::Plain.shown(0.25), "0.25");
    }
}
