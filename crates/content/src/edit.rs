//! Exact text for exact text.

use base::limits;
use protocol::fs::Edit;

use crate::Side;
use crate::side::size_text;

/// Every text has nothing in it, everywhere: an empty `oldString` is refused before anything is looked at.
pub fn refuse_empty(args: &Edit) -> Result<(), String> {
    if args.old_string.is_empty() {
        return Err("oldString is empty: use fs.write to write a whole file".to_string());
    }
    Ok(())
}

/// The new content of a file and the number of replacements, or why it stays as it is. `path` is the file's name for
/// people.
pub fn edited(side: Side, path: &str, bytes: Vec<u8>, args: &Edit) -> Result<(Vec<u8>, u64), String> {
    let max = limits::READ_TEXT_BYTES_MAX;
    refuse_empty(args)?;
    if bytes.len() as u64 > max {
        return Err(format!("File too large to edit: '{path}' has more than {}", size_text(max)));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("Failed to edit '{path}': not a text file"))?;
    match text.matches(&args.old_string).count() {
        0 => Err(side.not_found(path)),
        found @ 2.. if args.replace_all != Some(true) => Err(side.ambiguous(found, path)),
        found => Ok((text.replace(&args.old_string, &args.new_string).into_bytes(), found as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, old: &str, new: &str, all: bool) -> Result<(String, u64), String> {
        let args =
            Edit { path: "x".into(), old_string: old.into(), new_string: new.into(), replace_all: Some(all) };
        let (bytes, found) = edited(Side::Native, "/x", text.as_bytes().to_vec(), &args)?;
        Ok((String::from_utf8(bytes).unwrap(), found))
    }

    #[test]
    fn replaces_literally_and_says_why_not() {
        assert_eq!(edit("a.b", ".", "$&\\1", false).unwrap(), ("a$&\\1b".into(), 1));
        assert_eq!(edit("aaaa", "aa", "b", true).unwrap(), ("bb".into(), 2));
        assert_eq!(edit("x", "y", "z", true).unwrap_err(), "oldString not found in /x");
        assert_eq!(
            edit("aaaa", "aa", "b", false).unwrap_err(),
            "oldString found 2 times in /x. Use replaceAll or provide more context."
        );
        assert!(edit("x", "", "z", true).unwrap_err().starts_with("oldString is empty"));
    }
}
