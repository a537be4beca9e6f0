//! Port names as operators write them: `Gi1/0/3` for `GigabitEthernet1/0/3`.

/// The words of vendors before a port's number, and the usual short forms: Cisco's IOS, IOS XR and
/// NX-OS, HPE's Comware, Huawei's VRP. Juniper's and Linux' names are short already.
const SHORT: [(&str, &str); 26] = [
    ("FastEthernet", "Fa"),
    ("GigabitEthernet", "Gi"),
    ("TwoGigabitEthernet", "Tw"),
    ("FiveGigabitEthernet", "Fi"),
    ("TenGigabitEthernet", "Te"),
    ("TenGigE", "Te"),
    ("TwentyFiveGigabitEthernet", "Twe"),
    ("TwentyFiveGigE", "Twe"),
    ("FortyGigabitEthernet", "Fo"),
    ("FortyGigE", "Fo"),
    ("FiftyGigE", "Fi"),
    ("HundredGigabitEthernet", "Hu"),
    ("HundredGigE", "Hu"),
    ("TwoHundredGigE", "TH"),
    ("FourHundredGigE", "FH"),
    ("Ethernet", "Eth"),
    ("Port-channel", "Po"),
    ("Bundle-Ether", "BE"),
    ("Ten-GigabitEthernet", "XGE"),
    ("Twenty-FiveGigE", "25GE"),
    ("XGigabitEthernet", "XGE"),
    ("Bridge-Aggregation", "BAGG"),
    ("Management", "Ma"),
    ("Loopback", "Lo"),
    ("Vlan-interface", "Vl"),
    ("Vlan", "Vl"),
];

/// The short form of a port's name; the name itself if none is known.
pub(crate) fn short(port: &str) -> String {
    let number = port.find(|c: char| c.is_ascii_digit());
    if let Some((words, number)) = number.map(|at| port.split_at(at)) {
        let words = words.trim_end();
        let known = SHORT
            .iter()
            .find(|(long, _)| long.eq_ignore_ascii_case(words));
        if let Some((_, short)) = known {
            return format!("{short}{number}");
        }
    }
    slot(port).unwrap_or_else(|| port.to_owned())
}

/// The ports of switches that describe them as `Slot: 0 Port: 17 Gigabit - Level`.
fn slot(port: &str) -> Option<String> {
    let mut words = port.strip_prefix("Slot:")?.split_whitespace();
    let slot = words.next()?;
    // Between them stands "Port:".
    let number = words.nth(1)?;
    Some(format!("{slot}/{number}"))
}

/// `text` in at most `width` cells: what does not fit goes from the middle, because names of one
/// site differ at their ends.
pub(crate) fn middle(text: &str, width: usize) -> String {
    if text.chars().map(cells).sum::<usize>() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let mut end = take(&mut text.chars().rev(), room.div_ceil(2));
    end.reverse();
    let begin = take(&mut text.chars(), room / 2);
    let dots = if width > 0 { "…" } else { "" };
    begin.into_iter().collect::<String>() + dots + &end.into_iter().collect::<String>()
}

fn cells(c: char) -> usize {
    ratatui::text::Span::raw(c.to_string()).width()
}

fn take(chars: &mut dyn Iterator<Item = char>, mut room: usize) -> Vec<char> {
    let mut taken = Vec::new();
    for c in chars {
        let Some(left) = room.checked_sub(cells(c)) else {
            break;
        };
        room = left;
        taken.push(c);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_written_as_operators_do() {
        for (long, expected) in [
            ("GigabitEthernet1/0/17", "Gi1/0/17"),
            ("TenGigabitEthernet1/1/1", "Te1/1/1"),
            ("TwentyFiveGigE1/0/1", "Twe1/0/1"),
            ("HundredGigE0/0/0/1", "Hu0/0/0/1"),
            ("Ethernet1/1", "Eth1/1"),
            ("ethernet 1/1", "Eth1/1"),
            ("port-channel12", "Po12"),
            ("Ten-GigabitEthernet1/0/50", "XGE1/0/50"),
            ("Slot: 0 Port: 17 Gigabit - Level", "0/17"),
            ("xe-0/0/1", "xe-0/0/1"),
            ("et-0/0/1.0", "et-0/0/1.0"),
            ("swp3", "swp3"),
            ("eth0", "eth0"),
            ("enp1s0f0", "enp1s0f0"),
            ("17", "17"),
            ("", ""),
            ("Ethernet", "Ethernet"),
            ("EthernetGreatness1", "EthernetGreatness1"),
            ("Slot:", "Slot:"),
            ("端口1", "端口1"),
        ] {
            assert_eq!(short(long), expected, "{long}");
        }
    }

    #[test]
    fn the_middle_goes_first() {
        assert_eq!(
            [
                middle("compute-rack7-017", 17),
                middle("compute-rack7-017", 10),
                middle("compute-rack7-017", 4),
                middle("compute-rack7-017", 1),
                middle("compute-rack7-017", 0)
            ],
            ["compute-rack7-017", "comp…7-017", "c…17", "…", ""]
        );
        assert_eq!(middle("交换机柜", 5), "交…柜");
    }
}
