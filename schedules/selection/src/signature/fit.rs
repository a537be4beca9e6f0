//! Measurements to a signature.
//!
//! Source: contention-signature-alltoall, section V: alpha and beta from a ping-pong; gamma and
//! delta by least squares over at least four message sizes. Input: mean times with their standard
//! errors, or without. Guarantee: least weighted squares over gamma, delta and every place of the
//! threshold between two measured sizes. Standard errors include those of alpha and beta. Cost:
//! O(samples²). Deviations: delta is kept only where its margin excludes zero, as Myrinet's is left
//! out in the paper's section V.C.
use super::regression::{RegressionRow, RegressionSolution, solve, student};
use super::{ContentionSignature, Hockney, peers};
use inventory::Bytes;
use std::fmt;

/// A series needs this many different message sizes, as in the paper.
pub const MIN_SIZES: usize = 4;

/// The largest message must be at least this many times the smallest, or start-up and bandwidth
/// cannot be told apart.
pub const MIN_SPREAD: u64 = 4;

/// Two hosts do not contend.
pub const MIN_HOSTS: u64 = 3;

/// How long messages, or all-to-alls, of one size took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeSample {
    /// Size of a message.
    pub size: Bytes,
    /// Mean time in seconds.
    pub seconds: f64,
    /// Standard error of that mean in seconds. Only the proportions among a series' errors matter:
    /// they are its weights.
    pub error: f64,
}

impl TimeSample {
    /// A time of unknown error: it counts as uncertain in proportion to the time.
    pub fn new(size: Bytes, seconds: f64) -> TimeSample {
        TimeSample {
            size,
            seconds,
            error: 0.01 * seconds,
        }
    }
}

/// A parameter with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParameterEstimate {
    /// What fits best.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// Half the width of its 95 % confidence interval.
    pub margin: f64,
}

impl ParameterEstimate {
    fn new(value: f64, variance: f64, freedom: usize) -> ParameterEstimate {
        let error = variance.max(0.0).sqrt();
        // No error times an infinite quantile is no margin, not NaN.
        let margin = if error == 0.0 {
            0.0
        } else {
            error * student(freedom)
        };
        ParameterEstimate {
            value,
            error,
            margin,
        }
    }

    /// A parameter that is known.
    pub fn exact(value: f64) -> ParameterEstimate {
        ParameterEstimate {
            value,
            error: 0.0,
            margin: 0.0,
        }
    }
}

/// Which measurements a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleSeries {
    /// Between two hosts.
    PingPong,
    /// Among all.
    Alltoall,
}

impl fmt::Display for SampleSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SampleSeries::PingPong => "ping-pong",
            SampleSeries::Alltoall => "all-to-all",
        })
    }
}

/// Why measurements carry no signature.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitRefusal {
    /// A measurement that is none.
    #[error(
        "{series} of {size} octets: time {seconds} s, error {error} s: expected finite numbers \
         above zero; nothing is fitted"
    )]
    Sample {
        /// Where.
        series: SampleSeries,
        /// Message size, octets.
        size: u64,
        /// As given.
        seconds: f64,
        /// As given.
        error: f64,
    },
    /// Fewer than [`MIN_SIZES`].
    #[error(
        "{series}: {sizes} message sizes; {MIN_SIZES} or more are needed to fit its parameters: \
         measure more sizes"
    )]
    TooFewSizes {
        /// Where.
        series: SampleSeries,
        /// How many different ones there are.
        sizes: usize,
    },
    /// All sizes are much the same.
    #[error(
        "{series}: message sizes from {smallest} to {largest} octets; the largest must be \
         {MIN_SPREAD} times the smallest to tell start-up from bandwidth: measure a wider range"
    )]
    NoSpread {
        /// Where.
        series: SampleSeries,
        /// Octets.
        smallest: u64,
        /// Octets.
        largest: u64,
    },
    /// Fewer than [`MIN_HOSTS`].
    #[error(
        "all-to-all among {0} hosts: fewer than {MIN_HOSTS} do not contend; measure with as many \
         hosts as there are"
    )]
    TooFewHosts(u64),
    /// Larger messages do not take longer.
    #[error(
        "{series}: time changes by {per_octet} s an octet; it must grow with the size: look for \
         disturbance and measure again"
    )]
    Slope {
        /// Where.
        series: SampleSeries,
        /// Fitted slope.
        per_octet: f64,
    },
    /// An empty message would take no time, or less.
    #[error("ping-pong: start-up time {0} s; it must be above zero: measure smaller messages")]
    StartUp(f64),
    /// The confidence interval includes zero.
    #[error(
        "{series}: {parameter} = {value} ± {margin}; that is no value: repeat the measurements \
         more often, or at more sizes"
    )]
    Uncertain {
        /// Where.
        series: SampleSeries,
        /// `alpha`, `beta` or `gamma`.
        parameter: &'static str,
        /// What fits best.
        value: f64,
        /// Half of its 95 % interval.
        margin: f64,
    },
    /// Messages pay a start-up time delta, but every threshold explains the data.
    #[error(
        "all-to-all: delta = {delta} s, but its threshold may be any size from {smallest} to \
         {largest} octets: measure more sizes between them, or repeat more often"
    )]
    Threshold {
        /// What fits best, seconds.
        delta: f64,
        /// Octets.
        smallest: u64,
        /// Octets.
        largest: u64,
    },
}

