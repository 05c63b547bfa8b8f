//! Exact search and replace: text for text, no patterns.

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
    let max = limits::device_files::READ_TEXT_MAX_BYTES;
    refuse_empty(args)?;
    if bytes.len() as u64 > max {
        return Err(format!("File too large to edit: '{path}' has more than {}", size_text(max)));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("Failed to edit '{path}': not a text file"))?;
    match text.matches(&args.old_string).count() {
        0 => Err(side.not_found(path)),
        found @ 2.. if args.replace_all != Some(true) => Err(side.ambiguous(found, path)),
        found if length_after(text.len(), found, args).is_none_or(|after| after > max) => Err(format!(
            "Failed to edit '{path}': with {found} replacements it would have more than {}",
            size_text(max)
        )),
        found => Ok((text.replace(&args.old_string, &args.new_string).into_bytes(), found as u64)),
    }
}

/// The length of a text with `found` replacements; nothing when that is no number any more.
fn length_after(length: usize, found: usize, args: &Edit) -> Option<u64> {
    let found = found as u64;
    let removed = found.checked_mul(args.old_string.len() as u64)?;
    let added = found.checked_mul(args.new_string.len() as u64)?;
    (length as u64).checked_sub(removed)?.checked_add(added)
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

    #[test]
    fn what_would_grow_too_large_is_refused_before_it_grows() {
        // As much as this would be, no machine has.
        let (many, much) = ("a".repeat(1 << 20), "b".repeat(1 << 20));
        assert_eq!(
            edit(&many, "a", &much, true).unwrap_err(),
            "Failed to edit '/x': with 1048576 replacements it would have more than 24.0 MB"
        );
        let max = limits::device_files::READ_TEXT_MAX_BYTES as usize;
        assert_eq!(edit("-", "-", &"b".repeat(max), false).unwrap().0.len(), max);
        assert!(edit("-", "-", &"b".repeat(max + 1), false).unwrap_err().contains("more than 24.0 MB"));
        assert_eq!(edit(&"ab".repeat(max / 2), "ab", "a", true).unwrap().0.len(), max / 2);
    }
}
