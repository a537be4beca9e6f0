//! Man pages. The text of a page besides the flags comes from one table, from which `--help` takes its
//! examples, too; the pages of files are the documents themselves.
mod pages;
mod roff_text;

use inventory::environment::{VARIABLES, VariableReader};
use pages::{CommandPage, PAGES};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The commands with the examples, files and variables of the table in their long help.
pub(crate) fn described(mut cli: clap::Command) -> clap::Command {
    for page in PAGES {
        cli = cli.mut_subcommand(page.command, |command| command.after_long_help(help(page)));
    }
    cli
}

fn page(command: &str) -> Option<&'static CommandPage> {
    PAGES.iter().find(|page| page.command == command)
}

/// The sections of a page as text, each with its heading.
fn sections(page: &CommandPage) -> Vec<(&'static str, String)> {
    let examples = page
        .examples
        .iter()
        .map(|(purpose, line)| format!("{purpose}:\n\n    {line}\n"));
    let files = page
        .files
        .iter()
        .map(|(file, meaning)| format!("{file}\n    {meaning}\n"));
    let variables = VARIABLES
        .iter()
        .filter(|v| page.variables.contains(&v.name))
        .map(|v| format!("{}\n    {}\n", v.name, v.meaning.replace('`', "")));
    let others = page.see_also.iter().map(|other| match other.contains('(') {
        true => (*other).to_owned(),
        false => format!("heddle-{other}(1)"),
    });
    let also: Vec<String> = others.collect();
    [
        ("EXAMPLES", examples.collect::<Vec<_>>().join("\n")),
        ("FILES", files.collect()),
        ("ENVIRONMENT", variables.collect()),
        ("SEE ALSO", also.join(", ")),
    ]
    .into_iter()
    .filter(|(_, text)| !text.is_empty())
    .collect()
}

