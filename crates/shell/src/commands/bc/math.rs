//! Power series of the functions of `bc -l`, with guard digits.

use super::number::Number;

const GUARD: usize = 12;

/// `s`, `c`, `a`, `l`, `e` at a scale; `None` when there is no such function or no such value.
pub(super) fn call(name: &str, x: &Number, scale: usize) -> Option<Number> {
    // What is large loses digits before the point.
    let wide = scale + GUARD + x.integer().to_string().len();
    let value = match name {
        "e" => exponential(x, wide)?,
        "l" => logarithm(x, wide)?,
        "s" => sine(x, wide)?,
        "c" => sine(&quarter(wide)?.subtract(x), wide)?,
        "a" => arctangent(x, wide)?,
        _ => return None,
    };
    Some(value.at(scale))
}

fn small(value: i64) -> Number {
    Number::whole(value)
}

/// Sums terms until they vanish; each is made of the one before and its number.
fn series(first: Number, wide: usize, next: impl Fn(&Number, i64) -> Option<Number>) -> Option<Number> {
    let (mut sum, mut term, mut at) = (first.at(wide), first.at(wide), 1);
    while !term.is_zero() {
        term = next(&term, at)?.at(wide);
        sum = sum.add(&term);
        at += 1;
    }
    Some(sum)
}

fn exponential(x: &Number, wide: usize) -> Option<Number> {
    // e^x = (e^(x/2^k))^(2^k), so that the series is short.
    let size = x.integer();
    let mut halvings = 0;
    let mut left = if size < 0.into() { -size } else { size };
    while left > 0.into() {
        left /= 2;
        halvings += 1;
    }
    if halvings > 24 {
        return None;
    }
    let wide = wide + (1 << halvings.min(12));
    let x = x.divide(&small(1 << halvings), wide)?;
    let mut value = series(small(1), wide, |term, at| term.multiply(&x, wide).divide(&small(at), wide))?;
    for _ in 0..halvings {
        value = value.multiply(&value, wide).at(wide);
    }
    Some(value)
}

fn logarithm(x: &Number, wide: usize) -> Option<Number> {
    if x.is_zero() || x.is_negative() {
        return None;
    }
    // ln x = 2^k ln x^(1/2^k), near one the series of the area tangent is short.
    let (mut x, mut doublings) = (x.at(wide), 0);
    let near = |x: &Number| {
        x.compare(&Number { digits: 9.into(), scale: 1 }).is_gt()
            && x.compare(&Number { digits: 11.into(), scale: 1 }).is_lt()
    };
    while !near(&x) {
        x = x.root(wide)?;
        doublings += 1;
    }
    let ratio = x.subtract(&small(1)).divide(&x.add(&small(1)), wide)?;
    let square = ratio.multiply(&ratio, wide);
    let (mut sum, mut power, mut at) = (ratio.clone(), ratio, 3);
    while !power.is_zero() {
        power = power.multiply(&square, wide).at(wide);
        sum = sum.add(&power.divide(&small(at), wide)?);
        at += 2;
    }
    Some(sum.multiply(&small(2 << doublings), wide))
}

fn sine(x: &Number, wide: usize) -> Option<Number> {
    let turn = quarter(wide)?.multiply(&small(4), wide);
    let x = x.subtract(&Number::whole(x.divide(&turn, 0)?.digits).multiply(&turn, wide));
    let square = x.multiply(&x, wide).at(wide);
    series(x, wide, |term, at| {
        term.multiply(&square, wide).divide(&small(2 * at * (2 * at + 1)), wide).map(|term| term.negated())
    })
}

fn arctangent(x: &Number, wide: usize) -> Option<Number> {
    // atan x = 2 atan(x / (1 + sqrt(1 + x²))), until it is small.
    let (mut x, mut doublings) = (x.at(wide), 0);
    let tenth = Number { digits: 1.into(), scale: 1 };
    while x.multiply(&x, wide).compare(&tenth.multiply(&tenth, 2)).is_gt() {
        let below = x.multiply(&x, wide).add(&small(1)).root(wide)?.add(&small(1));
        x = x.divide(&below, wide)?;
        doublings += 1;
    }
    let square = x.multiply(&x, wide).at(wide).negated();
    let (mut sum, mut power, mut at) = (x.clone(), x, 3);
    while !power.is_zero() {
        power = power.multiply(&square, wide).at(wide);
        sum = sum.add(&power.divide(&small(at), wide)?);
        at += 2;
    }
    Some(sum.multiply(&small(1 << doublings), wide))
}

/// A quarter of a turn: π/2.
fn quarter(wide: usize) -> Option<Number> {
    Some(arctangent(&small(1), wide)?.multiply(&small(2), wide))
}
