use super::*;
use crate::text::encode;
use proptest::prelude::*;

fn text(ability: Ability, host: &str, env: &[(&str, &str)]) -> Published {
    Published::Text(encode(&Presence::here(ability, host, |name| {
        env.iter().find(|p| p.0 == name).map(|p| p.1.to_owned())
    })))
}

fn alike(host: &str) -> Published {
    text(Ability::Serves, host, &[])
}

/// The line about four ranks of which one is another.
fn with(at: usize, other: Published) -> Difference {
    let mut ranks: Vec<Published> = (0..4).map(|rank| alike(&format!("n{rank}"))).collect();
    ranks[at] = other;
    first_difference(&ranks).expect("one differs")
}

#[test]
fn ranks_alike_on_different_hosts_do_not_differ() {
    let ranks: Vec<Published> = (0..4).map(|rank| alike(&format!("n{rank}"))).collect();
    assert_eq!(first_difference(&ranks), None);
    assert_eq!(first_difference(&ranks[..0]), None);
}

#[test]
fn the_rank_that_differs_is_named_wherever_it_is() {
    for at in 0..4 {
        let host = format!("n{at}");
        let speaker = Some(usize::from(at == 0));
        let absent = with(at, Published::Nothing(Some(host.clone())));
        let off = with(at, text(Ability::Off, &host, &[]));
        let later = with(at, text(Ability::Serves, &host, &[("HEDDLE_AFTER", "7")]));
        let setting = What::Setting("HEDDLE_AFTER", "7".to_owned(), String::new());
        for (found, what) in [(absent, What::Absent), (off, What::Off), (later, setting)] {
            let expected = Difference {
                at,
                host: Some(host.clone()),
                what,
                ranks: 1,
                speaker,
            };
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn each_difference_is_reported_with_its_cure() {
    let Published::Text(plain) = alike("n2") else {
        panic!("a text");
    };
    let older = plain.replace(crate::BUILD, "0.0.9+abc");
    for (other, output) in [
        (
            Published::Nothing(None),
            "heddle is not loaded there: load it on all",
        ),
        (text(Ability::Off, "n2", &[]), "HEDDLE=off is set there"),
        (
            text(Ability::NoBackend, "n2", &[]),
            "no backend for the MPI library there",
        ),
        (
            Published::Text(older),
            "heddle there is 0.0.9+abc, elsewhere 0.1.0+",
        ),
        (
            Published::Text("7 of another form".to_owned()),
            "another version",
        ),
        (
            text(Ability::Serves, "n2", &[("HEDDLE_FORCE", "aapc,ring")]),
            "HEDDLE_FORCE is aapc,ring there and is not set elsewhere: set it alike",
        ),
        (
            text(Ability::Serves, "n2", &[("HEDDLE_TURNS", "native")]),
            "HEDDLE_TURNS is native there",
        ),
    ] {
        let what = with(2, other).what.to_string();
        assert!(what.contains(output), "{what}");
    }
}

#[test]
fn of_two_halves_the_lower_ranks_speak() {
    let half = |first: Published, second: Published| {
        first_difference(&[first.clone(), first, second.clone(), second])
    };
    let after = || text(Ability::Serves, "n9", &[("HEDDLE_AFTER", "0")]);
    let found = half(alike("n0"), after()).expect("they differ");
    assert_eq!((found.at, found.ranks, found.speaker), (2, 2, Some(0)));
    let found = half(Published::Nothing(None), after()).expect("they differ");
    assert_eq!((found.at, found.ranks, found.speaker), (0, 2, Some(2)));
    // Nobody serves, so nobody meets.
    let found = half(Published::Nothing(None), text(Ability::Off, "n0", &[])).expect("none serves");
    assert_eq!((found.at, found.ranks, found.speaker), (0, 4, None));
}

proptest! {
    /// Whatever ranks publish, every rank that reads it comes to the same, and only ranks that all
    /// serve with one common text are alike.
    #[test]
    fn hostile_texts_differ_and_harm_nobody(texts in prop::collection::vec(prop::option::of("[0-9:_]{0,9}|.*"), 1..6)) {
        let ranks: Vec<Published> = (texts.into_iter())
            .map(|text| text.map_or(Published::Nothing(None), Published::Text))
            .chain([alike("n0")])
            .collect();
        let found = first_difference(&ranks).expect("one of them is not heddle's");
        prop_assert!(found.at < ranks.len() && found.ranks < ranks.len());
        prop_assert_eq!(found.speaker, Some(ranks.len() - 1));
        prop_assert!(!found.what.to_string().is_empty());
    }
}