/// Fitted parameters of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PingPongFit {
    /// Start-up time, seconds.
    pub alpha: ParameterEstimate,
    /// Seconds per octet.
    pub beta: ParameterEstimate,
    /// Covariance of the two.
    pub covariance: f64,
}

impl PingPongFit {
    /// A link whose parameters are known.
    pub fn known(link: Hockney) -> PingPongFit {
        PingPongFit {
            alpha: ParameterEstimate::exact(link.alpha),
            beta: ParameterEstimate::exact(link.beta),
            covariance: 0.0,
        }
    }

    /// The parameters alone.
    pub fn link(&self) -> Hockney {
        Hockney {
            alpha: self.alpha.value,
            beta: self.beta.value,
        }
    }
}

/// Fits a link's parameters to the times of messages in one direction (half a ping-pong).
///
/// # Errors
/// [`FitRefusal`], whenever the data do not determine both parameters.
pub fn ping_pong(samples: &[TimeSample]) -> Result<PingPongFit, FitRefusal> {
    let series = SampleSeries::PingPong;
    usable(series, samples)?;
    let rows: Vec<RegressionRow<2>> = samples
        .iter()
        .map(|s| row([1.0, s.size.0 as f64], s.seconds, s.error))
        .collect();
    let solution = solve(&rows).ok_or_else(|| spread(series, samples))?;
    let freedom = samples.len() - 2;
    let variance = solution.residue / freedom as f64;
    let [alpha, beta] = [0, 1].map(|i| {
        ParameterEstimate::new(
            solution.value[i],
            variance * solution.covariance[i][i],
            freedom,
        )
    });
    if beta.value <= 0.0 {
        return Err(FitRefusal::Slope {
            series,
            per_octet: beta.value,
        });
    }
    if alpha.value <= 0.0 {
        return Err(FitRefusal::StartUp(alpha.value));
    }
    certain(series, "beta", beta)?;
    certain(series, "alpha", alpha)?;
    Ok(PingPongFit {
        alpha,
        beta,
        covariance: variance * solution.covariance[0][1],
    })
}

/// What is known of `M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeThreshold {
    /// No message pays a start-up time delta that the data could show.
    None,
    /// Every measured size pays it; smaller messages may, too.
    AtMost(Bytes),
    /// More than the first size, at most the second.
    Between(Bytes, Bytes),
}

/// A fitted signature and how far to trust it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignatureFit {
    /// The parameters that fit best.
    pub signature: ContentionSignature,
    /// Contention ratio.
    pub gamma: ParameterEstimate,
    /// Start-up time of a message from the threshold on, seconds; exactly zero where
    /// [`SizeThreshold::None`].
    pub delta: ParameterEstimate,
    /// Where the threshold can be, at 95 %.
    pub threshold: SizeThreshold,
    /// Largest relative difference between a measured time and the fitted one.
    pub worst: f64,
}

