//! Streaming replacements of `yes` and `seq`, without an end of their own: the interpreter's stop after some lines and
//! go on as if that were all. These write until nobody reads, or the script's own limits are reached.

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandOutput, CommandStatus};

/// What is gathered before it is written.
const BLOCK_BYTES: usize = 4096;

/// `yes [STRING]...`
pub(crate) struct Yes;

#[async_trait]
impl Command for Yes {
    async fn execute(&self, ctx: CommandContext<'_>) -> bashkit::Result<CommandStatus> {
        let words = ctx.args.strip_prefix(["--".to_string()].as_slice()).unwrap_or(ctx.args);
        let line = if words.is_empty() { "y\n".to_string() } else { words.join(" ") + "\n" };
        let block = line.repeat((BLOCK_BYTES / line.len()).max(1));
        loop {
            ctx.stdout.write_all(block.as_bytes()).await?;
            // What is thrown away is never waited for; others on this thread are to have their turn.
            tokio::task::yield_now().await;
        }
    }
}

/// `seq [OPTION]... [FIRST [INCREMENT]] LAST`
pub(crate) struct Seq;

#[async_trait]
impl Command for Seq {
    async fn execute(&self, ctx: CommandContext<'_>) -> bashkit::Result<CommandStatus> {
        match Series::parse(ctx.args) {
            Ok(series) => series.write(&ctx.stdout).await.map(|()| CommandStatus::success()),
            Err(why) => {
                ctx.stderr.write_all(format!("seq: {why}\n").as_bytes()).await?;
                Ok(CommandStatus::with_code(1))
            }
        }
    }
}

/// Numbers as whole multiples of a power of ten, so that they are exact.
#[derive(Debug, PartialEq)]
struct Series {
    first: i128,
    step: i128,
    last: i128,
    decimals: usize,
    separator: String,
    format: Option<Format>,
    width: usize,
}

#[derive(Debug, PartialEq)]
struct Format {
    before: String,
    after: String,
    zeros: bool,
    left: bool,
    width: usize,
    precision: Option<usize>,
}

impl Series {
    fn parse(args: &[String]) -> Result<Series, String> {
        let (mut separator, mut format, mut equal_width) = ("\n".to_string(), None, false);
        let mut numbers: Vec<&str> = Vec::new();
        let mut rest = args.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            let mut value = |long: &str, short: &str| {
                let attached = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
                let attached = attached.or(word.strip_prefix(short).filter(|rest| !rest.is_empty()));
                attached.or_else(|| rest.next()).map(str::to_string)
            };
            match word {
                "-w" | "--equal-width" => equal_width = true,
                _ if word.starts_with("-s") || word.starts_with("--separator") => {
                    separator = value("--separator", "-s").ok_or("option requires an argument -- 's'")?;
                }
                _ if word.starts_with("-f") || word.starts_with("--format") => {
                    format = Some(Format::parse(
                        &value("--format", "-f").ok_or("option requires an argument -- 'f'")?,
                    )?);
                }
                "--" => numbers.extend(rest.by_ref()),
                _ => numbers.push(word),
            }
        }
        let (first, step, last) = match numbers.as_slice() {
            [last] => ("1", "1", *last),
            [first, last] => (*first, "1", *last),
            [first, step, last] => (*first, *step, *last),
            [] => return Err("missing operand".into()),
            [_, _, _, extra, ..] => return Err(format!("extra operand '{extra}'")),
        };
        let decimals = decimals(first).max(decimals(step));
        let scaled =
            |text: &str| scaled(text, decimals).ok_or(format!("invalid floating point argument: '{text}'"));
        let (first, step, last) = (scaled(first)?, scaled(step)?, scaled(last)?);
        if step == 0 {
            return Err(format!("invalid Zero increment value: '{}'", numbers[1]));
        }
        let mut series = Series { first, step, last, decimals, separator, format, width: 0 };
        if equal_width {
            series.width = series.plain(first).len().max(series.plain(last).len());
        }
        Ok(series)
    }

    async fn write(&self, out: &CommandOutput) -> bashkit::Result<()> {
        let mut block = String::with_capacity(BLOCK_BYTES + 64);
        let mut number = self.first;
        let goes_on = |number: i128| if self.step > 0 { number <= self.last } else { number >= self.last };
        while goes_on(number) {
            block.push_str(&self.formatted(number));
            number = number.saturating_add(self.step);
            block.push_str(if goes_on(number) { &self.separator } else { "\n" });
            if block.len() >= BLOCK_BYTES {
                out.write_all(block.as_bytes()).await?;
                block.clear();
                tokio::task::yield_now().await;
            }
        }
        if block.is_empty() { Ok(()) } else { out.write_all(block.as_bytes()).await }
    }

    fn formatted(&self, number: i128) -> String {
        match &self.format {
            Some(format) => format.apply(number, self.decimals),
            None => {
                let plain = self.plain(number);
                let missing = self.width.saturating_sub(plain.len());
                match plain.strip_prefix('-') {
                    Some(digits) if missing > 0 => format!("-{}{digits}", "0".repeat(missing)),
                    _ => "0".repeat(missing) + &plain,
                }
            }
        }
    }

    fn plain(&self, number: i128) -> String {
        fixed(number, self.decimals, self.decimals)
    }
}

