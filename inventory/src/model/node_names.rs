//! The names of nodes and networks.

/// True if a text can name a switch or host: 1 to 64 letters, digits, `-`, `_` or `.`.
pub fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(is_name_character)
}

/// True if a text can name a network, which is the name of a folder in epochs, too.
pub fn is_network_name(name: &str) -> bool {
    is_name(name) && !name.starts_with('.')
}

/// The text with a hyphen for each character that names do not allow. Its length stays.
pub fn plain_name(text: &str) -> String {
    text.chars()
        .map(|c| if is_name_character(c) { c } else { '-' })
        .collect()
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}
