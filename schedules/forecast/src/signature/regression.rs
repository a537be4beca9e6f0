//! Weighted least squares for a handful of parameters, by the normal equations.

/// One measurement: `y` should be the product of `x` and the parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegressionRow<const P: usize> {
    pub(super) x: [f64; P],
    pub(super) y: f64,
    /// The inverse of the measurement's variance, up to a factor that all rows share.
    pub(super) weight: f64,
}

/// The parameters that fit best.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegressionSolution<const P: usize> {
    pub(super) value: [f64; P],
    /// Covariance of the parameters for measurements of variance `1 / weight`.
    pub(super) covariance: [[f64; P]; P],
    /// Weighted sum of the squared residuals.
    pub(super) residue: f64,
}

/// A column of length 1 counts as dependent on the columns before it if less than this is left of
/// it.
const INDEPENDENT: f64 = 1e-12;

/// Solves the normal equations; `None` if the rows do not determine every parameter.
pub(super) fn solve<const P: usize>(rows: &[RegressionRow<P>]) -> Option<RegressionSolution<P>> {
    // Columns are scaled to length 1: sizes in octets and a column of ones differ by many orders of
    // magnitude.
    let mut length = [0.0; P];
    rows.iter()
        .for_each(|r| (0..P).for_each(|i| length[i] += r.weight * r.x[i] * r.x[i]));
    let length = length.map(f64::sqrt);
    if length.iter().any(|&l| l == 0.0 || !l.is_finite()) {
        return None;
    }
    let mut normal = [[0.0; P]; P];
    let mut right = [0.0; P];
    for r in rows {
        let scaled: [f64; P] = std::array::from_fn(|i| r.x[i] / length[i]);
        for i in 0..P {
            right[i] += r.weight * scaled[i] * r.y;
            (0..P).for_each(|j| normal[i][j] += r.weight * scaled[i] * scaled[j]);
        }
    }
    let inverse = invert(normal)?;
    let mut value = [0.0; P];
    let mut covariance = [[0.0; P]; P];
    for i in 0..P {
        value[i] = (0..P).map(|j| inverse[i][j] * right[j]).sum::<f64>() / length[i];
        (0..P).for_each(|j| covariance[i][j] = inverse[i][j] / (length[i] * length[j]));
    }
    let residue = rows
        .iter()
        .map(|r| r.weight * (r.y - dot(&r.x, &value)).powi(2))
        .sum();
    Some(RegressionSolution {
        value,
        covariance,
        residue,
    })
}

fn dot<const P: usize>(x: &[f64; P], value: &[f64; P]) -> f64 {
    x.iter().zip(value).map(|(x, v)| x * v).sum()
}

/// Gauss-Jordan on a symmetric positive definite matrix with a diagonal of ones, which needs no
/// pivoting.
fn invert<const P: usize>(mut a: [[f64; P]; P]) -> Option<[[f64; P]; P]> {
    let mut inverse = [[0.0; P]; P];
    (0..P).for_each(|i| inverse[i][i] = 1.0);
    for i in 0..P {
        let pivot = a[i][i];
        if pivot.is_nan() || pivot < INDEPENDENT {
            return None;
        }
        for j in 0..P {
            a[i][j] /= pivot;
            inverse[i][j] /= pivot;
        }
        for k in (0..P).filter(|&k| k != i) {
            let factor = a[k][i];
            for j in 0..P {
                a[k][j] -= factor * a[i][j];
                inverse[k][j] -= factor * inverse[i][j];
            }
        }
    }
    Some(inverse)
}

/// The 97.5 % quantile of Student's t distribution: the 95 % margin is a standard error times this.
pub(super) fn student(freedom: usize) -> f64 {
    /// For 1 to 10 degrees of freedom. For more, the expansion below is exact to 0.001.
    const FEW: [f64; 10] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=10 => FEW[freedom - 1],
        _ => {
            // Cornish-Fisher about the normal quantile (Abramowitz and Stegun 26.7.5).
            let (z, v) = (1.959_964_f64, freedom as f64);
            z + (z.powi(3) + z) / (4.0 * v)
                + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * v.powi(2))
                + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z)
                    / (384.0 * v.powi(3))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64, f64)]) -> Vec<RegressionRow<2>> {
        points
            .iter()
            .map(|&(x, y, weight)| RegressionRow {
                x: [1.0, x],
                y,
                weight,
            })
            .collect()
    }

    #[test]
    fn a_textbook_line_with_its_standard_errors() {
        // Heights and masses of the usual example: intercept -39.062 (2.9380), slope 61.272
        // (1.7759).
        let heights = [
            1.47, 1.50, 1.52, 1.55, 1.57, 1.60, 1.63, 1.65, 1.68, 1.70, 1.73, 1.75, 1.78, 1.80,
            1.83,
        ];
        let masses = [
            52.21, 53.12, 54.48, 55.84, 57.20, 58.57, 59.93, 61.29, 63.11, 64.47, 66.28, 68.10,
            69.92, 72.19, 74.46,
        ];
        let points: Vec<_> = heights
            .iter()
            .zip(masses)
            .map(|(&x, y)| (x, y, 1.0))
            .collect();
        let s = solve(&line(&points)).unwrap();
        assert!(
            (s.value[0] + 39.062).abs() < 0.001 && (s.value[1] - 61.272).abs() < 0.001,
            "{s:?}"
        );
        let error = |i: usize| (s.covariance[i][i] * s.residue / 13.0).sqrt();
        assert!(
            (error(0) - 2.9380).abs() < 0.001 && (error(1) - 1.7759).abs() < 0.001,
            "{} {}",
            error(0),
            error(1)
        );
        assert!((student(13) - 2.1604).abs() < 0.001, "{}", student(13));
    }

    #[test]
    fn a_weight_counts_as_that_many_measurements() {
        let once = [(1.0, 2.0, 3.0), (2.0, 3.5, 1.0), (4.0, 5.0, 2.0)];
        let repeated: Vec<_> = once
            .iter()
            .flat_map(|&(x, y, w)| std::iter::repeat_n((x, y, 1.0), w as usize))
            .collect();
        let (a, b) = (
            solve(&line(&once)).unwrap(),
            solve(&line(&repeated)).unwrap(),
        );
        assert!((a.value[0] - b.value[0]).abs() < 1e-12 && (a.value[1] - b.value[1]).abs() < 1e-12);
        assert!((a.residue - b.residue).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_determined_is_refused() {
        assert!(
            solve(&line(&[(3.0, 1.0, 1.0), (3.0, 2.0, 1.0)])).is_none(),
            "one size tells no slope"
        );
        assert!(solve::<2>(&[]).is_none());
    }

    #[test]
    fn quantiles_of_student() {
        for (freedom, quantile) in [
            (1, 12.706),
            (10, 2.228),
            (11, 2.201),
            (20, 2.086),
            (30, 2.042),
            (120, 1.980),
            (100_000, 1.960),
        ] {
            assert!(
                (student(freedom) - quantile).abs() < 0.001,
                "{freedom}: {}",
                student(freedom)
            );
        }
        assert!(student(0).is_infinite());
    }
}
