//! The order in which names are shown.

/// A name's place in [`natural`] order: each text and the number after it, so that octets are in the order
/// of names; at last the name itself, which distinguishes n1 from n01.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct NaturalKey(Vec<u8>);

/// A key that sorts names as people do: `n2` before `n10`.
pub fn natural(name: &str) -> NaturalKey {
    let mut order = Vec::with_capacity(2 * name.len() + 22);
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
        // A text ends with two zeros, which are less than any octets that go on.
        for octet in text.bytes() {
            order.push(octet);
            order.extend((octet == 0).then_some(1));
        }
        order.extend([0, 0]);
        let number: u64 = number.parse().unwrap_or(u64::MAX);
        order.extend(number.to_be_bytes());
        rest = after;
    }
    // The end of the name. Where another name goes on, it does so with a text, which sorts after two zeros.
    order.extend([0, 0]);
    order.extend(name.bytes());
    NaturalKey(order)
}

#[cfg(test)]
mod tests {
    use super::natural;
    use proptest::prelude::*;

    /// The texts of a name, each with the number after it.
    fn parts(name: &str) -> Vec<(String, u64)> {
        let text: String = name.chars().take_while(|c| !c.is_ascii_digit()).collect();
        let rest = &name[text.len()..];
        let digits: String = rest.chars().take_while(|c| c.is_ascii_digit()).collect();
        match name {
            "" => Vec::new(),
            _ => {
                let first = (text, digits.parse().unwrap_or(u64::MAX));
                let others = parts(&rest[digits.len()..]);
                std::iter::once(first).chain(others).collect()
            }
        }
    }

    proptest! {
        #[test]
        fn keys_are_in_the_order_of_texts_and_numbers(
            [a, b] in prop::array::uniform2("[ab\u{0}\u{1}-é0-2]{0,6}"),
        ) {
            let order = (parts(&a), &a).cmp(&(parts(&b), &b));
            prop_assert_eq!(natural(&a).cmp(&natural(&b)), order);
        }
    }

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
