use super::*;
use proptest::prelude::*;

impl ContentionSignature {
    /// The link of the signature.
    fn link(&self) -> Hockney {
        Hockney {
            alpha: self.alpha,
            beta: self.beta,
        }
    }
}

impl Hockney {
    fn seconds(&self, message: Bytes) -> f64 {
        self.alpha + self.beta * message.0 as f64
    }
}

/// A network of the paper: its signature, the number of hosts of the fit, and the error of the
/// prediction according to its section V.
struct PublishedSignature {
    signature: ContentionSignature,
    hosts: u64,
}

/// Gamma, delta and M of section V.A, V.B, V.C and VI.E; alpha of V.A. The paper prints neither
/// beta nor the other alphas: beta is the inverse of the link's nominal rate (Myrinet 2000: 2
/// Gbit/s), alpha of the same order as that of V.A or, for Myrinet with gm, a tenth.
fn published() -> [PublishedSignature; 4] {
    let network = |alpha, rate: f64, gamma, delta, threshold, hosts| PublishedSignature {
        signature: ContentionSignature {
            alpha,
            beta: 8.0 / rate,
            gamma,
            delta,
            threshold: Bytes(threshold),
        },
        hosts,
    };
    [
        network(60e-6, 1e8, 1.0195, 8.23e-3, 2 << 10, 24),
        network(50e-6, 1e9, 4.3628, 4.93e-3, 8 << 10, 40),
        network(6e-6, 2e9, 2.49754, 0.0, 0, 24),
        network(50e-6, 1e9, 2.6887, 5.039e-3, 1 << 10, 30),
    ]
}

/// Powers of two around the threshold as in the paper's figures.
fn sizes() -> Vec<Bytes> {
    (8..=20).map(|k| Bytes(1 << k)).collect()
}

fn measured(p: &PublishedSignature, noise: impl Fn(usize) -> f64) -> Vec<TimeSample> {
    sizes()
        .into_iter()
        .enumerate()
        .map(|(i, size)| {
            TimeSample::new(size, p.signature.alltoall(p.hosts, size) * (1.0 + noise(i)))
        })
        .collect()
}

#[test]
fn a_message_costs_delta_more_from_the_threshold_on() {
    // Section V.A: "each simultaneous communication induces an overload of 8.23 ms".
    let fast_ethernet = published()[0].signature;
    let (below, from) = (
        fast_ethernet.alltoall(24, Bytes(2047)),
        fast_ethernet.alltoall(24, Bytes(2048)),
    );
    assert!(
        (from - below - 23.0 * (8.23e-3 + 8e-8 * 1.0195)).abs() < 1e-9,
        "{}",
        from - below
    );
    assert_eq!(fast_ethernet.alltoall(1, Bytes(1 << 20)), 0.0);
    assert_eq!(fast_ethernet.alltoall(0, Bytes(1 << 20)), 0.0);
}

#[test]
fn times_by_hand() {
    // 40 hosts, 1 MiB, gigabit: 39 * (50 us + 1048576 * 8 ns * 4.3628 + 4.93 ms).
    let gigabit = published()[1].signature;
    assert!(
        (gigabit.alltoall(40, Bytes(1 << 20)) - 1.621_534_9).abs() < 1e-6,
        "{}",
        gigabit.alltoall(40, Bytes(1 << 20))
    );
}

#[test]
fn the_published_signatures_are_found_again() {
    for p in published() {
        let link = PingPongFit::known(p.signature.link());
        let exact = fit(p.hosts, &link, &measured(&p, |_| 0.0)).unwrap();
        let found = exact.signature;
        assert!(
            (found.gamma / p.signature.gamma - 1.0).abs() < 1e-9
                && (found.delta - p.signature.delta).abs() < 1e-9,
            "{exact:?}"
        );
        assert!(exact.worst < 1e-9, "{exact:?}");
        match p.signature.threshold {
            Bytes(0) => assert_eq!(exact.threshold, SizeThreshold::None),
            m => assert_eq!(
                exact.threshold,
                SizeThreshold::Between(Bytes(m.0 / 2), m),
                "{exact:?}"
            ),
        }
    }
}

