//! `expr`: evaluates arithmetic, comparisons and string functions, one word per token.

use num_bigint::BigInt;
use regex::RegexBuilder;

use super::{Command, Cx, Done};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "expr",
    aliases: &[],
    about: "evaluate an expression",
    usage: "EXPRESSION",
    manual: "\
From weak to strong, each operator a word of its own:
  A | B   A & B     A if it is neither empty nor 0, else B; A if both are, else 0
  < <= = != >= >    1 or 0, by number if both are numbers
  + -   * / %       whole numbers of any size
  TEXT : PATTERN    how much of the beginning fits, or what fits between \\( and \\)
  match TEXT PATTERN   substr TEXT FROM LENGTH   index TEXT LETTERS   length TEXT   + TOKEN   ( A )
Exit code 1 when the value is empty or 0, 2 when the expression is wrong, 3 for other trouble.",
    io: Io::PLAIN,
    run: |cx| Box::pin(async move { run(cx) }),
};

fn run(cx: &Cx<'_>) -> Done {
    if cx.args == ["--help"] {
        return Done::printed(format!("{}{}\n", COMMAND.usage_line(), COMMAND.about));
    }
    let words = cx.args.strip_prefix(&["--".to_string()]).unwrap_or(cx.args);
    match evaluate(words) {
        Ok(value) => Done { code: i32::from(is_null(&value)), ..Done::printed(value + "\n") },
        Err(wrong) => Done::failed(cx.name, wrong, 2),
    }
}

fn evaluate(words: &[String]) -> Result<String, String> {
    if words.is_empty() {
        return Err("missing operand".to_string());
    }
    let mut parser = Parser { words, at: 0, depth: 0, operators: 0 };
    let value = parser.level(0)?;
    match parser.peek() {
        None => Ok(value),
        Some(word) => Err(format!("syntax error: unexpected argument '{word}'")),
    }
}

/// Operators, the weakest first.
const LEVELS: &[&[&str]] =
    &[&["|"], &["&"], &["<", "<=", "=", "==", "!=", ">=", ">"], &["+", "-"], &["*", "/", "%"], &[":"]];

/// How deep brackets and words such as `length` may be nested.
const DEPTH_MAX: usize = 200;
/// How many digits a number may have: the work on larger ones could not be stopped.
const DIGITS_MAX: usize = 10_000;
/// How many operators there may be, and how large a pattern becomes, for the same reason.
const OPERATORS_MAX: usize = 1_000;
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

struct Parser<'a> {
    words: &'a [String],
    at: usize,
    depth: usize,
    operators: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(String::as_str)
    }

    fn next(&mut self) -> Result<&'a str, String> {
        let word = self.peek();
        self.at += 1;
        match (word, self.at) {
            (Some(word), _) => Ok(word),
            (None, 1) => Err("syntax error".to_string()),
            (None, at) => {
                let last = self.words.get(at - 2).map_or("", String::as_str);
                Err(format!("syntax error: missing argument after '{last}'"))
            }
        }
    }

    fn level(&mut self, level: usize) -> Result<String, String> {
        let Some(operators) = LEVELS.get(level) else { return self.word() };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.peek().filter(|word| operators.contains(word)) {
            self.at += 1;
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                return Err(format!("more than {OPERATORS_MAX} operators"));
            }
            let right = self.level(level + 1)?;
            left = operate(operator, left, right)?;
        }
        Ok(left)
    }

    fn word(&mut self) -> Result<String, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("expression too deep".to_string());
        }
        let value = self.value();
        self.depth -= 1;
        value
    }

    fn value(&mut self) -> Result<String, String> {
        let word = self.next()?;
        match word {
            "(" => {
                let value = self.level(0)?;
                match self.next() {
                    Ok(")") => Ok(value),
                    Ok(other) => Err(format!("syntax error: expecting ')' instead of '{other}'")),
                    Err(_) => Err(format!("syntax error: expecting ')' after '{value}'")),
                }
            }
            ")" => Err("syntax error: unexpected ')'".to_string()),
            "+" => Ok(self.next()?.to_string()),
            "length" => Ok(self.word()?.chars().count().to_string()),
            "match" => {
                let text = self.word()?;
                fit(&text, &self.word()?)
            }
            "index" => {
                let (text, letters) = (self.word()?, self.word()?);
                let at = text.chars().position(|letter| letters.contains(letter));
                Ok(at.map_or(0, |at| at + 1).to_string())
            }
            "substr" => {
                let (text, from, length) = (self.word()?, self.word()?, self.word()?);
                let number =
                    |word: &str| word.parse::<i64>().ok().and_then(|value| usize::try_from(value).ok());
                let (Some(from @ 1..), Some(length)) = (number(&from), number(&length)) else {
                    return Ok(String::new());
                };
                Ok(text.chars().skip(from - 1).take(length).collect())
            }
            word => Ok(word.to_string()),
        }
    }
}