fn help(page: &CommandPage) -> String {
    let shown = sections(page).into_iter().map(|(heading, text)| {
        let lines: Vec<String> = text
            .lines()
            .map(|l| format!("  {l}").trim_end().to_owned())
            .collect();
        let (first, rest) = heading.split_at(1);
        format!("{first}{}:\n{}\n", rest.to_lowercase(), lines.join("\n"))
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// Writes all pages.
pub(crate) fn write(cli: clap::Command, folder: &Path) -> io::Result<()> {
    let files = match folder.file_name() {
        Some(name) if name == "man1" => folder.with_file_name("man5"),
        _ => folder.to_owned(),
    };
    fs::create_dir_all(folder)?;
    fs::create_dir_all(&files)?;
    let mut cli = cli.disable_help_subcommand(true);
    // This gives each command its whole name, such as heddle-lab-up, after which its file is named.
    cli.build();
    of_command(&cli, folder)?;
    for document in pages::DOCUMENTS {
        let text = roff_text::page(document.name, document.title, document.text());
        fs::write(files.join(format!("{}.5", document.name)), text)?;
    }
    Ok(())
}

fn of_command(command: &clap::Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        of_command(below, folder)?;
    }
    let man = clap_mangen::Man::new(command.clone()).manual("heddle");
    let mut out = File::create(folder.join(man.get_filename()))?;
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    let top = command.get_display_name().unwrap_or(command.get_name());
    let own_page = top.strip_prefix("heddle-").and_then(page);
    let own = own_page.map_or_else(|| of_program(top), sections);
    for (heading, text) in own {
        out.write_all(roff_text::section(heading, &text).as_bytes())?;
    }
    out.write_all(roff_text::section("EXIT STATUS", EXIT_STATUS).as_bytes())?;
    out.flush()
}

const EXIT_STATUS: &str = "0\n    success\n1\n    a check failed\n2\n    wrong usage\n64\n    bad input \
                           or configuration\n";

/// The sections of the program's own page; none for commands of commands.
fn of_program(name: &str) -> Vec<(&'static str, String)> {
    if name != "heddle" {
        return Vec::new();
    }
    let variables =
        variables_of(VariableReader::Commands).chain(variables_of(VariableReader::Jobs));
    let pages = PAGES
        .iter()
        .map(|page| format!("heddle-{}(1)", page.command));
    let files = pages::DOCUMENTS.iter().map(|d| format!("{}(5)", d.name));
    vec![
        ("ENVIRONMENT", variables.collect()),
        (
            "SEE ALSO",
            pages.chain(files).collect::<Vec<_>>().join(", "),
        ),
    ]
}

fn variables_of(reader: VariableReader) -> impl Iterator<Item = String> {
    let read = VARIABLES.iter().filter(move |v| v.reader == reader);
    read.map(|v| format!("{}\n    {}\n", v.name, v.meaning.replace('`', "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_has_examples_that_its_own_flags_accept() {
        let cli = described(crate::Cli::command());
        for command in cli.get_subcommands() {
            let name = command.get_name();
            let page = page(name).unwrap_or_else(|| panic!("{name} has no page"));
            assert!(!page.examples.is_empty(), "{name}");
            for (_, line) in page.examples {
                let line = line.split(['|', '>']).next().unwrap_or_default();
                let all = line.split_whitespace().map(|word| word.trim_matches('"'));
                // A launcher may start the command.
                let words = all.skip_while(|word| *word != "heddle");
                let parsed = crate::Cli::command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
            for other in page.see_also.iter().filter(|other| !other.contains('(')) {
                assert!(cli.find_subcommand(other).is_some(), "{name}: {other}");
            }
            // The units read the others, and hand them on as flags.
            assert_eq!(
                page.variables
                    .iter()
                    .filter(|name| {
                        let mut all = VARIABLES.iter();
                        all.any(|v| v.name == **name && v.reader != VariableReader::Units)
                    })
                    .count(),
                page.variables.len(),
                "{name}"
            );
        }
    }

    #[test]
    fn pages_have_their_sections_and_files_their_pages() {
        let dir = tempfile::tempdir().unwrap();
        write(described(crate::Cli::command()), &dir.path().join("man1")).unwrap();
        let read = |page: &str| fs::read_to_string(dir.path().join(page)).unwrap();
        let discover = read("man1/heddle-discover.1");
        for heading in ["EXAMPLES", "FILES", "SEE ALSO", "EXIT STATUS"] {
            assert!(
                discover.contains(&format!(".SH \"{heading}\"")),
                "{heading}: {discover}"
            );
        }
        assert!(read("man1/heddle.1").contains("HEDDLE_DIR"));
        assert!(read("man5/heddle-inventory.5").contains("hold_down"));
        assert!(read("man5/heddle-topology.5").contains("heddle publish"));
    }

    #[test]
    fn formats_and_sizes_mean_the_same_everywhere() {
        fn all(command: &clap::Command, seen: &mut Vec<(String, clap::Arg)>) {
            for arg in command.get_arguments() {
                seen.push((command.get_name().to_owned(), arg.clone()));
            }
            command.get_subcommands().for_each(|below| all(below, seen));
        }
        let mut seen = Vec::new();
        all(&crate::Cli::command(), &mut seen);
        let of = |id: &str| {
            seen.iter()
                .filter(move |(_, arg)| arg.get_id() == id)
                .collect::<Vec<_>>()
        };
        for (command, arg) in of("size") {
            for size in ["64k", "64K", "64kB", "64KiB", "65536", "1M", "1MiB"] {
                assert!(parses(arg, size), "{command} --size {size}");
            }
            assert!(!parses(arg, "64x"), "{command}");
        }
        assert!(of("size").len() >= 4, "bench, predict, tune, what-if");
        for (command, arg) in of("format") {
            for format in ["text", "json"] {
                assert!(parses(arg, format), "{command} --format {format}");
            }
        }
        assert!(of("format").len() >= 8);
    }

    fn parses(arg: &clap::Arg, text: &str) -> bool {
        let arg = arg.clone().required(false).exclusive(false);
        let command = clap::Command::new("c").no_binary_name(true).arg(
            clap::Arg::new("x")
                .long("x")
                .action(arg.get_action().clone())
                .value_parser(arg.get_value_parser().clone()),
        );
        command.try_get_matches_from(["--x", text]).is_ok()
    }
}
