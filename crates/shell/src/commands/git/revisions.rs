//! Revisions: `HEAD~2`, `main^`, tags, hashes and their beginnings, `A..B`; and which operands are none.

use protocol::repo::Commit;
use vfs::Follow;

use super::super::{Cx, Done, operand_path};
use super::history::{Walk, commit_at};
use super::pathspec::Pathspec;
use super::place::Place;
use super::words::Given;
use super::{content, fatal};

/// Fewest letters of a hash.
const HASH_MIN: usize = 4;
const HASH: usize = 40;

/// One step from a commit to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// So many first parents back.
    Back(u64),
    /// The parent of that number.
    Parent(usize),
}

/// What stands before the steps, and the steps.
fn parse(text: &str) -> Option<(&str, Vec<Step>)> {
    let start = text.find(['~', '^']).unwrap_or(text.len());
    let (base, mut rest) = text.split_at(start);
    let mut steps = Vec::new();
    while let Some(mark) = rest.chars().next() {
        rest = rest.strip_prefix(['~', '^'])?;
        if let Some(after) = rest.strip_prefix("{commit}").or_else(|| rest.strip_prefix("{}"))
            && mark == '^'
        {
            rest = after;
            continue;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = if digits == 0 { 1 } else { rest[..digits].parse::<u32>().ok()? };
        rest = &rest[digits..];
        steps.push(match mark {
            '~' => Step::Back(number.into()),
            '^' if number == 0 => Step::Back(0),
            '^' if number == 1 => Step::Back(1),
            '^' => Step::Parent(number as usize),
            _ => return None,
        });
    }
    Some((if base.is_empty() || base == "@" { "HEAD" } else { base }, steps))
}

/// The commit that a text means; `None` when it means none.
pub(super) async fn resolve(cx: &Cx<'_>, place: &Place, text: &str) -> Result<Option<Commit>, Done> {
    if text.is_empty() {
        return Ok(None);
    }
    let Some((base, steps)) = parse(text) else { return Ok(None) };
    let Some(mut at) = named(cx, place, base).await? else { return Ok(None) };
    let mut back = 0;
    for step in steps {
        match step {
            Step::Back(count) => back += count,
            Step::Parent(number) => {
                let Some(commit) = commit_at(cx, &place.repo, &at, back).await? else { return Ok(None) };
                let Some(parent) = commit.parents.get(number - 1) else { return Ok(None) };
                (at, back) = (parent.clone(), 0);
            }
        }
    }
    commit_at(cx, &place.repo, &at, back).await
}

/// The hash behind a name.
async fn named(cx: &Cx<'_>, place: &Place, base: &str) -> Result<Option<String>, Done> {
    if base == "HEAD" {
        return Ok(place.head.clone());
    }
    let refs = &place.refs;
    let (heads, tags) = (base.strip_prefix("refs/heads/"), base.strip_prefix("refs/tags/"));
    let head = heads.or_else(|| base.strip_prefix("origin/")).unwrap_or(base);
    let found = refs.tags.get(tags.unwrap_or(base)).or_else(|| refs.heads.get(head));
    let is_hex = base.bytes().all(|byte| byte.is_ascii_hexdigit());
    match found {
        Some(hash) => Ok(Some(hash.clone())),
        None if is_hex && base.len() == HASH => Ok(Some(base.to_ascii_lowercase())),
        None if is_hex && (HASH_MIN..HASH).contains(&base.len()) => {
            beginning(cx, place, &base.to_ascii_lowercase()).await
        }
        None => Ok(None),
    }
}

/// The commit whose hash begins so, among those that branches and tags lead to.
async fn beginning(cx: &Cx<'_>, place: &Place, start: &str) -> Result<Option<String>, Done> {
    let tips = place.head.iter().chain(place.refs.heads.values()).chain(place.refs.tags.values());
    let mut found: Option<String> = None;
    let mut seen = Vec::new();
    for tip in tips {
        if seen.contains(&tip) {
            continue;
        }
        seen.push(tip);
        let mut walk = Walk::new(&place.repo, tip, None, u64::MAX);
        while let Some(commit) = walk.next(cx).await? {
            if !commit.hash.starts_with(start) {
                continue;
            }
            if found.as_ref().is_some_and(|other| *other != commit.hash) {
                return Err(fatal(format!("short object ID {start} is ambiguous")));
            }
            found = Some(commit.hash);
        }
        if found.is_some() {
            break;
        }
    }
    Ok(found)
}

/// The same, or the complaint of git.
pub(super) async fn wanted(cx: &Cx<'_>, place: &Place, text: &str) -> Result<Commit, Done> {
    if matches!(text, "HEAD" | "@") {
        place.head()?;
    }
    resolve(cx, place, text).await?.ok_or_else(|| unknown(text))
}

/// Neither a revision nor a path.
fn unknown(text: &str) -> Done {
    fatal(format!(
        "ambiguous argument '{text}': unknown revision or path not in the working tree.\n\
         Use '--' to separate paths from revisions, like this:\n\
         'git <command> [<revision>...] -- [<file>...]'"
    ))
}

/// One operand that is a revision.
pub(super) enum Range {
    One(Box<Commit>),
    /// `A..B`; three dots compare with where both began.
    Two {
        from: Box<Commit>,
        to: Box<Commit>,
        three: bool,
    },
}

async fn range(cx: &Cx<'_>, place: &Place, text: &str) -> Result<Option<Range>, Done> {
    let split = match text.split_once("...") {
        Some(sides) => Some((sides, true)),
        None => text.split_once("..").map(|sides| (sides, false)),
    };
    let Some(((from, to), three)) = split.filter(|_| !text.contains('/') || !text.starts_with("..")) else {
        return Ok(resolve(cx, place, text).await?.map(|commit| Range::One(Box::new(commit))));
    };
    let side = |text: &str| if text.is_empty() { "HEAD".to_string() } else { text.to_string() };
    let (from, to) = (resolve(cx, place, &side(from)).await?, resolve(cx, place, &side(to)).await?);
    Ok(from.zip(to).map(|(from, to)| Range::Two { from: Box::new(from), to: Box::new(to), three }))
}

/// Which operands are revisions, and which paths.
pub(super) async fn split(cx: &Cx<'_>, place: &Place, given: &Given) -> Result<(Vec<Range>, Pathspec), Done> {
    let (mut ranges, mut paths) = (Vec::new(), Vec::new());
    for operand in &given.options.operands {
        if paths.is_empty()
            && let Some(found) = range(cx, place, operand).await?
        {
            ranges.push(found);
        } else if given.paths.is_none() && is_there(cx, place, operand).await? {
            paths.push(operand.clone());
        } else {
            return Err(match given.paths {
                Some(_) => fatal(format!("bad revision '{operand}'")),
                None => unknown(operand),
            });
        }
    }
    paths.extend(given.paths.iter().flatten().cloned());
    Ok((ranges, place.paths(cx, &paths)?))
}

/// Whether a path is in the tree, now or in the last commit.
pub(super) async fn is_there(cx: &Cx<'_>, place: &Place, operand: &str) -> Result<bool, Done> {
    let Ok(path) = operand_path::literal(cx.view, operand) else { return Ok(false) };
    if cx.view.stat(&path, Follow::No).await.is_ok() {
        return Ok(true);
    }
    let (Ok(path), Some(head)) = (place.path(cx, operand), &place.head) else { return Ok(false) };
    Ok(content::committed(cx, &place.repo, head, &path).await.is_ok())
}

/// The newest commit that both histories have.
pub(super) async fn common(
    cx: &Cx<'_>,
    place: &Place,
    one: &Commit,
    other: &Commit,
) -> Result<Option<String>, Done> {
    let known = hashes(cx, place, &one.hash).await?;
    let mut walk = Walk::new(&place.repo, &other.hash, None, u64::MAX);
    while let Some(commit) = walk.next(cx).await? {
        if known.contains(&commit.hash) {
            return Ok(Some(commit.hash));
        }
    }
    Ok(None)
}

/// All commits of a history.
pub(super) async fn hashes(
    cx: &Cx<'_>,
    place: &Place,
    from: &str,
) -> Result<std::collections::HashSet<String>, Done> {
    let mut walk = Walk::new(&place.repo, from, None, u64::MAX);
    let mut found = std::collections::HashSet::new();
    while let Some(commit) = walk.next(cx).await? {
        found.insert(commit.hash);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_from_left_to_right() {
        assert_eq!(parse("HEAD"), Some(("HEAD", vec![])));
        assert_eq!(parse("@~3^"), Some(("HEAD", vec![Step::Back(3), Step::Back(1)])));
        assert_eq!(parse("v1^2~"), Some(("v1", vec![Step::Parent(2), Step::Back(1)])));
        assert_eq!(parse("v1^{commit}"), Some(("v1", vec![])));
        assert_eq!(parse("a~99999999999"), None);
        assert_eq!(parse("a^x"), None);
    }
}