#[test]
fn with_noise_other_host_numbers_are_predicted_within_the_papers_ten_percent() {
    // Three percent up and down, without a visible pattern.
    for p in published() {
        let fitted = fit(
            p.hosts,
            &PingPongFit::known(p.signature.link()),
            &measured(&p, |i| {
                [
                    0.03, -0.02, 0.01, -0.03, 0.02, 0.0, -0.01, 0.03, -0.03, 0.01, -0.02, 0.02,
                    -0.01,
                ][i]
            }),
        )
        .unwrap();
        for (n, size) in [4, 16, 60, 200]
            .into_iter()
            .flat_map(|n| sizes().into_iter().map(move |s| (n, s)))
        {
            let (predicted, truth) = (
                fitted.signature.alltoall(n, size),
                p.signature.alltoall(n, size),
            );
            assert!(
                (predicted / truth - 1.0).abs() < 0.1,
                "{n} hosts, {size:?}: {predicted} for {truth}; {fitted:?}"
            );
        }
        let within = |e: ParameterEstimate, truth: f64| (e.value - truth).abs() <= e.margin;
        assert!(within(fitted.gamma, p.signature.gamma), "{fitted:?}");
        assert!(
            p.signature.delta == 0.0 || within(fitted.delta, p.signature.delta),
            "{fitted:?}"
        );
    }
}

/// Normally distributed numbers: each is the sum of twelve uniform ones from a generator of its
/// own.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

#[test]
fn margins_hold_the_truth_as_often_as_they_promise() {
    let p = &published()[1];
    let link = p.signature.link();
    let mut normal = noise(2008);
    let (mut gamma, mut delta, mut threshold, mut fits) = (0, 0, 0, 0);
    for _ in 0..400 {
        let mut shaken = |time: f64, size| TimeSample::new(size, time * (1.0 + 0.03 * normal()));
        let pings: Vec<TimeSample> = sizes()
            .into_iter()
            .map(|s| shaken(link.seconds(s), s))
            .collect();
        let all: Vec<TimeSample> = sizes()
            .into_iter()
            .map(|s| shaken(p.signature.alltoall(p.hosts, s), s))
            .collect();
        let fitted = fit(p.hosts, &ping_pong(&pings).unwrap(), &all).unwrap();
        let within =
            |e: ParameterEstimate, truth: f64| u32::from((e.value - truth).abs() <= e.margin);
        gamma += within(fitted.gamma, p.signature.gamma);
        delta += within(fitted.delta, p.signature.delta);
        let SizeThreshold::Between(below, most) = fitted.threshold else {
            panic!("{fitted:?}")
        };
        threshold += u32::from(below < p.signature.threshold && p.signature.threshold <= most);
        fits += 1;
    }
    // 95 %, with a tolerance of three standard deviations of a count of 400.
    for (name, held) in [("gamma", gamma), ("delta", delta), ("threshold", threshold)] {
        assert!(held * 100 >= fits * 91, "{name}: {held} of {fits}");
    }
    assert!(
        gamma * 100 <= fits * 99 && delta * 100 <= fits * 99,
        "margins wider than promised: {gamma}, {delta} of {fits}"
    );
}

#[test]
fn a_ping_pong_gives_latency_and_bandwidth() {
    let gigabit = Hockney {
        alpha: 50e-6,
        beta: 8e-9,
    };
    let samples: Vec<TimeSample> = sizes()
        .into_iter()
        .map(|s| TimeSample::new(s, gigabit.seconds(s)))
        .collect();
    let found = ping_pong(&samples).unwrap();
    assert!(
        (found.alpha.value - 50e-6).abs() < 1e-12 && (found.beta.value - 8e-9).abs() < 1e-18,
        "{found:?}"
    );
    let shaken: Vec<TimeSample> = samples
        .iter()
        .zip([1.02, 0.99].into_iter().cycle())
        .map(|(s, f)| TimeSample::new(s.size, s.seconds * f))
        .collect();
    let found = ping_pong(&shaken).unwrap();
    assert!(
        (found.alpha.value - 50e-6).abs() <= found.alpha.margin
            && (found.beta.value - 8e-9).abs() <= found.beta.margin,
        "{found:?}"
    );
    assert!(
        found.alpha.margin < 3e-6 && found.beta.margin < 4e-10,
        "{found:?}"
    );
}

