//! Words: what of them is known before the script runs.

use std::borrow::Cow;

use bashkit::parser::{ParameterOp, Parser, Word as Parsed, WordPart};

use super::Word;
use super::walk::Walk;
use base::limits;

/// Variables that are known to hold an absolute path or a number unless the script touches them.
const TAME: &[&str] = &["HOME", "PWD", "OLDPWD", "TMPDIR", "UID", "EUID", "PPID", "?", "#", "$", "!"];

/// The text as it is parsed, and whether it means to every shell what it means to the parser. Blanks that are none to
/// a shell, and characters that cannot be seen, could hide a comment or an end of line that is not there.
pub(super) fn plain(text: &str) -> (Cow<'_, str>, bool) {
    let is_odd = |character: char| {
        let is_invisible = matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
        is_invisible
            || (character.is_control() && !matches!(character, '\n' | '\t' | '\r'))
            || (character.is_whitespace() && !character.is_ascii())
    };
    // The parser turns `x` into $(x), which is something else after a dollar and before a parenthesis, and it does
    // not always find one within another.
    let nests = text.contains("\\`") && text.replace("\\`", "").contains('`');
    // A here-document among the words of an array is an error to a shell, which then reads on behind it.
    let has_both = text.contains("=(") && text.contains("<<");
    // Nor is a dollar before a quote that is no quote the beginning of one.
    let marks = ["$`", "`(", "$\\'", "$\\\""];
    let is_odd_text =
        nests || has_both || !documents_are_plain(text) || marks.iter().any(|mark| text.contains(mark));
    let is_even = !is_odd_text && !text.chars().any(is_odd);
    if !text.contains('\r') {
        return (Cow::Borrowed(text), is_even);
    }
    let lines = text.replace("\r\n", "\n");
    // A shell takes the return for a part of the word before it: only at the end of every line is that the same.
    let is_everywhere = text.matches('\n').count() == text.matches("\r\n").count();
    let is_safe = is_everywhere && !lines.contains('\r') && !text.contains("\\\r") && !text.contains("<<");
    (Cow::Owned(lines.replace('\r', " ")), is_even && is_safe)
}

/// Whether the parser finds the text of every here-document where a shell does. It begins after the line that announces
/// it. The parser looks for the end of that line by counting quotes, and neither knows comments nor `$'…'`: behind
/// `cat <<E # don't` it would take for text what a shell runs. So whatever does not plainly end with its line is odd.
fn documents_are_plain(text: &str) -> bool {
    text.match_indices("<<").all(|(at, operator)| {
        let rest = &text[at + operator.len()..];
        let is_here_string = rest.starts_with('<') || text[..at].ends_with('<');
        is_here_string || ends_plainly(rest.split('\n').next().unwrap_or_default())
    })
}

/// Whether a line has no comment, and nothing in it goes on in the next one.
fn ends_plainly(line: &str) -> bool {
    let (mut quote, mut before, mut depth, mut backticks) = (None, '<', 0, 0);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        // What is escaped says nothing; at the end of the line it is the end itself.
        if character == '\\' && quote != Some('\'') && characters.next().is_none() {
            return false;
        }
        match (quote, character) {
            (None, '\'' | '"') if before == '$' => return false,
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '#') if before.is_whitespace() || ";|&()`".contains(before) => return false,
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, '`') => backticks += 1,
            _ => {}
        }
        before = character;
    }
    quote.is_none() && depth <= 0 && backticks % 2 == 0
}