fn operate(operator: &str, left: String, right: String) -> Result<String, String> {
    match operator {
        "|" if !is_null(&left) => Ok(left),
        "|" if !is_null(&right) => Ok(right),
        "|" => Ok("0".to_string()),
        "&" if is_null(&left) || is_null(&right) => Ok("0".to_string()),
        "&" => Ok(left),
        ":" => fit(&left, &right),
        "+" | "-" | "*" | "/" | "%" => calculate(operator, &left, &right),
        _ => {
            let order = match (integer(&left), integer(&right)) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => left.cmp(&right),
            };
            let holds = match operator {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                "!=" => order.is_ne(),
                ">=" => order.is_ge(),
                ">" => order.is_gt(),
                _ => order.is_eq(),
            };
            Ok(u8::from(holds).to_string())
        }
    }
}

fn calculate(operator: &str, left: &str, right: &str) -> Result<String, String> {
    let number = |word: &str| match integer(word) {
        Some(value) => Ok(value),
        None if is_integer(word) => Err(format!("a number of more than {DIGITS_MAX} digits")),
        None => Err("non-integer argument".to_string()),
    };
    let (left, right) = (number(left)?, number(right)?);
    let value = match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        _ if right == BigInt::ZERO => return Err("division by zero".to_string()),
        "/" => left / right,
        _ => left % right,
    };
    Ok(value.to_string())
}

