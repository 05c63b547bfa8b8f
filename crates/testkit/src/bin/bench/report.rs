//! Report printer: rows of results as a table for people, Markdown for the documentation, or JSON.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

const BEGIN: &str = "<!-- bench:begin (written by cargo xtask bench) -->";
const END: &str = "<!-- bench:end -->";
const HEADS: [&str; 6] = ["what", "gateway", "baseline", "ratio", "bar", "met"];

/// Everything one call of the program found out.
#[derive(Serialize)]
pub(crate) struct Report {
    /// How to repeat it.
    pub command: String,
    /// Where it ran.
    pub machine: String,
    /// How long and how often.
    pub effort: String,
    /// The results.
    pub rows: Vec<Row>,
}

/// One result.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    what: String,
    unit: String,
    gateway: Option<f64>,
    baseline: Option<f64>,
    ratio: Option<Spread>,
    bar: Option<Bar>,
    met: Option<bool>,
    note: Option<String>,
}

/// What a result should reach.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Bar {
    /// The ratio, or the figure where there is no baseline, must not be lower.
    AtLeast(f64),
    /// It must not be higher.
    AtMost(f64),
    /// It should not be higher.
    AimAtMost(f64),
}

/// The median of several figures, with the lowest and the highest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    median: f64,
    low: f64,
    high: f64,
}

impl Spread {
    /// Of figures in any order; of none, nothing but NaN.
    pub(crate) fn of(mut figures: Vec<f64>) -> Spread {
        figures.sort_by(f64::total_cmp);
        let middle = figures.len() / 2;
        let median = match (figures.get(middle), figures.len() % 2) {
            (Some(upper), 0) => (figures[middle - 1] + upper) / 2.0,
            (Some(median), _) => *median,
            (None, _) => f64::NAN,
        };
        let end = |figure: Option<&f64>| figure.copied().unwrap_or(f64::NAN);
        Spread { median, low: end(figures.first()), high: end(figures.last()) }
    }

    /// The figure in the middle.
    pub(crate) fn median(&self) -> f64 {
        self.median
    }

    /// The median with the lowest and the highest behind it.
    pub(crate) fn text(&self) -> String {
        format!("{:.2} ({:.2} to {:.2})", self.median, self.low, self.high)
    }
}

impl Row {
    /// The gateway against a baseline; the bar is on the median ratio.
    pub(crate) fn ratio(
        what: &str,
        unit: &str,
        gateway: Spread,
        baseline: Spread,
        ratio: Spread,
        bar: Option<Bar>,
    ) -> Row {
        Row {
            what: what.into(),
            unit: unit.into(),
            gateway: Some(gateway.median),
            baseline: Some(baseline.median),
            ratio: Some(ratio),
            bar,
            met: bar.map(|bar| bar.met_by(ratio.median)),
            note: None,
        }
    }

    /// A figure of the gateway alone, with one for orientation where there is one; the bar is on the figure.
    pub(crate) fn figure(what: &str, unit: &str, gateway: f64, baseline: Option<f64>, bar: Bar) -> Row {
        Row {
            what: what.into(),
            unit: unit.into(),
            gateway: Some(gateway),
            baseline,
            ratio: None,
            bar: Some(bar),
            met: Some(bar.met_by(gateway)),
            note: None,
        }
    }

    /// A measure that failed.
    pub(crate) fn could_not_run(name: &str, why: &str) -> Row {
        Row {
            what: format!("{name}: could not run"),
            unit: String::new(),
            gateway: None,
            baseline: None,
            ratio: None,
            bar: None,
            met: None,
            note: Some(why.into()),
        }
    }

    /// Adds a remark that is printed under the table.
    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Row {
        self.note = Some(note.into());
        self
    }

    fn cells(&self) -> [String; 6] {
        let number = |figure: Option<f64>| match figure {
            Some(figure) if self.unit.is_empty() => decimals(figure),
            Some(figure) => format!("{} {}", decimals(figure), self.unit),
            None => String::new(),
        };
        let bar = match self.bar {
            Some(bar) if self.ratio.is_some() => bar.text(""),
            Some(bar) => bar.text(&self.unit),
            None => String::new(),
        };
        let ratio = self.ratio.map(|ratio| ratio.text());
        let met = self.met.map_or("", |met| if met { "yes" } else { "no" });
        [
            self.what.clone(),
            number(self.gateway),
            number(self.baseline),
            ratio.unwrap_or_default(),
            bar,
            met.into(),
        ]
    }
}

impl Bar {
    fn met_by(self, figure: f64) -> bool {
        match self {
            Bar::AtLeast(bar) => figure >= bar,
            Bar::AtMost(bar) | Bar::AimAtMost(bar) => figure <= bar,
        }
    }

    fn text(self, unit: &str) -> String {
        let text = match self {
            Bar::AtLeast(bar) => format!("≥ {bar} {unit}"),
            Bar::AtMost(bar) => format!("≤ {bar} {unit}"),
            Bar::AimAtMost(bar) => format!("aim ≤ {bar} {unit}"),
        };
        text.trim_end().into()
    }
}