/// Fits gamma, delta and M to the times of all-to-alls among `n` hosts.
///
/// # Errors
/// [`FitRefusal`], whenever the data do not determine the parameters.
pub fn fit(n: u64, link: &PingPongFit, samples: &[TimeSample]) -> Result<SignatureFit, FitRefusal> {
    let series = SampleSeries::Alltoall;
    usable(series, samples)?;
    if n < MIN_HOSTS {
        return Err(FitRefusal::TooFewHosts(n));
    }
    let messages = MessageTimes {
        samples,
        peers: peers(n),
        link,
    };
    let (gamma, delta, threshold, from) = match messages.with_start_up()? {
        Some(fitted) => fitted,
        None => (
            messages.without_start_up()?,
            ParameterEstimate::exact(0.0),
            SizeThreshold::None,
            Bytes(0),
        ),
    };
    if gamma.value <= 0.0 {
        return Err(FitRefusal::Slope {
            series,
            per_octet: gamma.value * link.beta.value,
        });
    }
    certain(series, "gamma", gamma)?;
    let Hockney { alpha, beta } = link.link();
    let signature = ContentionSignature {
        alpha,
        beta,
        gamma: gamma.value,
        delta: delta.value,
        threshold: from,
    };
    let off = |s: &TimeSample| (signature.alltoall(n, s.size) / s.seconds - 1.0).abs();
    Ok(SignatureFit {
        signature,
        gamma,
        delta,
        threshold,
        worst: samples.iter().map(off).fold(0.0, f64::max),
    })
}

/// All-to-all times as times of one message: `time / (n - 1) - alpha = size * beta * gamma +
/// delta`.
struct MessageTimes<'a> {
    samples: &'a [TimeSample],
    peers: f64,
    link: &'a PingPongFit,
}

impl MessageTimes<'_> {
    fn rows<const P: usize>(&self, x: impl Fn(Bytes) -> [f64; P]) -> Vec<RegressionRow<P>> {
        let y = |s: &TimeSample| s.seconds / self.peers - self.link.alpha.value;
        self.samples
            .iter()
            .map(|s| row(x(s.size), y(s), s.error / self.peers))
            .collect()
    }

    /// Equation 4: gamma alone.
    fn without_start_up(&self) -> Result<ParameterEstimate, FitRefusal> {
        let rows = self.rows(|size| [size.0 as f64]);
        let solution = solve(&rows).ok_or_else(|| spread(SampleSeries::Alltoall, self.samples))?;
        let freedom = self.samples.len() - 1;
        let variance = solution.residue / freedom as f64 * solution.covariance[0][0];
        Ok(self.gamma(solution.value[0], variance, alone(&rows)[0], freedom))
    }

    /// Equation 5 with the threshold that fits best; `None` where delta is not certain to be above
    /// zero.
    #[allow(clippy::type_complexity)]
    fn with_start_up(
        &self,
    ) -> Result<Option<(ParameterEstimate, ParameterEstimate, SizeThreshold, Bytes)>, FitRefusal>
    {
        let sizes = sizes(self.samples);
        // At least two sizes pay delta: one alone could as well be an outlier.
        let candidates: Vec<(usize, Vec<RegressionRow<2>>, RegressionSolution<2>)> =
            (0..sizes.len() - 1)
                .filter_map(|first| {
                    let rows = self
                        .rows(|size| [size.0 as f64, if size >= sizes[first] { 1.0 } else { 0.0 }]);
                    solve(&rows).map(|solution| (first, rows, solution))
                })
                .collect();
        let best = candidates
            .iter()
            .filter(|(_, _, s)| s.value[1] > 0.0)
            .min_by(|a, b| a.2.residue.total_cmp(&b.2.residue));
        let Some((first, rows, solution)) = best else {
            return Ok(None);
        };
        // Gamma, delta and M.
        let freedom = self.samples.len() - 3;
        let variance = solution.residue / freedom as f64;
        let [gamma_by_alpha, delta_by_alpha] = alone(rows);
        let delta_variance =
            variance * solution.covariance[1][1] + (delta_by_alpha * self.link.alpha.error).powi(2);
        let delta = ParameterEstimate::new(solution.value[1], delta_variance, freedom);
        if delta.value <= delta.margin {
            return Ok(None);
        }
        let gamma = self.gamma(
            solution.value[0],
            variance * solution.covariance[0][0],
            gamma_by_alpha,
            freedom,
        );
        // The thresholds that fit nearly as well: the likelihood ratio's 95 % region.
        let tolerated = solution.residue + variance * student(freedom).powi(2);
        let possible: Vec<usize> = candidates
            .iter()
            .filter(|(_, _, s)| s.residue <= tolerated)
            .map(|c| c.0)
            .collect();
        let (lowest, highest) = (possible[0], possible[possible.len() - 1]);
        let threshold = match lowest.checked_sub(1) {
            Some(below) => SizeThreshold::Between(sizes[below], sizes[highest]),
            None if highest + 2 == sizes.len() => {
                return Err(FitRefusal::Threshold {
                    delta: delta.value,
                    smallest: sizes[0].0,
                    largest: sizes[highest].0,
                });
            }
            None => SizeThreshold::AtMost(sizes[highest]),
        };
        Ok(Some((gamma, delta, threshold, sizes[*first])))
    }

    /// Gamma from a fitted slope `beta * gamma` that changes by `by_alpha` with every second taken
    /// off each message.
    fn gamma(&self, slope: f64, variance: f64, by_alpha: f64, freedom: usize) -> ParameterEstimate {
        let PingPongFit {
            alpha,
            beta,
            covariance,
        } = self.link;
        let gamma = slope / beta.value;
        let from_link = (by_alpha * alpha.error).powi(2)
            + (gamma * beta.error).powi(2)
            + 2.0 * by_alpha * gamma * covariance;
        ParameterEstimate::new(gamma, (variance + from_link) / beta.value.powi(2), freedom)
    }
}

