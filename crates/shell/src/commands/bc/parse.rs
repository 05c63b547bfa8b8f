//! Recursive-descent parser of `bc`: statements and expressions.

use std::rc::Rc;

/// How deep expressions and statements may be nested.
const DEPTH_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Number(String),
    Variable(Variable),
    Assign(Variable, Option<char>, Box<Expr>),
    /// Before or after, and by how much.
    Step(Variable, bool, i8),
    Negate(Box<Expr>),
    Not(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Call(String, Vec<Expr>),
}

/// What can be assigned to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Variable {
    Variable(String),
    Element(String, Box<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    Expr(Expr),
    Text(String),
    Print(Vec<Statement>),
    Block(Vec<Statement>),
    If(Expr, Box<Statement>, Option<Box<Statement>>),
    While(Expr, Box<Statement>),
    For(Option<Expr>, Option<Expr>, Option<Expr>, Box<Statement>),
    Return(Option<Expr>),
    Break,
    Continue,
    Quit,
    Define(String, Rc<Function>),
}

#[derive(Debug, PartialEq)]
pub(super) struct Function {
    pub(super) parameters: Vec<String>,
    pub(super) locals: Vec<String>,
    pub(super) body: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(String),
    Name(String),
    Text(String),
    Symbol(&'static str),
    End,
}

const SYMBOLS: &[&str] = &[
    "+=", "-=", "*=", "/=", "%=", "^=", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+", "-", "*", "/",
    "%", "^", "=", "<", ">", "!", "(", ")", "[", "]", "{", "}", ",", ";",
];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let take = |fits: fn(char) -> bool| rest.find(|c| !fits(c)).unwrap_or(rest.len());
        let length = if first == '\n' {
            out.push(Token::End);
            1
        } else if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("\\\n") {
            2
        } else if rest.starts_with("/*") {
            rest.find("*/").ok_or("a comment does not end")? + 2
        } else if first == '#' {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            let end = rest[1..].find('"').ok_or("a text does not end")?;
            out.push(Token::Text(rest[1..=end].to_string()));
            end + 2
        } else if first.is_ascii_digit() || first == '.' || matches!(first, 'A'..='F') {
            let end = take(|c| c.is_ascii_digit() || c == '.' || matches!(c, 'A'..='F'));
            let number = &rest[..end];
            if number.matches('.').count() > 1 || number == "." {
                return Err("syntax error".to_string());
            }
            out.push(Token::Number(number.to_string()));
            end
        } else if first.is_ascii_lowercase() {
            let end = take(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            out.push(Token::Name(rest[..end].to_string()));
            end
        } else {
            let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
            let symbol = symbol.ok_or_else(|| format!("illegal character: {first}"))?;
            out.push(if *symbol == ";" { Token::End } else { Token::Symbol(symbol) });
            symbol.len()
        };
        rest = &rest[length..];
    }
    Ok(out)
}