impl Report {
    /// A table with aligned columns.
    pub(crate) fn to_text(&self) -> String {
        let mut out = self.table(false);
        out.push('\n');
        out.push_str(&self.remarks("", ""));
        out
    }

    /// Everything, for programs.
    pub(crate) fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Replaces the generated part of a Markdown file and leaves the rest.
    pub(crate) fn write_into(&self, path: &Path) -> Result<()> {
        let page = if path.exists() {
            std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?
        } else {
            String::new()
        };
        let generated = format!("{}\n{}", self.table(true), self.remarks("- ", "`"));
        std::fs::write(path, replace_generated(&page, &generated))
            .with_context(|| format!("write {}", path.display()))
    }

    fn table(&self, markdown: bool) -> String {
        let rows: Vec<[String; 6]> = self.rows.iter().map(Row::cells).collect();
        let mut widths = HEADS.map(|head| head.chars().count());
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let rule = widths.map(|width| "-".repeat(width));
        let heads = HEADS.map(String::from);
        let mut out = String::new();
        for line in [&heads, &rule].into_iter().chain(&rows) {
            let cells: Vec<String> = line
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())))
                .collect();
            let text = cells.join(if markdown { " | " } else { "  " });
            let text = if markdown { format!("| {text} |") } else { text.trim_end().to_string() };
            out.push_str(&text);
            out.push('\n');
        }
        out
    }

    fn remarks(&self, bullet: &str, quote: &str) -> String {
        let notes = self.rows.iter().filter_map(|row| {
            let note = row.note.as_ref()?;
            Some(format!("{}: {note}", row.what.trim_start_matches("… ")))
        });
        let frame = [
            format!("machine: {}", self.machine),
            format!("command: {quote}{}{quote}", self.command),
            format!("effort: {}", self.effort),
        ];
        notes.chain(frame).fold(String::new(), |mut out, line| {
            // Writing to a String cannot fail.
            writeln!(out, "{bullet}{line}").unwrap_or_default();
            out
        })
    }
}

fn replace_generated(page: &str, generated: &str) -> String {
    let part = format!("{BEGIN}\n{generated}{END}");
    match (page.find(BEGIN), page.find(END)) {
        (Some(begin), Some(end)) if begin < end => {
            format!("{}{part}{}", &page[..begin], &page[end + END.len()..])
        }
        _ if page.is_empty() => format!("{part}\n"),
        _ => format!("{}\n\n{part}\n", page.trim_end()),
    }
}

/// Three significant digits, and thousands kept apart.
fn decimals(figure: f64) -> String {
    if !figure.is_finite() {
        return "?".into();
    }
    match figure.abs() {
        size if size >= 1_000.0 => thousands(figure.round() as i64),
        size if size >= 100.0 => format!("{figure:.0}"),
        size if size >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

fn thousands(number: i64) -> String {
    let digits = number.abs().to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if number < 0 { format!("-{out}") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let ratio = Row::ratio(
            "cheap call",
            "/s",
            Spread::of(vec![60_000.0]),
            Spread::of(vec![100_000.0]),
            Spread::of(vec![0.5, 0.7, 0.6]),
            Some(Bar::AtLeast(0.6)),
        );
        let figure = Row::figure("memory", "KiB", 20.0, None, Bar::AtMost(16.0)).with_note("why");
        Report {
            command: "cmd".into(),
            machine: "here".into(),
            effort: "some".into(),
            rows: vec![ratio, figure],
        }
    }

    #[test]
    fn the_table_says_what_is_met() {
        let text = report().to_text();
        assert!(
            text.contains("cheap call  60,000 /s  100,000 /s  0.60 (0.50 to 0.70)  ≥ 0.6     yes"),
            "{text}"
        );
        assert!(text.contains("20.0 KiB"), "{text}");
        assert!(text.contains("≤ 16 KiB  no"), "{text}");
        assert!(text.contains("memory: why\n"), "{text}");
    }

    #[test]
    fn hand_written_text_around_the_generated_part_stays() {
        let page = format!("# Title\n\n{BEGIN}\nold\n{END}\n\nafter\n");
        let first = replace_generated(&page, "new\n");
        assert_eq!(first, format!("# Title\n\n{BEGIN}\nnew\n{END}\n\nafter\n"));
        assert_eq!(replace_generated(&first, "new\n"), first);
        assert_eq!(replace_generated("# Title\n", "new\n"), format!("# Title\n\n{BEGIN}\nnew\n{END}\n"));
    }

    #[test]
    fn medians_of_odd_even_and_no_figures() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Spread { median: 2.0, low: 1.0, high: 3.0 });
        assert_eq!(Spread::of(vec![4.0, 1.0]).median(), 2.5);
        assert!(Spread::of(Vec::new()).median().is_nan());
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(decimals(1_234_567.0), "1,234,567");
        assert_eq!(decimals(123.4), "123");
        assert_eq!(decimals(12.34), "12.3");
        assert_eq!(decimals(0.123), "0.12");
    }

    #[test]
    fn json_has_the_rows() {
        let value: serde_json::Value = serde_json::from_str(&report().to_json().unwrap()).unwrap();
        assert_eq!(value["rows"][0]["met"], true);
        assert_eq!(value["rows"][1]["bar"]["atMost"], 16.0);
    }
}