/// How the parameters change with a second more in every row.
fn alone<const P: usize>(rows: &[RegressionRow<P>]) -> [f64; P] {
    let ones: Vec<RegressionRow<P>> = rows
        .iter()
        .map(|r| RegressionRow { y: 1.0, ..*r })
        .collect();
    solve(&ones).map_or([0.0; P], |s| s.value)
}

fn row<const P: usize>(x: [f64; P], y: f64, error: f64) -> RegressionRow<P> {
    RegressionRow {
        x,
        y,
        weight: error.powi(-2),
    }
}

fn usable(series: SampleSeries, samples: &[TimeSample]) -> Result<(), FitRefusal> {
    let positive = |x: f64| x.is_finite() && x > 0.0;
    if let Some(s) = samples
        .iter()
        .find(|s| !positive(s.seconds) || !positive(s.error))
    {
        return Err(FitRefusal::Sample {
            series,
            size: s.size.0,
            seconds: s.seconds,
            error: s.error,
        });
    }
    let sizes = sizes(samples);
    if sizes.len() < MIN_SIZES {
        return Err(FitRefusal::TooFewSizes {
            series,
            sizes: sizes.len(),
        });
    }
    let (smallest, largest) = (sizes[0].0.max(1), sizes[sizes.len() - 1].0);
    if largest / smallest < MIN_SPREAD {
        Err(spread(series, samples))
    } else {
        Ok(())
    }
}

/// The different sizes in ascending order.
fn sizes(samples: &[TimeSample]) -> Vec<Bytes> {
    let mut sizes: Vec<Bytes> = samples.iter().map(|s| s.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn spread(series: SampleSeries, samples: &[TimeSample]) -> FitRefusal {
    let sizes = sizes(samples);
    FitRefusal::NoSpread {
        series,
        smallest: sizes.first().map_or(0, |s| s.0),
        largest: sizes.last().map_or(0, |s| s.0),
    }
}

fn certain(
    series: SampleSeries,
    parameter: &'static str,
    estimate: ParameterEstimate,
) -> Result<(), FitRefusal> {
    let ParameterEstimate { value, margin, .. } = estimate;
    if margin < value {
        Ok(())
    } else {
        Err(FitRefusal::Uncertain {
            series,
            parameter,
            value,
            margin,
        })
    }
}
