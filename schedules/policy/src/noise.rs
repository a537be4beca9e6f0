//! The error of a difference of two measured figures.

/// The standard error of a sum or a difference, from those of its two independent parts. `hypot` of the
/// C library would be the one function that binds heddle to glibc 2.35; RHEL 9 has 2.34.
pub fn of_both(one: f64, other: f64) -> f64 {
    (one * one + other * other).sqrt()
}

#[cfg(test)]
mod tests {
    use super::of_both;

    #[test]
    fn errors_add_like_the_sides_of_a_triangle() {
        assert_eq!(of_both(3.0, 4.0), 5.0);
        assert_eq!(of_both(0.0, 2.5e9), 2.5e9);
    }
}
