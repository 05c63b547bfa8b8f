//! Tree-walking interpreter of `bc`.

use std::collections::HashMap;
use std::rc::Rc;

use base::limits;
use num_bigint::BigInt;

use super::math;
use super::number::{self, Number};
use super::parse::{Expr, Function, Statement, Variable};

/// What it knows, and what it has printed.
pub(super) struct Machine {
    variables: HashMap<String, Number>,
    arrays: HashMap<(String, BigInt), Number>,
    functions: HashMap<String, Rc<Function>>,
    scale: usize,
    input_base: u32,
    output_base: u32,
    library: bool,
    steps: usize,
    depth: usize,
    pub(super) printed: String,
}

/// How a statement ended.
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return(Number),
    Quit,
}

type Done<T> = Result<T, String>;

impl Machine {
    pub(super) fn new(library: bool) -> Machine {
        Machine {
            variables: HashMap::new(),
            arrays: HashMap::new(),
            functions: HashMap::new(),
            scale: if library { 20 } else { 0 },
            input_base: 10,
            output_base: 10,
            library,
            steps: 0,
            depth: 0,
            printed: String::new(),
        }
    }

    pub(super) fn run(&mut self, statements: &[Statement]) -> Done<Flow> {
        for statement in statements {
            match self.statement(statement)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    /// Counts what is done, so that no program goes on for ever.
    fn step(&mut self) -> Done<()> {
        self.steps += 1;
        if self.steps > limits::native_shell::BC_STEPS_MAX
            || self.printed.len() > limits::native_shell::STREAM_MAX_BYTES
        {
            return Err("the program takes too long".to_string());
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Done<Flow> {
        self.step()?;
        match statement {
            Statement::Expr(expr) => {
                let value = self.value(expr)?;
                if !matches!(expr, Expr::Assign(..)) {
                    let text = self.show(&value);
                    self.printed.push_str(&text);
                    self.printed.push('\n');
                }
            }
            Statement::Text(text) => self.printed.push_str(text),
            Statement::Print(parts) => {
                for part in parts {
                    match part {
                        Statement::Text(text) => self.printed.push_str(&unescape(text)),
                        Statement::Expr(expr) => {
                            let value = self.value(expr)?;
                            let text = self.show(&value);
                            self.printed.push_str(&text);
                        }
                        _ => {}
                    }
                }
            }
            Statement::Block(body) => return self.run(body),
            Statement::If(test, then, other) => {
                if !self.value(test)?.is_zero() {
                    return self.statement(then);
                }
                if let Some(other) = other {
                    return self.statement(other);
                }
            }
            Statement::While(test, body) => return self.repeat(Some(test), None, body),
            Statement::For(first, test, next, body) => {
                if let Some(first) = first {
                    self.value(first)?;
                }
                return self.repeat(test.as_ref(), next.as_ref(), body);
            }
            Statement::Return(value) => {
                let value = value.as_ref().map(|value| self.value(value)).transpose()?;
                return Ok(Flow::Return(value.unwrap_or_else(|| Number::whole(0))));
            }
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
            Statement::Quit => return Ok(Flow::Quit),
            Statement::Define(name, function) => {
                self.functions.insert(name.clone(), function.clone());
            }
        }
        Ok(Flow::Next)
    }

    fn repeat(&mut self, test: Option<&Expr>, next: Option<&Expr>, body: &Statement) -> Done<Flow> {
        loop {
            self.step()?;
            if let Some(test) = test
                && self.value(test)?.is_zero()
            {
                return Ok(Flow::Next);
            }
            match self.statement(body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                other => return Ok(other),
            }
            if let Some(next) = next {
                self.value(next)?;
            }
        }
    }

    fn show(&self, value: &Number) -> String {
        let text = value.in_base(self.output_base);
        let letters: Vec<char> = text.chars().collect();
        if letters.len() < LINE {
            return text;
        }
        letters.chunks(LINE - 1).map(|line| line.iter().collect::<String>()).collect::<Vec<_>>().join("\\\n")
    }

    fn value(&mut self, expr: &Expr) -> Done<Number> {
        match expr {
            Expr::Number(text) => Ok(number::parse(text, self.input_base)),
            Expr::Variable(place) => self.read(place),
            Expr::Assign(place, operator, value) => {
                let mut value = self.value(value)?;
                if let Some(operator) = operator {
                    let old = self.read(place)?;
                    value = self.operate(*operator, &old, &value)?;
                }
                self.write(place, value)
            }
            Expr::Step(place, before, by) => {
                let old = self.read(place)?;
                let new = self.write(place, old.add(&Number::whole(*by)))?;
                Ok(if *before { new } else { old })
            }
            Expr::Negate(value) => Ok(self.value(value)?.negated()),
            Expr::Not(value) => Ok(truth(self.value(value)?.is_zero())),
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let order = left.compare(&right);
                Ok(match *operator {
                    "||" => truth(!left.is_zero() || !right.is_zero()),
                    "&&" => truth(!left.is_zero() && !right.is_zero()),
                    "==" => truth(order.is_eq()),
                    "!=" => truth(order.is_ne()),
                    "<=" => truth(order.is_le()),
                    ">=" => truth(order.is_ge()),
                    "<" => truth(order.is_lt()),
                    ">" => truth(order.is_gt()),
                    operator => return self.operate(operator.chars().next().unwrap_or('+'), &left, &right),
                })
            }
            Expr::Call(name, arguments) => self.call(name, arguments),
        }
    }

    fn operate(&mut self, operator: char, left: &Number, right: &Number) -> Done<Number> {
        self.step()?;
        let zero = || "divide by zero".to_string();
        let value = match operator {
            '+' => left.add(right),
            '-' => left.subtract(right),
            '*' => left.multiply(right, self.scale),
            '/' => left.divide(right, self.scale).ok_or_else(zero)?,
            '%' => left.remainder(right, self.scale).ok_or_else(zero)?,
            _ => {
                let exponent =
                    i32::try_from(right.integer()).map_err(|_| "exponent too large".to_string())?;
                let bits = left.digits.bits().max(1).saturating_mul(exponent.unsigned_abs().into());
                if bits > limits::native_shell::BC_BITS_MAX {
                    return Err("the number is too large".to_string());
                }
                left.power(exponent, self.scale).ok_or_else(zero)?
            }
        };
        if value.digits.bits() > limits::native_shell::BC_BITS_MAX {
            return Err("the number is too large".to_string());
        }
        Ok(value)
    }

    fn read(&mut self, place: &Variable) -> Done<Number> {
        Ok(match place {
            Variable::Variable(name) => match name.as_str() {
                "scale" => Number::whole(self.scale),
                "ibase" => Number::whole(self.input_base),
                "obase" => Number::whole(self.output_base),
                name => self.variables.get(name).cloned().unwrap_or_else(|| Number::whole(0)),
            },
            Variable::Element(name, index) => {
                let key = (name.clone(), self.value(index)?.integer());
                self.arrays.get(&key).cloned().unwrap_or_else(|| Number::whole(0))
            }
        })
    }

    fn write(&mut self, place: &Variable, value: Number) -> Done<Number> {
        let small = |most: u32| u32::try_from(value.integer()).unwrap_or(0).min(most);
        match place {
            Variable::Variable(name) => match name.as_str() {
                "scale" => self.scale = small(limits::native_shell::BC_SCALE_MAX) as usize,
                "ibase" => self.input_base = small(16).max(2),
                "obase" => self.output_base = small(999_999_999).max(2),
                name => {
                    self.variables.insert(name.to_string(), value.clone());
                }
            },
            Variable::Element(name, index) => {
                let key = (name.clone(), self.value(index)?.integer());
                self.arrays.insert(key, value.clone());
            }
        }
        Ok(value)
    }

    fn call(&mut self, name: &str, arguments: &[Expr]) -> Done<Number> {
        self.step()?;
        let values = arguments.iter().map(|argument| self.value(argument)).collect::<Done<Vec<_>>>()?;
        if let Some(function) = self.functions.get(name).cloned() {
            return self.call_own(name, &function, values);
        }
        let [value] = values.as_slice() else { return Err(format!("Function {name} not defined.")) };
        match name {
            "sqrt" => value.root(self.scale).ok_or_else(|| "square root of a negative number".to_string()),
            "length" => {
                let digits = value.digits.magnitude().to_string().len();
                Ok(Number::whole(digits.max(value.scale)))
            }
            "scale" => Ok(Number::whole(value.scale)),
            "s" | "c" | "a" | "l" | "e" if self.library => {
                if value.digits.bits() > u64::from(limits::native_shell::BC_SCALE_MAX)
                    || self.scale > MATH_SCALE_MAX
                {
                    return Err("the number is too large".to_string());
                }
                math::call(name, value, self.scale)
                    .ok_or_else(|| format!("{name}({}) has no value", value.decimal()))
            }
            _ => Err(format!("Function {name} not defined.")),
        }
    }

    fn call_own(&mut self, name: &str, function: &Function, values: Vec<Number>) -> Done<Number> {
        if values.len() != function.parameters.len() {
            return Err(format!("Parameter number mismatch in {name}"));
        }
        self.depth += 1;
        if self.depth > limits::native_shell::BC_CALLS_MAX {
            return Err("functions are nested too deeply".to_string());
        }
        let names = function.parameters.iter().chain(&function.locals);
        let mut kept = Vec::new();
        let locals = function.locals.iter().map(|_| Number::whole(0));
        for (name, value) in names.zip(values.into_iter().chain(locals)) {
            kept.push((name.clone(), self.variables.insert(name.clone(), value)));
        }
        let flow = self.run(&function.body);
        for (name, value) in kept.into_iter().rev() {
            match value {
                Some(value) => self.variables.insert(name, value),
                None => self.variables.remove(&name),
            };
        }
        self.depth -= 1;
        Ok(match flow? {
            Flow::Return(value) => value,
            _ => Number::whole(0),
        })
    }
}

/// How wide a line of digits is.
const LINE: usize = 70;
/// The functions of the library take long with more digits.
const MATH_SCALE_MAX: usize = 2_000;

fn truth(is: bool) -> Number {
    Number::whole(u8::from(is))
}

/// The escapes of `print`.
fn unescape(text: &str) -> String {
    let (mut out, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('a') => out.push('\x07'),
            Some('q') => out.push('"'),
            Some('\\') | None => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
        }
    }
    out
}
