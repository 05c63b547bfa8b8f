//! Parser of the character sets of `tr`: how they are written and which bytes they mean.

/// No set is longer than this: it could only repeat itself.
const BYTES_MAX: usize = 64 * 1024;

/// A set as it was written.
pub(super) struct Set {
    parts: Vec<Part>,
}

enum Part {
    Bytes(Vec<u8>),
    /// `[:name:]`
    Class(String),
    /// `[x*]`: as often as is needed.
    Fill(u8),
}

/// A set whose bytes are known.
pub(super) struct Known {
    pub bytes: Vec<u8>,
    /// Where `[:lower:]` and `[:upper:]` begin in it.
    cases: Vec<usize>,
}

impl Set {
    pub fn parse(text: &str) -> Result<Set, String> {
        let letters = letters(text.as_bytes());
        let mut set = Set { parts: Vec::new() };
        let (mut at, mut length) = (0, 0);
        while at < letters.len() {
            let (part, next) = match bracket(&letters[at..])? {
                Some((part, taken)) => (part, at + taken),
                None => match letters[at..] {
                    [(first, _), (b'-', false), (last, _), ..] => (Part::Bytes(range(first, last)?), at + 3),
                    [(byte, _), ..] => (Part::Bytes(vec![byte]), at + 1),
                    [] => break,
                },
            };
            if let Part::Bytes(bytes) = &part {
                length += bytes.len();
            }
            if length > BYTES_MAX {
                return Err("a set is too long".to_string());
            }
            set.parts.push(part);
            at = next;
        }
        Ok(set)
    }

    /// As the set of what is looked for.
    pub fn first(self, complement: bool) -> Result<Known, String> {
        if self.parts.iter().any(|part| matches!(part, Part::Fill(_))) {
            return Err("the [c*] repeat construct may not appear in string1".to_string());
        }
        let mut known = self.expand(0)?;
        if complement {
            known.bytes = (0..=u8::MAX).filter(|byte| !known.bytes.contains(byte)).collect();
            known.cases.clear();
        }
        Ok(known)
    }

    /// As the set of what the first one becomes.
    pub fn second(self, first: &Known, truncate: bool) -> Result<Vec<u8>, String> {
        let fills = self.parts.iter().filter(|part| matches!(part, Part::Fill(_))).count();
        if fills > 1 {
            return Err("only one [c*] repeat construct may appear in string2".to_string());
        }
        let only_cases = |part: &Part| match part {
            Part::Class(name) => matches!(name.as_str(), "lower" | "upper"),
            _ => true,
        };
        if !self.parts.iter().all(only_cases) {
            let why = "when translating, the only character classes that may appear in\nstring2 are 'upper' and 'lower'";
            return Err(why.to_string());
        }
        let known = self.expand(first.bytes.len())?;
        if !known.cases.iter().all(|at| first.cases.contains(at)) {
            return Err("misaligned [:upper:] and/or [:lower:] construct".to_string());
        }
        if known.bytes.is_empty() && !first.bytes.is_empty() && !truncate {
            return Err("when not truncating set1, string2 must be non-empty".to_string());
        }
        Ok(known.bytes)
    }

    /// Its bytes; what fills goes up to a length.
    fn expand(self, length: usize) -> Result<Known, String> {
        let mut others = 0;
        for part in &self.parts {
            others += match part {
                Part::Bytes(bytes) => bytes.len(),
                Part::Class(name) => class(name)?.len(),
                Part::Fill(_) => 0,
            };
        }
        let mut known = Known { bytes: Vec::new(), cases: Vec::new() };
        for part in self.parts {
            match part {
                Part::Bytes(bytes) => known.bytes.extend(bytes),
                Part::Class(name) => {
                    if matches!(name.as_str(), "lower" | "upper") {
                        known.cases.push(known.bytes.len());
                    }
                    known.bytes.extend(class(&name)?);
                }
                Part::Fill(byte) => {
                    known.bytes.extend(std::iter::repeat_n(byte, length.saturating_sub(others)))
                }
            }
        }
        Ok(known)
    }
}

