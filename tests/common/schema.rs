//! The output of programs, compared with docs/api.schema.json.
use serde_json::{Value, json};

/// Asserts that a JSON text follows a definition of a schema.
#[track_caller]
pub(crate) fn assert_follows(schema: &str, definition: &str, text: &str) {
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    let value = serde_json::from_str(text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.validate(&value).err().into_iter().flatten();
    let faults: Vec<String> = errors
        .map(|e| format!("{}: {e}", e.instance_path))
        .collect();
    assert!(faults.is_empty(), "{definition}: {faults:#?}\n{text}");
}
