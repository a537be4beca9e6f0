//! Whether it is clear which of two ways is faster, while their calls are still timed.
//!
//! Input: pairs of times, in their order. Guarantee: of pairs that do not differ, fewer than one in
//! a hundred series ends too early: the limit is wider than that of a single look (Pocock, Group
//! sequential methods in the design and analysis of clinical trials, 1977).

/// The first pairs make plans and connections.
const FIRST: usize = 2;
/// Fewer pairs do not tell their own spread.
const LEAST: usize = 6;
/// So many standard errors between the mean and 0.
const LIMIT: f64 = 4.0;

/// True if the logarithms of the ratios differ from 0 by more than their noise.
pub(crate) fn is_clear(pairs: &[(f64, f64)]) -> bool {
    let ratios: Vec<f64> = pairs
        .iter()
        .skip(FIRST)
        .map(|(one, other)| (other / one).ln())
        .collect();
    if ratios.len() < LEAST {
        return false;
    }
    let number = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / number;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    let error = (squares / (number - 1.0) / number).sqrt();
    mean.abs() > LIMIT * error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(ratios: &[f64]) -> Vec<(f64, f64)> {
        ratios.iter().map(|ratio| (2.0, 2.0 * ratio)).collect()
    }

    #[test]
    fn a_large_difference_is_clear_soon_and_noise_never() {
        let faster = pairs(&[9.0, 9.0, 0.7, 0.72, 0.69, 0.7, 0.71, 0.7]);
        assert!(is_clear(&faster) && !is_clear(&faster[..7]));
        let alike = pairs(&[1.0, 1.0, 0.9, 1.1, 1.05, 0.95, 1.0, 1.02, 0.97, 1.01]);
        assert!(!is_clear(&alike));
        assert!(!is_clear(&[]));
    }
}
