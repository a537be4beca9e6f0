//! The exposition format: families with their samples, no series twice.
use super::families::MetricFamily;
use std::collections::HashSet;
use std::fmt::{Display, Write};

/// The text so far.
#[derive(Default)]
pub(super) struct PrometheusText {
    text: String,
    family: Option<&'static MetricFamily>,
    /// The series of the present family. One that comes twice would make Prometheus refuse all.
    seen: HashSet<String>,
}

impl PrometheusText {
    pub(super) fn text(self) -> String {
        self.text
    }

    /// Begins a family.
    pub(super) fn family(&mut self, family: &'static MetricFamily) -> &mut Self {
        let MetricFamily {
            name, kind, help, ..
        } = family;
        self.family = Some(family);
        self.seen.clear();
        // Writing to a String cannot fail.
        let _ = writeln!(
            self.text,
            "# HELP {name} {help}\n# TYPE {name} {}",
            kind.word()
        );
        self
    }

    /// Adds a sample with the values of the family's labels, in their order.
    pub(super) fn sample<const N: usize>(&mut self, labels: [&str; N], value: impl Display) {
        let Some(family) = self.family else { return };
        debug_assert_eq!(labels.len(), family.labels.len(), "{}", family.name);
        let labels = written(family.labels.iter().copied().zip(labels));
        if self.seen.insert(labels.clone()) {
            let _ = writeln!(self.text, "{}{labels} {value}", family.name);
        }
    }

    /// Adds a sample if its value is known.
    pub(super) fn known<const N: usize>(&mut self, labels: [&str; N], value: Option<impl Display>) {
        if let Some(value) = value {
            self.sample(labels, value);
        }
    }

    /// Adds a family with a sample for each of these whose value is known.
    pub(super) fn each<T, V: Display>(
        &mut self,
        family: &'static MetricFamily,
        (things, name): (&[T], fn(&T) -> &str),
        value: impl Fn(&T) -> Option<V>,
    ) {
        self.family(family);
        for thing in things {
            self.known([name(thing)], value(thing));
        }
    }

    /// Adds a histogram: the upper limits of its buckets, the count in each, with one more for all
    /// that is above, and the sum of all values.
    pub(super) fn histogram(&mut self, limits: &[f64], counts: &[u64], sum: f64) {
        let Some(MetricFamily { name, .. }) = self.family else {
            return;
        };
        let mut total = 0;
        let limits = limits.iter().map(ToString::to_string);
        for (limit, count) in limits.chain(["+Inf".to_owned()]).zip(counts) {
            total += count;
            let _ = writeln!(self.text, "{name}_bucket{{le=\"{limit}\"}} {total}");
        }
        let _ = writeln!(self.text, "{name}_sum {sum}\n{name}_count {total}");
    }
}

fn written<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    // Where there is only one network it has no name.
    let shown = labels.filter(|&(label_pair, text)| label_pair != "network" || !text.is_empty());
    let labels: Vec<String> = shown.map(label_pair).collect();
    if labels.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", labels.join(","))
    }
}

fn label_pair((label, text): (&str, &str)) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("{label}=\"{escaped}\"")
}