impl Walk<'_> {
    /// What is known of a word. What it runs on its way is added to the commands.
    pub(super) fn word(&mut self, word: &Parsed) -> Word {
        let mut known = Word::known("");
        let mut text = String::new();
        let (mut is_known, mut has_glob, mut opens) = (true, word.has_unquoted_glob, false);
        let is_mixed = word.part_quoted.iter().any(|is_quoted| *is_quoted);
        for (at, part) in word.parts.iter().enumerate() {
            let is_quoted = if is_mixed { word.part_quoted.get(at) == Some(&true) } else { word.quoted };
            match part {
                WordPart::Literal(literal) => {
                    self.marks.text(literal);
                    if at == 0 && is_quoted && literal.starts_with('~') {
                        text.push_str("./");
                    }
                    has_glob |= !is_quoted && literal.contains(['*', '?', '[']);
                    // The parser takes braces beside quotes for a pattern.
                    opens |= (!is_quoted || word.has_unquoted_glob) && literal.contains('{');
                    text.push_str(literal);
                }
                part => {
                    let is_tame = self.is_tame(part);
                    self.part(part);
                    if is_known {
                        known.start = std::mem::take(&mut text);
                        if is_tame && known.start.is_empty() {
                            known.start.push('/');
                        }
                    }
                    is_known = false;
                    known.splits |= !is_tame && (!is_quoted || is_many(part));
                }
            }
        }
        if opens && is_known && text.contains('}') && (text.contains(',') || text.contains("..")) {
            return Word { splits: true, start: String::new(), text: None, pattern: None };
        }
        if is_known {
            let end =
                if has_glob { text.find(['*', '?', '[', '\\']).unwrap_or(text.len()) } else { text.len() };
            known.start = text[..end].to_string();
            // `[` is a command, and a pattern of nothing.
            if has_glob && text != "[" {
                known.pattern = Some(text);
                known.text = None;
            } else {
                known.text = Some(text);
            }
        } else {
            known.text = None;
            known.splits |= opens;
        }
        known
    }

    /// Looks into a part that is not plain text.
    fn part(&mut self, part: &WordPart) {
        match part {
            WordPart::Literal(_) | WordPart::Variable(_) | WordPart::Length(_) | WordPart::ArrayLength(_) => {
            }
            WordPart::CompoundAssignment { name, elements, .. } => {
                self.arithmetic.subscript(name);
                for element in elements {
                    let word = self.word(element);
                    self.arithmetic.assign(name.split('[').next().unwrap_or(name), element, &word);
                }
            }
            WordPart::CommandSubstitution(commands) | WordPart::ProcessSubstitution { commands, .. } => {
                if commands.is_empty() {
                    self.is_clear = false;
                }
                self.marks.found += 1;
                self.list(commands);
            }
            WordPart::ArithmeticExpansion(expression) => {
                self.arithmetic_count += 1;
                self.marks.found += 1;
                self.arithmetic.expression(expression);
            }
            WordPart::ParameterExpansion { name, operator, operand, .. } => {
                self.arithmetic.subscript(name);
                self.text(operand);
                if let ParameterOp::ReplaceFirst { pattern, replacement }
                | ParameterOp::ReplaceAll { pattern, replacement } = operator
                {
                    self.text(pattern);
                    self.text(replacement);
                }
                if *operator == ParameterOp::AssignDefault {
                    self.arithmetic.taint(name);
                }
            }
            WordPart::ArrayAccess { index, .. } => self.arithmetic.index(index),
            WordPart::Substring { name, offset, length } => {
                self.arithmetic.subscript(name);
                self.arithmetic.expression(offset);
                self.arithmetic.expression(length.as_deref().unwrap_or_default());
            }
            WordPart::ArrayIndices { .. } | WordPart::PrefixMatch { .. } => {}
            // The value of a variable is taken for a name, and its subscript is evaluated.
            WordPart::IndirectExpansion { .. } | WordPart::IndirectSuffix { .. } => self.is_clear = false,
            // `@P` expands the value like a prompt, substitutions and all.
            WordPart::Transformation { operator, .. } => self.is_clear &= *operator != 'P',
            WordPart::BadSubstitution(_) => self.is_clear = false,
        }
    }

    /// Text that the parser leaves as it is and the shell expands later, such as what follows `:-` in `${x:-…}`.
    fn text(&mut self, text: &str) {
        // The parser's own marks of quotes would be read as part of the script within.
        let is_marked = text.contains(['\0', '\u{1e}', '\u{1f}']) && text.contains("$(");
        if is_marked || ["`", "<(", ">("].iter().any(|mark| text.contains(mark)) {
            self.is_clear = false;
        }
        if !text.contains('$') {
            return;
        }
        let word = Parser::parse_word_string_with_limits(
            text,
            limits::approval::SYNTAX_DEPTH_MAX,
            limits::approval::SCRIPT_MAX_BYTES,
        );
        let is_seen = |part: &WordPart| !matches!(part, WordPart::Literal(_));
        if text.contains("$(") && !word.parts.iter().any(is_seen) {
            self.is_clear = false;
        }
        self.depth += 1;
        if self.depth > limits::approval::SYNTAX_DEPTH_MAX {
            self.is_clear = false;
        } else {
            self.word(&word);
        }
        self.depth -= 1;
    }

    fn is_tame(&self, part: &WordPart) -> bool {
        let name = match part {
            WordPart::Variable(name) => name.as_str(),
            WordPart::Length(_) | WordPart::ArrayLength(_) => return true,
            _ => return false,
        };
        // Any mention that does not just ask for the value may be one that changes it.
        let is_asked = |(at, _): (usize, &str)| {
            let rest = &self.source[at + name.len()..];
            self.source[..at].ends_with(['$', '{']) && !rest.starts_with(['=', ':'])
        };
        TAME.contains(&name) && (name.len() == 1 || self.source.match_indices(name).all(is_asked))
    }
}

/// Whether a part becomes several words even between quotes.
fn is_many(part: &WordPart) -> bool {
    match part {
        WordPart::Variable(name) => name == "@",
        WordPart::ArrayAccess { index, .. } => index == "@",
        WordPart::ParameterExpansion { name, .. } | WordPart::Substring { name, .. } => {
            name == "@" || name.ends_with("[@]")
        }
        WordPart::ArrayIndices { star, .. } | WordPart::PrefixMatch { star, .. } => !star,
        WordPart::IndirectExpansion { .. } | WordPart::IndirectSuffix { .. } => true,
        WordPart::Transformation { name, .. } => name == "@" || name.ends_with("[@]"),
        _ => false,
    }
}