#[test]
fn an_uncertain_link_makes_gamma_and_delta_uncertain() {
    let p = &published()[1];
    let exact = PingPongFit::known(p.signature.link());
    let error = |value: f64| ParameterEstimate {
        value,
        error: 0.05 * value,
        margin: 0.1 * value,
    };
    let vague = PingPongFit {
        alpha: error(p.signature.alpha),
        beta: error(p.signature.beta),
        covariance: 0.0,
    };
    let samples = measured(p, |_| 0.0);
    let (sharp, blurred) = (
        fit(p.hosts, &exact, &samples).unwrap(),
        fit(p.hosts, &vague, &samples).unwrap(),
    );
    // Gamma is a quotient by beta, and alpha tilts the line a little.
    assert!(
        (0.05..0.06).contains(&(blurred.gamma.error / blurred.gamma.value)),
        "{blurred:?}"
    );
    assert!(
        sharp.gamma.error < 1e-6 * blurred.gamma.error && blurred.delta.error > sharp.delta.error,
        "{sharp:?} {blurred:?}"
    );
}

fn refused(n: u64, samples: &[(u64, f64)]) -> FitRefusal {
    let link = PingPongFit::known(Hockney {
        alpha: 50e-6,
        beta: 8e-9,
    });
    fit(
        n,
        &link,
        &samples
            .iter()
            .map(|&(size, t)| TimeSample::new(Bytes(size), t))
            .collect::<Vec<_>>(),
    )
    .unwrap_err()
}

#[test]
fn data_that_cannot_carry_a_signature_are_refused() {
    let growing = [(1000, 0.01), (2000, 0.02), (4000, 0.04), (8000, 0.08)];
    assert_eq!(
        refused(8, &growing[..3]),
        FitRefusal::TooFewSizes {
            series: SampleSeries::Alltoall,
            sizes: 3
        }
    );
    assert_eq!(
        refused(8, &[growing[0]; 9]),
        FitRefusal::TooFewSizes {
            series: SampleSeries::Alltoall,
            sizes: 1
        }
    );
    assert_eq!(refused(2, &growing), FitRefusal::TooFewHosts(2));
    let near = [(1000, 0.01), (1001, 0.01), (1002, 0.01), (1003, 0.01)];
    assert_eq!(
        refused(8, &near),
        FitRefusal::NoSpread {
            series: SampleSeries::Alltoall,
            smallest: 1000,
            largest: 1003
        }
    );
    assert!(matches!(
        refused(8, &[(1000, f64::NAN), growing[1], growing[2], growing[3]]),
        FitRefusal::Sample { size: 1000, .. }
    ));
    assert!(
        matches!(
            refused(8, &[(1000, 1e-5), (2000, 1e-5), (4000, 1e-5), (8000, 1e-5)]),
            FitRefusal::Slope { .. }
        ),
        "faster than alpha"
    );
    let wild = refused(
        8,
        &[(1000, 0.01), (2000, 0.0002), (4000, 0.0003), (8000, 0.0004)],
    );
    assert!(
        matches!(
            wild,
            FitRefusal::Uncertain {
                parameter: "gamma",
                ..
            } | FitRefusal::Slope { .. }
        ),
        "{wild}"
    );
    assert!(wild.to_string().starts_with("all-to-all: "), "{wild}");
}

