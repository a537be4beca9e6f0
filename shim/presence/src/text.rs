//! The form in which launchers carry a presence: one line of few hundred octets, without blanks.
//! Launchers split their lines at blanks and at `=`, so only letters, digits and a few marks stay as
//! they are.
use crate::{Ability, DecidingSettings, Presence};

/// The version of this form. Whoever changes it changes this.
const FORM: &str = "1";
/// Octets of a text at most; the shortest limit of a launcher is 1,024 (PMI-1 of Hydra and Slurm).
pub const LONGEST: usize = 1000;
/// Characters of one field as they are; longer ones travel as a digest. Each may become three
/// octets.
const FIELD: usize = 64;

/// A text as it is if it is short, else a digest of it, which differs if the text does.
pub(crate) fn bounded(text: &str) -> String {
    if text.len() <= FIELD {
        return text.to_owned();
    }
    format!("digest-{:016x}", digest(text))
}

/// FNV-1a, as http://www.isthe.com/chongo/tech/comp/fnv/ gives it: the standard library's hashes may change with
/// the compiler.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The text of a presence.
pub fn encode(presence: &Presence) -> String {
    let ability = match presence.ability {
        Ability::Serves => "on",
        Ability::Off => "off",
        Ability::NoBackend => "no-backend",
    };
    let settings = &presence.settings;
    let after = settings.after.map(|n| n.to_string()).unwrap_or_default();
    let fields = [
        FORM,
        &presence.build,
        ability,
        &after,
        &settings.force,
        &settings.turns,
        &presence.host,
    ];
    fields.map(escaped).join(":")
}

/// The presence in a text; `None` where another version wrote it in another form, or nobody of
/// heddle did.
pub fn decode(text: &str) -> Option<Presence> {
    if text.len() > LONGEST {
        return None;
    }
    let fields: Vec<String> = text.split(':').map(unescaped).collect::<Option<_>>()?;
    let [form, build, ability, after, force, turns, host] = fields.try_into().ok()?;
    let ability = match ability.as_str() {
        "on" => Ability::Serves,
        "off" => Ability::Off,
        "no-backend" => Ability::NoBackend,
        _ => return None,
    };
    let after = match after.as_str() {
        "" => None,
        number => Some(number.parse().ok()?),
    };
    let presence = Presence {
        build,
        ability,
        settings: DecidingSettings {
            after,
            force,
            turns,
        },
        host,
    };
    // A text that is read has one form: two ranks that compare texts come to the same.
    (form == FORM && encode(&presence) == text).then_some(presence)
}

/// A number in which presences differ that must not.
pub fn common_digest(presence: &Presence) -> u64 {
    digest(common_part(&encode(presence)))
}

/// The part that must be alike on all ranks: all but the host, which is last.
pub(crate) fn common_part(text: &str) -> &str {
    text.rsplit_once(':').map_or(text, |(common, _)| common)
}

/// A field, with `_` and two hexadecimal digits in place of every other octet.
fn escaped(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    for octet in field.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b',' | b'+' | b'-' => {
                text.push(char::from(octet));
            }
            other => text.push_str(&format!("_{other:02x}")),
        }
    }
    text
}

fn unescaped(field: &str) -> Option<String> {
    let mut octets = field.bytes();
    let mut plain = Vec::with_capacity(field.len());
    while let Some(octet) = octets.next() {
        plain.push(if octet == b'_' {
            let digits = [octets.next()?, octets.next()?];
            u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
        } else {
            octet
        });
    }
    String::from_utf8(plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BUILD;
    use proptest::prelude::*;

    fn presence(force: &str, host: &str) -> Presence {
        Presence::here(Ability::Serves, host, |name| match name {
            "HEDDLE_AFTER" => Some("4096".to_owned()),
            "HEDDLE_FORCE" => Some(force.to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_text_has_no_blank_and_a_known_form() {
        let text = encode(&presence("aapc sender,ring\n", "n0_a"));
        assert_eq!(
            text,
            format!("1:{BUILD}:on:4096:aapc_20sender,ring_0a::n0_5fa")
        );
    }

    #[test]
    fn long_settings_travel_as_digests_that_differ() {
        let long = |last: char| "native,".repeat(40) + &last.to_string();
        let [a, b] = ['a', 'b'].map(|last| presence(&long(last), &long(last)));
        assert_ne!(a.settings.force, b.settings.force);
        assert!(encode(&a).len() < 200, "{}", encode(&a));
    }

    #[test]
    fn digests_differ_by_version_and_settings_and_not_by_host() {
        let here = presence("ring", "n0");
        let older = Presence {
            build: "0.0.9+abc".to_owned(),
            ..here.clone()
        };
        let digests = [presence("ring", "n1"), presence("aapc", "n0"), older];
        let are_alike = digests.map(|other| common_digest(&other) == common_digest(&here));
        assert_eq!(are_alike, [true, false, false]);
    }

    #[test]
    fn what_nobody_of_heddle_wrote_is_no_presence() {
        let good = encode(&presence("ring", "n0"));
        assert!(decode(&good).is_some());
        for bad in [
            String::new(),
            ":".repeat(6),
            good.replacen('1', "2", 1),
            good.replace(":on:", ":maybe:"),
            good.replace("4096", "04096"),
            good.replace("4096", "-1"),
            good.replace("ring", "r_6"),
            good.replace("ring", "_72ing"),
            good.replace("ring", "r_zz"),
            good.replace("ring", "r_ff"),
            format!("{good}:more"),
            format!("{good}\n"),
            good.replace("ring", &"r".repeat(1000)),
        ] {
            assert_eq!(decode(&bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_presence_comes_back(force in ".*", host in ".*", after: Option<u64>) {
            let mut presence = presence(&force, &host);
            presence.settings.after = after;
            let text = encode(&presence);
            prop_assert!(text.len() <= LONGEST, "{} octets", text.len());
            prop_assert!(text.bytes().all(|octet| octet.is_ascii_graphic() && octet != b'='));
            prop_assert_eq!(decode(&text), Some(presence));
        }

        #[test]
        fn no_text_is_too_odd(text in "[0-9a-f:_on.+-]{0,40}|.*") {
            if let Some(presence) = decode(&text) {
                prop_assert_eq!(encode(&presence), text);
            }
        }
    }
}
