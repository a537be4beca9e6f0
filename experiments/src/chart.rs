//! Charts of lines and points as SVG: panels side by side, one legend.
use std::fmt::Write;

/// One line of a panel.
pub struct ChartLine {
    /// Its name in the legend.
    pub name: &'static str,
    /// The points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// True for a line through the points, false for the points alone.
    pub is_joined: bool,
}

/// One pair of axes.
pub struct ChartPanel {
    /// The title above the panel.
    pub title: &'static str,
    /// The name and the scale of the horizontal axis.
    pub x: (&'static str, AxisScale),
    /// The name and the scale of the vertical axis.
    pub y: (&'static str, AxisScale),
    /// The lines of the panel.
    pub lines: Vec<ChartLine>,
}

/// The scale of an axis.
#[derive(Clone, Copy)]
pub enum AxisScale {
    /// Linear, from 0.
    Linear,
    /// Logarithmic, from one power of this base to another.
    Powers(f64),
}

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;
/// The margins left, right, above and below the plotted area.
const MARGIN: (f64, f64, f64, f64) = (60.0, 20.0, 40.0, 50.0);
/// People with any colour vision can tell the colours apart (Okabe, Ito); marks help, too.
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// The panels as an SVG document.
pub fn svg(panels: &[ChartPanel]) -> String {
    let (width, height) = (WIDTH * panels.len() as f64, HEIGHT + 30.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect \
         width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (i, panel) in panels.iter().enumerate() {
        writeln!(svg, "<g transform=\"translate({} 0)\">", WIDTH * i as f64)
            .expect("a string takes everything");
        svg += &panel.drawn();
        svg += "</g>\n";
    }
    for (i, line) in panels
        .first()
        .map_or(&[][..], |panel| &panel.lines)
        .iter()
        .enumerate()
    {
        let x = width / 2.0 + (i as f64 - panels[0].lines.len() as f64 / 2.0) * 150.0;
        svg += &mark(i, x, HEIGHT + 10.0);
        svg += &text(x + 12.0, HEIGHT + 14.0, "start", line.name);
    }
    svg + "</svg>\n"
}

impl ChartPanel {
    fn drawn(&self) -> String {
        let (left, right, above, below) = MARGIN;
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let (across, up) = (
            ChartAxis::new(self.x.1, all().map(|point| point.0)),
            ChartAxis::new(self.y.1, all().map(|point| point.1)),
        );
        let x = |value: f64| left + across.share(value) * (WIDTH - left - right);
        let y = |value: f64| HEIGHT - below - up.share(value) * (HEIGHT - above - below);
        let (middle, end, centre) = (
            left + (WIDTH - left - right) / 2.0,
            WIDTH - right,
            above + (HEIGHT - above - below) / 2.0,
        );
        let mut svg = text(middle, 24.0, "middle", self.title);
        svg += &text(middle, HEIGHT - 12.0, "middle", self.x.0);
        svg += &text(16.0, centre, "middle", self.y.0).replace(
            "<text",
            &format!("<text transform=\"rotate(-90 16 {centre:.1})\""),
        );
        for &tick in &up.ticks {
            svg += &format!(
                "<path d=\"M{left} {at:.1}H{end:.1}\" stroke=\"#ddd\"/>\n",
                at = y(tick)
            );
            svg += &text(left - 6.0, y(tick) + 4.0, "end", &tick.to_string());
        }
        for &tick in &across.ticks {
            svg += &format!(
                "<path d=\"M{at:.1} {end:.1}v5\" stroke=\"black\"/>\n",
                at = x(tick),
                end = HEIGHT - below
            );
            svg += &text(x(tick), HEIGHT - below + 18.0, "middle", &tick.to_string());
        }
        svg += &format!(
            "<path d=\"M{left} {above}V{:.1}H{:.1}\" fill=\"none\" stroke=\"black\"/>\n",
            HEIGHT - below,
            end
        );
        for (i, line) in self.lines.iter().enumerate() {
            let points: Vec<String> = line
                .points
                .iter()
                .map(|&(a, b)| format!("{:.1},{:.1}", x(a), y(b)))
                .collect();
            if line.is_joined {
                svg += &format!(
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                    points.join(" "),
                    COLOURS[i % COLOURS.len()]
                );
            }
            line.points
                .iter()
                .for_each(|&(a, b)| svg += &mark(i, x(a), y(b)));
        }
        svg
    }
}

/// The places of values along an axis.
struct ChartAxis {
    scale: AxisScale,
    ticks: Vec<f64>,
}

impl ChartAxis {
    fn new(scale: AxisScale, values: impl Iterator<Item = f64> + Clone) -> ChartAxis {
        let most = values.clone().fold(f64::MIN_POSITIVE, f64::max);
        let ticks = match scale {
            AxisScale::Linear => {
                let step = step(most);
                (0..=(most / step).ceil().max(1.0) as u32)
                    .map(|i| (f64::from(i) * step * 1e3).round() / 1e3)
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
        ChartAxis { scale, ticks }
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
    let power = 10f64.powf((most.max(1.0) / 4.0).log10().floor());
    [5.0, 2.0, 1.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| most / step >= 4.0)
        .unwrap_or(power)
}

/// The mark of a line: a disc, a square, a triangle or a diamond.
fn mark(i: usize, x: f64, y: f64) -> String {
    let colour = COLOURS[i % COLOURS.len()];
    let shape = [
        "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        "m-4 -4h8v8h-8z",
        "m0 -5l5 9h-10z",
        "m0 -5l5 5l-5 5l-5 -5z",
    ][i % 4];
    format!("<path d=\"M{x:.1} {y:.1}{shape}\" fill=\"{colour}\"/>\n")
}

fn text(x: f64, y: f64, anchor: &str, what: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{what}</text>\n")
}