impl Format {
    /// One `%` directive for a number, and text around it.
    fn parse(text: &str) -> Result<Format, String> {
        let bad = || format!("format '{text}' is not one that is known here");
        let (before, directive) = text.split_once('%').ok_or_else(bad)?;
        let end = directive
            .find(['g', 'f', 'e'])
            .filter(|end| directive[*end..].starts_with(['g', 'f']))
            .ok_or_else(bad)?;
        let (spec, letter) = (&directive[..end], &directive[end..=end]);
        let flags = spec.len() - spec.trim_start_matches(['0', '-', '+', ' ']).len();
        let (flags, size) = spec.split_at(flags);
        let (width, precision) =
            size.split_once('.').map_or((size, None), |(width, precision)| (width, Some(precision)));
        let number = |text: &str| if text.is_empty() { Ok(0) } else { text.parse().map_err(|_| bad()) };
        let precision = precision.map(number).transpose()?;
        Ok(Format {
            before: before.to_string(),
            after: directive[end + 1..].to_string(),
            zeros: flags.contains('0') && !flags.contains('-'),
            left: flags.contains('-'),
            width: number(width)?.min(BLOCK_BYTES),
            precision: if letter == "f" { Some(precision.unwrap_or(6).min(100)) } else { None },
        })
    }

    fn apply(&self, number: i128, decimals: usize) -> String {
        let text = match self.precision {
            Some(precision) => fixed(number, decimals, precision),
            None => {
                let text = fixed(number, decimals, decimals);
                if text.contains('.') {
                    text.trim_end_matches('0').trim_end_matches('.').to_string()
                } else {
                    text
                }
            }
        };
        let width = self.width;
        let padded = match (self.left, self.zeros) {
            (true, _) => format!("{text:<width$}"),
            (false, false) => format!("{text:>width$}"),
            (false, true) => {
                let missing = width.saturating_sub(text.len());
                match text.strip_prefix('-') {
                    Some(digits) => format!("-{}{digits}", "0".repeat(missing)),
                    None => "0".repeat(missing) + &text,
                }
            }
        };
        format!("{}{padded}{}", self.before, self.after)
    }
}

/// Digits after the point.
fn decimals(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

/// A number times a power of ten; digits beyond are cut.
fn scaled(text: &str, decimals: usize) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_number(whole) || !is_number(fraction) || decimals > 15 {
        return None;
    }
    let fraction: String = fraction.chars().chain(std::iter::repeat('0')).take(decimals).collect();
    let number: i128 = format!("{whole}{fraction}").parse().ok()?;
    Some(if negative { -number } else { number })
}

/// A number that was scaled by `decimals`, with so many digits after the point.
fn fixed(number: i128, decimals: usize, precision: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", number.unsigned_abs(), width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    if precision == 0 {
        return format!("{sign}{whole}");
    }
    let fraction: String = fraction.chars().chain(std::iter::repeat('0')).take(precision).collect();
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seq(line: &str) -> Result<Vec<String>, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        let series = Series::parse(&args)?;
        let mut numbers = Vec::new();
        let mut number = series.first;
        while if series.step > 0 { number <= series.last } else { number >= series.last } {
            numbers.push(series.formatted(number));
            number += series.step;
        }
        Ok(numbers)
    }

    #[test]
    fn series_are_those_of_coreutils() {
        for (line, expected) in [
            ("3", "1 2 3"),
            ("2 4", "2 3 4"),
            ("5 -2 1", "5 3 1"),
            ("-2 1", "-2 -1 0 1"),
            ("3 1", ""),
            ("-w 8 11", "08 09 10 11"),
            ("-w -1 1", "-1 00 01"),
            ("0 0.25 0.6", "0.00 0.25 0.50"),
            ("1 0.5 2", "1.0 1.5 2.0"),
            ("-f %03g 9 10", "009 010"),
            ("-f %.2f 1 2", "1.00 2.00"),
            ("-f a%gb 1 1", "a1b"),
        ] {
            assert_eq!(seq(line).unwrap().join(" "), expected, "{line}");
        }
        for line in ["", "x", "1 0 2", "1 2 3 4", "-f x 3"] {
            assert!(seq(line).is_err(), "{line}");
        }
    }
}