/// The bytes of a text with what its backslashes mean, and whether each had one.
fn letters(text: &[u8]) -> Vec<(u8, bool)> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        let Some(next) = text.get(at).filter(|_| *byte == b'\\') else {
            out.push((*byte, false));
            continue;
        };
        let mut taken = 1;
        let meant = match next {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            b'0'..=b'7' => {
                let mut value = 0_u32;
                taken = 0;
                while let Some(digit @ b'0'..=b'7') = text.get(at + taken).filter(|_| taken < 3) {
                    let longer = value * 8 + u32::from(digit - b'0');
                    if longer > 255 {
                        break;
                    }
                    (value, taken) = (longer, taken + 1);
                }
                value as u8
            }
            other => *other,
        };
        at += taken;
        out.push((meant, true));
    }
    out
}

/// `[:class:]`, `[=x=]`, `[x*n]` or `[x*]` at the beginning, and how long it is.
fn bracket(letters: &[(u8, bool)]) -> Result<Option<(Part, usize)>, String> {
    let plain = |at: usize, wanted: u8| letters.get(at) == Some(&(wanted, false));
    if !plain(0, b'[') {
        return Ok(None);
    }
    for kind in [b':', b'='] {
        if !plain(1, kind) {
            continue;
        }
        let ends = |at: &usize| plain(*at, kind) && plain(*at + 1, b']');
        let Some(end) = (3..letters.len()).find(ends) else { continue };
        let inside: Vec<u8> = letters[2..end].iter().map(|(byte, _)| *byte).collect();
        let text = String::from_utf8_lossy(&inside).into_owned();
        if kind == b':' {
            class(&text)?;
            return Ok(Some((Part::Class(text), end + 2)));
        }
        if inside.len() > 1 {
            return Err(format!("{text}: equivalence class operand must be a single character"));
        }
        return Ok(Some((Part::Bytes(inside), end + 2)));
    }
    if !plain(2, b'*') {
        return Ok(None);
    }
    let Some(end) = (3..letters.len()).find(|at| plain(*at, b']')) else { return Ok(None) };
    let count: String = letters[3..end].iter().map(|(byte, _)| char::from(*byte)).collect();
    if !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let byte = letters[1].0;
    let radix = if count.starts_with('0') { 8 } else { 10 };
    let times = if count.is_empty() { Ok(0) } else { usize::from_str_radix(&count, radix) };
    match times {
        Ok(0) => Ok(Some((Part::Fill(byte), end + 1))),
        Ok(times) if times <= BYTES_MAX => Ok(Some((Part::Bytes(vec![byte; times]), end + 1))),
        _ => Err(format!("invalid repeat count '{count}' in [c*n] construct")),
    }
}

fn range(first: u8, last: u8) -> Result<Vec<u8>, String> {
    if first > last {
        let (first, last) = (first.escape_ascii(), last.escape_ascii());
        return Err(format!("range-endpoints of '{first}-{last}' are in reverse collating sequence order"));
    }
    Ok((first..=last).collect())
}

fn class(name: &str) -> Result<Vec<u8>, String> {
    let is: fn(&u8) -> bool = match name {
        "alnum" => u8::is_ascii_alphanumeric,
        "alpha" => u8::is_ascii_alphabetic,
        "blank" => |byte| matches!(byte, b' ' | b'\t'),
        "cntrl" => u8::is_ascii_control,
        "digit" => u8::is_ascii_digit,
        "graph" => u8::is_ascii_graphic,
        "lower" => u8::is_ascii_lowercase,
        "print" => |byte| matches!(byte, b' '..=b'~'),
        "punct" => u8::is_ascii_punctuation,
        "space" => |byte| matches!(byte, b' ' | 9..=13),
        "upper" => u8::is_ascii_uppercase,
        "xdigit" => u8::is_ascii_hexdigit,
        _ => return Err(format!("invalid character class '{name}'")),
    };
    Ok((0..=u8::MAX).filter(is).collect())
}