/// A whole program.
pub(super) fn parse(text: &str) -> Result<Vec<Statement>, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let mut program = Vec::new();
    while parser.at < parser.tokens.len() {
        if !parser.skip_ends() {
            program.push(parser.statement()?);
            parser.end()?;
        }
    }
    Ok(program)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, String>;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn wrong<T>(&self) -> Parsed<T> {
        Err("syntax error".to_string())
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(found)) if *found == symbol)
    }

    fn take(&mut self, symbol: &str) -> bool {
        let is = self.is(symbol);
        self.at += usize::from(is);
        is
    }

    fn need(&mut self, symbol: &str) -> Parsed<()> {
        if self.take(symbol) { Ok(()) } else { self.wrong() }
    }

    fn word(&mut self, word: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Name(name)) if name == word);
        self.at += usize::from(is);
        is
    }

    fn name(&mut self) -> Parsed<String> {
        let Some(Token::Name(name)) = self.peek().cloned() else { return self.wrong() };
        self.at += 1;
        Ok(name)
    }

    fn skip_ends(&mut self) -> bool {
        let from = self.at;
        while self.peek() == Some(&Token::End) {
            self.at += 1;
        }
        self.at > from
    }

    fn end(&mut self) -> Parsed<()> {
        let after_block =
            matches!(self.at.checked_sub(1).and_then(|at| self.tokens.get(at)), Some(Token::Symbol("}")));
        match self.peek() {
            None | Some(Token::End) => Ok(()),
            Some(Token::Symbol("}")) => Ok(()),
            _ if after_block => Ok(()),
            _ => self.wrong(),
        }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Parser) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("too deeply nested".to_string());
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn statement(&mut self) -> Parsed<Statement> {
        self.deeper(Parser::any_statement)
    }

    fn any_statement(&mut self) -> Parsed<Statement> {
        if let Some(Token::Text(text)) = self.peek().cloned() {
            self.at += 1;
            return Ok(Statement::Text(text));
        }
        if self.take("{") {
            return Ok(Statement::Block(self.block()?));
        }
        let Some(Token::Name(name)) = self.peek().cloned() else {
            return Ok(Statement::Expr(self.expr()?));
        };
        let word = self.at;
        self.at += 1;
        match name.as_str() {
            "define" => self.define(),
            "if" => self.condition(),
            "while" => {
                self.need("(")?;
                let test = self.expr()?;
                self.need(")")?;
                Ok(Statement::While(test, self.body()?))
            }
            "for" => self.counted(),
            "return" => {
                let empty = matches!(self.peek(), None | Some(Token::End | Token::Symbol("}")));
                Ok(Statement::Return(if empty { None } else { Some(self.expr()?) }))
            }
            "print" => self.print(),
            "break" => Ok(Statement::Break),
            "continue" => Ok(Statement::Continue),
            "quit" | "halt" => Ok(Statement::Quit),
            _ => {
                self.at = word;
                Ok(Statement::Expr(self.expr()?))
            }
        }
    }

    /// What is between braces, the first of which is read.
    fn block(&mut self) -> Parsed<Vec<Statement>> {
        let mut body = Vec::new();
        loop {
            self.skip_ends();
            if self.take("}") {
                return Ok(body);
            }
            body.push(self.statement()?);
            self.end()?;
        }
    }

    fn body(&mut self) -> Parsed<Box<Statement>> {
        while self.peek() == Some(&Token::End) {
            self.at += 1;
        }
        self.statement().map(Box::new)
    }

    fn condition(&mut self) -> Parsed<Statement> {
        self.need("(")?;
        let test = self.expr()?;
        self.need(")")?;
        let then = self.body()?;
        let before = self.at;
        self.skip_ends();
        let other = if self.word("else") {
            Some(self.body()?)
        } else {
            self.at = before;
            None
        };
        Ok(Statement::If(test, then, other))
    }

    fn counted(&mut self) -> Parsed<Statement> {
        self.need("(")?;
        let mut parts = [None, None, None];
        for (at, part) in parts.iter_mut().enumerate() {
            let empty = matches!(self.peek(), Some(Token::End)) || self.is(")");
            if !empty {
                *part = Some(self.expr()?);
            }
            if at == 2 {
                self.need(")")?;
            } else if self.peek() == Some(&Token::End) {
                self.at += 1;
            } else {
                return self.wrong();
            }
        }
        let [first, test, next] = parts;
        Ok(Statement::For(first, test, next, self.body()?))
    }

    fn print(&mut self) -> Parsed<Statement> {
        let mut parts = Vec::new();
        loop {
            parts.push(match self.peek().cloned() {
                Some(Token::Text(text)) => {
                    self.at += 1;
                    Statement::Text(text)
                }
                _ => Statement::Expr(self.expr()?),
            });
            if !self.take(",") {
                return Ok(Statement::Print(parts));
            }
        }
    }

    fn define(&mut self) -> Parsed<Statement> {
        let name = self.name()?;
        self.need("(")?;
        let parameters = if self.is(")") { Vec::new() } else { self.names()? };
        self.need(")")?;
        self.skip_ends();
        self.need("{")?;
        self.skip_ends();
        let locals = if self.word("auto") { self.names()? } else { Vec::new() };
        let body = self.block()?;
        Ok(Statement::Define(name, Rc::new(Function { parameters, locals, body })))
    }

    fn names(&mut self) -> Parsed<Vec<String>> {
        let mut names = vec![self.name()?];
        while self.take(",") {
            names.push(self.name()?);
        }
        Ok(names)
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| parser.level(0))
    }

    /// From `||` down to `*`; an assignment binds as its left side does.
    fn level(&mut self, level: usize) -> Parsed<Expr> {
        const LEVELS: &[&[&str]] =
            &[&["||"], &["&&"], &["!"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];
        if level == 2 {
            if self.take("!") {
                return Ok(Expr::Not(Box::new(self.deeper(|parser| parser.level(2))?)));
            }
            return self.level(3);
        }
        let Some(symbols) = LEVELS.get(level) else { return self.power() };
        let mut left = self.level(level + 1)?;
        while let Some(symbol) = symbols.iter().copied().find(|symbol| self.is(symbol)) {
            self.at += 1;
            left = Expr::Binary(symbol, Box::new(left), Box::new(self.level(level + 1)?));
        }
        Ok(left)
    }

    fn power(&mut self) -> Parsed<Expr> {
        let base = self.unary()?;
        if !self.take("^") {
            return Ok(base);
        }
        let exponent = self.deeper(Parser::power)?;
        Ok(Expr::Binary("^", Box::new(base), Box::new(exponent)))
    }

    fn unary(&mut self) -> Parsed<Expr> {
        for (symbol, by) in [("++", 1), ("--", -1)] {
            if self.take(symbol) {
                return match self.primary()? {
                    Expr::Variable(place) => Ok(Expr::Step(place, true, by)),
                    _ => self.wrong(),
                };
            }
        }
        if self.take("-") {
            return Ok(Expr::Negate(Box::new(self.deeper(Parser::unary)?)));
        }
        let primary = self.primary()?;
        let Expr::Variable(place) = primary else { return Ok(primary) };
        for (symbol, by) in [("++", 1), ("--", -1)] {
            if self.take(symbol) {
                return Ok(Expr::Step(place, false, by));
            }
        }
        for symbol in ["=", "+=", "-=", "*=", "/=", "%=", "^="] {
            if self.take(symbol) {
                let operator = Some(symbol.chars().next().unwrap_or('=')).filter(|operator| *operator != '=');
                return Ok(Expr::Assign(place, operator, Box::new(self.expr()?)));
            }
        }
        Ok(Expr::Variable(place))
    }

    fn primary(&mut self) -> Parsed<Expr> {
        if self.take("(") {
            let inside = self.expr()?;
            self.need(")")?;
            return Ok(inside);
        }
        if let Some(Token::Number(number)) = self.peek().cloned() {
            self.at += 1;
            return Ok(Expr::Number(number));
        }
        let name = self.name()?;
        if self.take("[") {
            let index = self.expr()?;
            self.need("]")?;
            return Ok(Expr::Variable(Variable::Element(name, Box::new(index))));
        }
        if !self.take("(") {
            return Ok(Expr::Variable(Variable::Variable(name)));
        }
        let mut arguments = Vec::new();
        if !self.take(")") {
            loop {
                arguments.push(self.expr()?);
                if !self.take(",") {
                    break;
                }
            }
            self.need(")")?;
        }
        Ok(Expr::Call(name, arguments))
    }
}
