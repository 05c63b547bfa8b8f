//! Parser of unified diffs: files, and hunks of lines that stay, go and come.

/// What is to be done to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePatch {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) hunks: Vec<Hunk>,
}

/// Changes that lie together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The first line in the old file, from 1; 0 when there is none.
    pub(super) start: usize,
    pub(super) header: String,
    pub(super) lines: Vec<Line>,
}

/// What happens to a line; the text has its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Stay(Vec<u8>),
    Go(Vec<u8>),
    Come(Vec<u8>),
}

impl Line {
    fn text(&mut self) -> &mut Vec<u8> {
        match self {
            Line::Stay(text) | Line::Go(text) | Line::Come(text) => text,
        }
    }
}

impl FilePatch {
    /// The patch that takes this one back.
    pub(super) fn reversed(self) -> FilePatch {
        let reverse = |line| match line {
            Line::Stay(text) => Line::Stay(text),
            Line::Go(text) => Line::Come(text),
            Line::Come(text) => Line::Go(text),
        };
        let hunk = |hunk: Hunk| {
            let start = numbers(&hunk.header).map_or(hunk.start, |(_, new)| new.0);
            Hunk { start, lines: hunk.lines.into_iter().map(reverse).collect(), ..hunk }
        };
        FilePatch { old: self.new, new: self.old, hunks: self.hunks.into_iter().map(hunk).collect() }
    }
}

/// The files of a patch, whatever stands between them; `Err` is the number of a line that fits no hunk.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<FilePatch>, usize> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut files, mut at): (Vec<FilePatch>, usize) = (Vec::new(), 0);
    while at < lines.len() {
        let (line, next) = (lines[at], lines.get(at + 1).copied().unwrap_or_default());
        if let (Some(old), Some(new)) = (line.strip_prefix(b"--- "), next.strip_prefix(b"+++ ")) {
            files.push(FilePatch { old: name(old), new: name(new), hunks: Vec::new() });
            at += 2;
        } else if let Some(counts) = numbers(&String::from_utf8_lossy(line)) {
            let header = String::from_utf8_lossy(line).trim_end().to_string();
            let (lines, after) = hunk(&lines, at + 1, counts.0.1, counts.1.1)?;
            // Without a header the hunks are for the file that was named.
            if files.is_empty() {
                files.push(FilePatch { old: String::new(), new: String::new(), hunks: Vec::new() });
            }
            if let Some(file) = files.last_mut() {
                file.hunks.push(Hunk { start: counts.0.0, header, lines });
            }
            at = after;
        } else {
            at += 1;
        }
    }
    files.retain(|file| !file.hunks.is_empty());
    Ok(files)
}

/// As many old and new lines as the header of the hunk says.
fn hunk(lines: &[&[u8]], from: usize, old: usize, new: usize) -> Result<(Vec<Line>, usize), usize> {
    let (mut out, mut at, mut left) = (Vec::new(), from, (old, new));
    while left != (0, 0) || lines.get(at).is_some_and(|line| line.starts_with(b"\\")) {
        let line = *lines.get(at).ok_or(at + 1)?;
        at += 1;
        if line.starts_with(b"\\") {
            if let Some(last) = out.last_mut().map(Line::text) {
                last.pop_if(|byte| *byte == b'\n');
            }
            continue;
        }
        let (goes, comes, made): (usize, usize, fn(Vec<u8>) -> Line) = match line.first() {
            Some(b'-') => (1, 0, Line::Go),
            Some(b'+') => (0, 1, Line::Come),
            Some(b' ' | b'\t' | b'\n') => (1, 1, Line::Stay),
            _ => return Err(at),
        };
        // Mailers take away the blank of an empty line.
        let text = line.strip_prefix(b"\n").map_or_else(|| line[1..].to_vec(), |_| line.to_vec());
        out.push(made(text));
        left = (left.0.checked_sub(goes).ok_or(at)?, left.1.checked_sub(comes).ok_or(at)?);
    }
    Ok((out, at))
}

/// `@@ -1,3 +1,4 @@`: first line and count of both sides.
fn numbers(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let side = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((side(old)?, side(new)?))
}

/// The name, without the time behind it.
fn name(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.split(['\t', '\n', '\r']).next().unwrap_or_default().trim_end().to_string()
}
