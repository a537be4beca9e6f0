//! Why an input file cannot be used.

/// A file that cannot be used: the place, the problem, and the expected form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputFileError {
    /// The text is not YAML, or does not have the expected shape; the message names line and
    /// column.
    #[error("{file}:{}{problem}", place(*line))]
    Syntax {
        /// File name as given.
        file: String,
        /// Line, from 1, if the parser names one.
        line: Option<usize>,
        /// The found text and the expected form.
        problem: String,
    },
    /// The text is well-formed, but contradicts itself.
    #[error("{file}:{}{problem}", place(*line))]
    Content {
        /// File name as given.
        file: String,
        /// Line, from 1, if it is known.
        line: Option<usize>,
        /// Object, problem, hint.
        problem: String,
    },
}

/// The standard library's words, which do not say what is expected.
const STANDARD_LIBRARY_ON_ADDRESSES: &str = "invalid IP address syntax";

impl InputFileError {
    /// Wraps a YAML error with its line.
    pub(crate) fn yaml(file: &str, error: &serde_yaml::Error) -> InputFileError {
        let line = error.location().map(|l| l.line());
        // The parser repeats the place after its text.
        let text = error.to_string();
        let problem = text
            .rfind(" at line ")
            .map_or(text.as_str(), |end| &text[..end])
            .replace(
                STANDARD_LIBRARY_ON_ADDRESSES,
                "expected an IP address, like 10.77.0.3",
            );
        InputFileError::Syntax {
            file: file.to_owned(),
            line,
            problem,
        }
    }
}

fn place(line: Option<usize>) -> String {
    line.map_or(" ".to_owned(), |n| format!("{n}: "))
}