#[test]
fn a_threshold_that_could_be_anywhere_is_refused_and_one_below_all_sizes_told() {
    let p = ContentionSignature {
        alpha: 50e-6,
        beta: 8e-9,
        gamma: 2.0,
        delta: 5e-3,
        threshold: Bytes(1),
    };
    let link = PingPongFit::known(p.link());
    let samples = |noise: [f64; 4]| -> Vec<TimeSample> {
        let sizes = [1u64 << 18, 1 << 20, 1 << 22, 1 << 24]
            .into_iter()
            .zip(noise);
        sizes
            .map(|(s, f)| TimeSample::new(Bytes(s), p.alltoall(16, Bytes(s)) * (1.0 + f)))
            .collect()
    };
    let clear = fit(16, &link, &samples([0.0; 4])).unwrap();
    assert_eq!(clear.threshold, SizeThreshold::AtMost(Bytes(1 << 18)));
    // All sizes pay a millisecond, and noise hides the size from which on they pay it.
    let slight = ContentionSignature { delta: 1e-3, ..p };
    let blurred = (16..).zip([-0.06, 0.03, 0.1, -0.03, 0.02]).map(|(k, f)| {
        TimeSample::new(
            Bytes(1 << k),
            slight.alltoall(16, Bytes(1 << k)) * (1.0 + f),
        )
    });
    let refused = fit(16, &link, &blurred.collect::<Vec<_>>()).unwrap_err();
    assert!(
        matches!(
            refused,
            FitRefusal::Threshold {
                smallest: 65_536,
                largest: 524_288,
                ..
            }
        ),
        "{refused}"
    );
    // A start-up time that is small compared with all measurements is lost in the noise: the
    // signature does without it.
    let drowned = fit(16, &link, &samples([0.05, -0.05, 0.05, -0.05])).unwrap();
    assert_eq!(
        (drowned.threshold, drowned.delta.value),
        (SizeThreshold::None, 0.0),
        "{drowned:?}"
    );
    assert!(
        (drowned.gamma.value - 2.0).abs() <= drowned.gamma.margin,
        "{drowned:?}"
    );
}

#[test]
fn a_link_without_latency_or_bandwidth_is_refused() {
    let link = |times: [f64; 4]| {
        let samples: Vec<TimeSample> = [64, 1024, 16384, 262_144]
            .into_iter()
            .zip(times)
            .map(|(s, t)| TimeSample::new(Bytes(s), t))
            .collect();
        ping_pong(&samples).unwrap_err()
    };
    assert!(matches!(
        link([4e-3, 3e-3, 2e-3, 1e-3]),
        FitRefusal::Slope {
            series: SampleSeries::PingPong,
            ..
        }
    ));
    assert!(matches!(
        link([1e-9, 2e-8, 3.6e-7, 5.6e-6]),
        FitRefusal::StartUp(_)
    ));
    assert!(
        matches!(link([1e-3, 1e-5, 1e-3, 2e-3]), FitRefusal::Uncertain { .. }),
        "{}",
        link([1e-3, 1e-5, 1e-3, 2e-3])
    );
    assert!(matches!(
        ping_pong(&[]).unwrap_err(),
        FitRefusal::TooFewSizes { sizes: 0, .. }
    ));
}

proptest! {
    #[test]
    fn any_signature_is_found_again(
        gamma in 1.0..8.0f64,
        delta in 1e-3..1e-2f64,
        k in 10u32..18,
        hosts in 4u64..300,
    ) {
        let signature = ContentionSignature {
            alpha: 50e-6,
            beta: 8e-9,
            gamma,
            delta,
            threshold: Bytes(1 << k),
        };
        let fitted = fit(
            hosts,
            &PingPongFit::known(signature.link()),
            &measured(&PublishedSignature { signature, hosts }, |_| 0.0),
        )
        .unwrap();
        prop_assert!(
            (fitted.gamma.value / gamma - 1.0).abs() < 1e-6
                && (fitted.delta.value / delta - 1.0).abs() < 1e-6
        );
        prop_assert_eq!(
            fitted.threshold,
            SizeThreshold::Between(Bytes(1 << (k - 1)), Bytes(1 << k))
        );
    }

    #[test]
    fn whatever_is_measured_is_fitted_or_refused(
        samples in prop::collection::vec((any::<u64>(), any::<f64>(), any::<f64>()), 0..9),
        n in any::<u64>(),
    ) {
        let samples: Vec<TimeSample> = samples
            .into_iter()
            .map(|(s, seconds, error)| TimeSample {
                size: Bytes(s),
                seconds,
                error,
            })
            .collect();
        let link = ping_pong(&samples).unwrap_or(PingPongFit::known(Hockney {
            alpha: 1e-5,
            beta: 1e-8,
        }));
        if let Ok(fitted) = fit(n, &link, &samples) {
            prop_assert!(
                fitted.gamma.value > 0.0
                    && fitted.delta.value >= 0.0
                    && fitted.gamma.margin < fitted.gamma.value,
                "{:?}",
                fitted
            );
        }
    }
}
