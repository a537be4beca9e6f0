//! The order in which names are shown.

/// A name's place in [`natural`] order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct NaturalKey(Vec<(String, u64)>, String);

/// A key that sorts names as people do: `n2` before `n10`.
pub fn natural(name: &str) -> NaturalKey {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (text, after) = rest.split_at(digits);
        let end = after
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        key.push((text.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = after;
    }
    // The name itself distinguishes n1 from n01.
    NaturalKey(key, name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn numbers_count_as_numbers() {
        let mut names = [
            "n10",
            "n2",
            "rack1-n3",
            "n1",
            "n",
            "rack1-n20",
            "99999999999999999999999",
            "a",
        ];
        names.sort_by_cached_key(|n| natural(n));
        assert_eq!(
            names,
            [
                "99999999999999999999999",
                "a",
                "n1",
                "n2",
                "n10",
                "n",
                "rack1-n3",
                "rack1-n20"
            ]
        );
        assert!(natural("n1") != natural("n01"));
    }
}
