//! Ownership predicates, for `find -user` and its like.

use vfs::{Follow, View};

use super::accounts::Accounts;
use super::operand_path::path_of;
use super::words;

/// Whether a file is that user's or group's; `question` is `user`, `uid`, `group`, `gid`, `nouser` or `nogroup`.
pub(crate) async fn is_owned(view: &View, question: &str, whose: &str, file: &str) -> Result<bool, String> {
    let failed = |fault: vfs::Fault| format!("'{file}': {}", words(&fault));
    let path = path_of(view, file).await.map_err(failed)?;
    let stat = view.stat(&path, Follow::No).await.map_err(failed)?;
    let accounts = Accounts::read(view).await;
    let unknown = || format!("'{whose}' is not the name of a known {question}");
    Ok(match question {
        "user" => stat.uid == accounts.uid(whose).ok_or_else(unknown)?,
        "group" => stat.gid == accounts.gid(whose).ok_or_else(unknown)?,
        "uid" => compare(stat.uid.0, whose).ok_or_else(unknown)?,
        "gid" => compare(stat.gid.0, whose).ok_or_else(unknown)?,
        "nouser" => accounts.user_name(stat.uid).is_none(),
        "nogroup" => accounts.group_name(stat.gid).is_none(),
        _ => return Err(format!("unknown question '{question}'")),
    })
}

/// `5` is five, `+5` more, `-5` less.
fn compare(number: u32, asked: &str) -> Option<bool> {
    let parsed = |text: &str| text.parse::<u32>().ok();
    Some(match asked.split_at_checked(1)? {
        ("+", rest) => number > parsed(rest)?,
        ("-", rest) => number < parsed(rest)?,
        _ => number == parsed(asked)?,
    })
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn numbers_are_compared() {
        let asked = ["7", "+6", "+7", "-8", "-7", "x", ""].map(|asked| compare(7, asked));
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(asked, [yes, yes, no, yes, no, None, None]);
    }
}
