//! Arbitrary-precision decimals: a whole number and how many of its digits are behind the point.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

/// A number with as many digits behind the point as `scale` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) digits: BigInt,
    pub(super) scale: usize,
}

pub(super) fn ten(power: usize) -> BigInt {
    BigInt::from(10).pow(u32::try_from(power).unwrap_or(u32::MAX))
}

impl Number {
    pub(super) fn whole(value: impl Into<BigInt>) -> Number {
        Number { digits: value.into(), scale: 0 }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits == BigInt::ZERO
    }

    pub(super) fn is_negative(&self) -> bool {
        self.digits.sign() == Sign::Minus
    }

    /// The same with another number of digits behind the point; what is too much is cut off.
    pub(super) fn at(&self, scale: usize) -> Number {
        let digits = match scale.cmp(&self.scale) {
            Ordering::Less => &self.digits / ten(self.scale - scale),
            Ordering::Equal => self.digits.clone(),
            Ordering::Greater => &self.digits * ten(scale - self.scale),
        };
        Number { digits, scale }
    }

    pub(super) fn integer(&self) -> BigInt {
        self.at(0).digits
    }

    pub(super) fn negated(&self) -> Number {
        Number { digits: -&self.digits, scale: self.scale }
    }

    fn aligned(&self, other: &Number) -> (BigInt, BigInt, usize) {
        let scale = self.scale.max(other.scale);
        (self.at(scale).digits, other.at(scale).digits, scale)
    }

    pub(super) fn add(&self, other: &Number) -> Number {
        let (a, b, scale) = self.aligned(other);
        Number { digits: a + b, scale }
    }

    pub(super) fn subtract(&self, other: &Number) -> Number {
        self.add(&other.negated())
    }

    pub(super) fn multiply(&self, other: &Number, scale: usize) -> Number {
        let all = self.scale + other.scale;
        let product = Number { digits: &self.digits * &other.digits, scale: all };
        product.at(all.min(scale.max(self.scale).max(other.scale)))
    }

    /// `None` when it is by zero.
    pub(super) fn divide(&self, other: &Number, scale: usize) -> Option<Number> {
        if other.is_zero() {
            return None;
        }
        let above = self.at(self.scale.max(scale + other.scale));
        let digits = &above.digits / &other.digits;
        Some(Number { digits, scale: above.scale - other.scale }.at(scale))
    }

    pub(super) fn remainder(&self, other: &Number, scale: usize) -> Option<Number> {
        let quotient = self.divide(other, scale)?;
        let wide = self.scale.max(scale + other.scale);
        Some(self.subtract(&quotient.multiply(other, wide)).at(wide))
    }

    /// `None` when it is zero to a negative power.
    pub(super) fn power(&self, exponent: i32, scale: usize) -> Option<Number> {
        let times = exponent.unsigned_abs();
        let all = self.scale.saturating_mul(times as usize);
        let power = Number { digits: self.digits.pow(times), scale: all };
        match exponent {
            0.. => Some(power.at(all.min(scale.max(self.scale)))),
            _ => Number::whole(1).divide(&power, scale),
        }
    }

    /// `None` when it is negative.
    pub(super) fn root(&self, scale: usize) -> Option<Number> {
        if self.is_negative() {
            return None;
        }
        let scale = scale.max(self.scale);
        Some(Number { digits: self.at(scale * 2).digits.sqrt(), scale })
    }

    pub(super) fn compare(&self, other: &Number) -> Ordering {
        let (a, b, _) = self.aligned(other);
        a.cmp(&b)
    }

    /// In base ten: `-.5`, `12.340`, `0`.
    pub(super) fn decimal(&self) -> String {
        if self.is_zero() {
            return "0".to_string();
        }
        let sign = if self.is_negative() { "-" } else { "" };
        let digits = format!("{:0>width$}", self.digits.magnitude().to_string(), width = self.scale);
        let (whole, fraction) = digits.split_at(digits.len() - self.scale);
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{whole}{point}{fraction}")
    }

    /// In another base. Above sixteen a digit is a decimal number behind a blank.
    pub(super) fn in_base(&self, base: u32) -> String {
        if base == 10 || self.is_zero() {
            return self.decimal();
        }
        let wide = (base - 1).to_string().len();
        let digit = |value: u32| match base {
            ..=16 => char::from_digit(value, 16).unwrap_or('?').to_ascii_uppercase().to_string(),
            _ => format!(" {value:0wide$}"),
        };
        let mut out = if self.is_negative() { "-".to_string() } else { String::new() };
        let whole = self.integer();
        let (mut rest, mut digits) = (whole.magnitude().clone(), Vec::new());
        while rest != num_bigint::BigUint::ZERO {
            digits.push(u32::try_from(&rest % base).unwrap_or(0));
            rest /= base;
        }
        out.extend(digits.into_iter().rev().map(digit));
        if self.scale > 0 {
            out.push('.');
            let one = ten(self.scale);
            let mut rest = BigInt::from(self.digits.magnitude().clone()) % &one;
            // As many digits as the decimal ones need.
            let mut display = BigInt::from(1);
            while display < one {
                rest *= base;
                out.push_str(&digit(u32::try_from(&rest / &one).unwrap_or(0)));
                rest %= &one;
                display *= base;
            }
        }
        out
    }
}

/// A number as it is written in a base; digits that the base does not have count as its highest.
pub(super) fn parse(text: &str, base: u32) -> Number {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let alone = whole.len() + fraction.len() == 1;
    let value = |letter: char| {
        let digit = letter.to_digit(16).unwrap_or(0);
        if alone { digit } else { digit.min(base - 1) }
    };
    let read = |digits: &str| digits.chars().fold(BigInt::ZERO, |sum, letter| sum * base + value(letter));
    if base == 10 {
        return Number { digits: read(&format!("{whole}{fraction}")), scale: fraction.len() };
    }
    let below = BigInt::from(base).pow(u32::try_from(fraction.len()).unwrap_or(u32::MAX));
    let scale = fraction.len();
    Number { digits: read(whole) * ten(scale) + read(fraction) * ten(scale) / below, scale }
}