fn is_integer(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The number that a word is, unless it is too long to be one.
fn integer(word: &str) -> Option<BigInt> {
    let fits = word.len() <= DIGITS_MAX && is_integer(word);
    fits.then(|| word.parse().ok()).flatten()
}

fn is_null(value: &str) -> bool {
    value.is_empty() || (is_integer(value) && value.bytes().all(|byte| matches!(byte, b'-' | b'0')))
}

/// What of the beginning of a text fits a basic regular expression: its first group, or how many letters.
fn fit(text: &str, pattern: &str) -> Result<String, String> {
    let translated = format!("^(?s:{})", translate(pattern));
    let regex = RegexBuilder::new(&translated).size_limit(PATTERN_BYTES_MAX).build();
    let regex = regex.map_err(|_| "Invalid regular expression".to_string())?;
    let group = regex.captures_len() > 1;
    Ok(match regex.captures(text) {
        Some(found) if group => found.get(1).map_or("", |found| found.as_str()).to_string(),
        Some(found) => found.get(0).map_or(0, |found| found.as_str().chars().count()).to_string(),
        None if group => String::new(),
        None => "0".to_string(),
    })
}

/// A basic regular expression in the notation of the `regex` crate.
fn translate(pattern: &str) -> String {
    let mut out = String::new();
    let mut letters = pattern.chars().peekable();
    // Where a star is only a star.
    let mut beginning = true;
    while let Some(letter) = letters.next() {
        let was_beginning = std::mem::replace(&mut beginning, false);
        match letter {
            '\\' => match letters.next() {
                Some(special @ ('(' | '|')) => {
                    out.push(special);
                    beginning = true;
                }
                Some(special @ (')' | '{' | '}' | '+' | '?')) => out.push(special),
                Some(class @ ('w' | 'W' | 's' | 'S' | 'b' | 'B')) => out.extend(['\\', class]),
                Some('<' | '>') => out.push_str("\\b"),
                Some('`') => out.push_str("\\A"),
                Some('\'') => out.push_str("\\z"),
                Some(other) => out.push_str(&regex::escape(&other.to_string())),
                None => out.push_str("\\\\"),
            },
            '[' => bracket(&mut letters, &mut out),
            '*' if was_beginning => out.push_str("\\*"),
            '^' if was_beginning => beginning = true,
            '$' if letters.peek().is_none() => out.push_str("\\z"),
            '*' | '.' => out.push(letter),
            other => out.push_str(&regex::escape(&other.to_string())),
        }
    }
    out
}

/// `[…]`, in which a backslash is only a backslash.
fn bracket(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    out.push('[');
    if letters.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    if letters.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    while let Some(letter) = letters.next() {
        match letter {
            ']' => {
                out.push(']');
                return;
            }
            '[' if letters.peek() == Some(&':') => {
                out.push('[');
                for inner in letters.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            '[' | '\\' | '&' | '~' => out.extend(['\\', letter]),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(line: &str) -> Result<String, String> {
        evaluate(&line.split(' ').map(str::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn expressions_have_values() {
        for (line, display) in [
            ("1 + 2 * 3", "7"),
            ("( 1 + 2 ) * 3", "9"),
            ("7 / 2", "3"),
            ("-7 % 3", "-1"),
            ("99999999999999999999 + 1", "100000000000000000000"),
            ("2 < 10", "1"),
            ("b < a", "0"),
            ("a = a", "1"),
            ("0 | x", "x"),
            ("a & 0", "0"),
            ("length hello", "5"),
            ("substr hello 2 3", "ell"),
            ("substr hello 0 3", ""),
            ("index hello l", "3"),
            ("match abc a.", "2"),
            ("hello : h\\(.*\\)o", "ell"),
            ("abc : a", "1"),
            ("abc : b", "0"),
            ("abc : \\(b\\)", ""),
            ("file.tar.gz : \\(.*\\)\\.gz$", "file.tar"),
            ("a+b : a+b", "3"),
            ("aab : a\\{2\\}", "2"),
            ("x]y : x[]]y", "3"),
            ("12 : [[:digit:]]*", "2"),
            ("*x : *x", "2"),
            ("+ length", "length"),
        ] {
            assert_eq!(value(line).as_deref(), Ok(display), "{line}");
        }
    }

    #[test]
    fn wrong_ones_are_refused() {
        for (line, why) in [
            ("1 +", "syntax error: missing argument after '+'"),
            ("length", "syntax error: missing argument after 'length'"),
            ("1 2", "syntax error: unexpected argument '2'"),
            ("a + 1", "non-integer argument"),
            ("1 / 0", "division by zero"),
            ("( 1", "syntax error: expecting ')' after '1'"),
        ] {
            assert_eq!(value(line), Err(why.to_string()), "{line}");
        }
        assert_eq!(evaluate(&[]), Err("missing operand".to_string()));
        assert!(value(&"( ".repeat(10_000)).is_err());
        for word in ["length", "match", "index", "substr"] {
            let words = vec![word.to_string(); 500_000];
            assert_eq!(evaluate(&words), Err("expression too deep".to_string()), "{word}");
        }
        let long = "7".repeat(DIGITS_MAX + 1);
        assert!(value(&format!("{long} * {long}")).is_err_and(|why| why.contains("digits")));
    }

    #[tokio::test]
    async fn its_code_tells_whether_there_is_a_value() {
        let stage = crate::commands::stage::Stage::new().await;
        for (line, code) in [(&["expr", "1"][..], 0), (&["expr", "0"], 1), (&["expr", "1", "-"], 2)] {
            assert_eq!(stage.run("alice", line).await.code, code);
        }
    }
}
