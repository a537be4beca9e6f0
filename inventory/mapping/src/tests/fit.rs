//! How well a tree fits, by rounds that are written down.
use crate::host_rates::HostRates;
use crate::likelihood::Measurements;
use crate::misfit::is_doubtful;
use crate::rounds::{HostFlow, MeasuredRound};
use crate::sharing::SharingRule;
use crate::{HostSet, TrunkRates};

const CABLE: f64 = 20e6;

/// Two hosts on either side of a trunk of a host's rate, of which the first flow takes this part.
fn rounds(parts: &[f64]) -> Vec<MeasuredRound> {
    let flows = [(0, 2), (1, 3)].map(|(from, to)| HostFlow { from, to });
    parts
        .iter()
        .map(|part| MeasuredRound::new(&flows, &[part * CABLE, (1.0 - part) * CABLE]))
        .collect()
}

fn measurements(rounds: &[MeasuredRound]) -> Measurements<'_> {
    let own = HostRates {
        sends: CABLE,
        receives: CABLE,
    };
    Measurements::new(&[own; 4], rounds, SharingRule::ByArrival)
}

fn trunks() -> [(HostSet, TrunkRates); 1] {
    [((2..4).collect(), TrunkRates::both(CABLE))]
}

#[test]
fn the_wider_the_parts_lie_the_less_a_difference_counts() {
    let even = rounds(&[0.5, 0.51, 0.49, 0.5]);
    let uneven = rounds(&[0.7, 0.3, 0.72, 0.28]);
    assert_eq!(measurements(&even).dispersion(&trunks()), 1.0);
    let wide = measurements(&uneven).dispersion(&trunks());
    // Half of the logarithms of 1.4, 0.6, 1.44 and 0.56 are 0.36 and more; 0.075 fits.
    assert!((20.0..60.0).contains(&wide), "{wide}");
}

#[test]
fn trees_that_fit_are_in_no_doubt() {
    let (even, uneven) = (rounds(&[0.5; 6]), rounds(&[0.8, 0.2, 0.8, 0.2, 0.8, 0.2]));
    assert!(!is_doubtful(measurements(&even).fit(&trunks())));
    assert!(is_doubtful(measurements(&uneven).fit(&trunks())));
    // Without the trunk every flow is too slow.
    let mut without = measurements(&even);
    assert!(is_doubtful(without.fit(&[])) && without.unexplained(&[]) == 1.0);
    assert_eq!(without.unexplained(&trunks()), 0.0);
}

#[test]
fn a_slow_receiver_takes_nothing_from_the_trunk() {
    let hosts = [own(CABLE), own(CABLE), own(CABLE), own(CABLE / 10.0)];
    let flows = [(0, 2), (1, 3)].map(|(from, to)| HostFlow { from, to });
    let rates = crate::likelihood::expected(SharingRule::ByArrival, &hosts, &flows, &trunks());
    // Its sender fills half of the trunk nevertheless.
    assert_eq!([rates[0].0, rates[1].0], [CABLE / 2.0, CABLE / 10.0]);
}

fn own(receives: f64) -> HostRates {
    HostRates {
        sends: CABLE,
        receives,
    }
}

/// Two flows fill a trunk of twice their rate exactly.
#[test]
fn flows_that_fill_a_trunk_exactly_are_held_against_it_only_if_they_are_slow() {
    let trunk = [((2..4).collect(), TrunkRates::both(2.0 * CABLE))];
    let flows = [(0, 2), (1, 3)].map(|(from, to)| HostFlow { from, to });
    let all = |rate: f64| vec![MeasuredRound::new(&flows, &[rate, rate]); 15];
    let (fast, slow) = (all(CABLE), all(CABLE / 2.0));
    let mut fit = measurements(&fast);
    assert!(!is_doubtful(fit.fit(&trunk)) && fit.unexplained(&trunk) == 0.0);
    // It costs them less than half of what a flow over a slower trunk would.
    let cost = fit.log_likelihood(&[]) - fit.log_likelihood(&trunk);
    assert!((0.0..30.0 * 0.35).contains(&cost), "{cost}");
    let mut unfit = measurements(&slow);
    assert!(is_doubtful(unfit.fit(&trunk)) && unfit.unexplained(&trunk) == 1.0);
}

/// In most rounds other traffic takes a part of the trunk, each time another one.
#[test]
fn a_trunk_carries_what_it_carries_in_the_rounds_that_agree() {
    let flows = [(0, 2), (1, 3)].map(|(from, to)| HostFlow { from, to });
    let left = [0.6, 1.0, 0.8, 0.99, 0.7, 1.01, 0.85, 0.9, 1.0, 0.75];
    let rounds: Vec<MeasuredRound> = left
        .iter()
        .map(|left| MeasuredRound::new(&flows, &[left * CABLE / 2.0; 2]))
        .collect();
    let carried = measurements(&rounds).carried(&trunks())[0].least();
    assert!((carried / CABLE - 1.0).abs() < 0.01, "{carried}");
}
