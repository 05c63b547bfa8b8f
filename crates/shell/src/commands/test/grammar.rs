//! Parser of `test` expressions: by the number of words up to four, as POSIX says; beyond that `-o` binds less than
//! `-a`, and that less than `!` and parentheses.

/// A condition.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// Known from its words alone.
    Const(bool),
    /// `-f x`
    Unary(String, String),
    /// `a = b`
    Binary(String, String, String),
    /// `! x`
    Not(Box<Node>),
    /// `x -a y`
    And(Box<Node>, Box<Node>),
    /// `x -o y`
    Or(Box<Node>, Box<Node>),
}

/// How deep parentheses may be nested.
const DEPTH_MAX: usize = 200;
/// How many connectives there may be: every one makes the tree of conditions deeper.
const CONNECTIVES_MAX: usize = 1_000;

/// Reads words.
pub(super) fn parse(words: &[String]) -> Result<Node, String> {
    let mut parser = Parser { words, at: 0, depth: 0, connectives: 0 };
    let node = match words {
        [] => Node::Const(false),
        [one] => {
            parser.at = 1;
            truth_of(one)
        }
        [_, _] => parser.two()?,
        [_, _, _] => parser.three()?,
        [not, _, _, _] if not == "!" => {
            parser.at = 1;
            negate(parser.three()?)
        }
        [open, _, _, close] if open == "(" && close == ")" => {
            parser.at = 1;
            let node = parser.two()?;
            parser.at = 4;
            node
        }
        _ => parser.or()?,
    };
    match words.get(parser.at) {
        None => Ok(node),
        Some(next) if next.starts_with('-') => Err(format!("syntax error: `{next}' unexpected")),
        Some(_) => Err("too many arguments".to_string()),
    }
}

fn truth_of(word: &str) -> Node {
    Node::Const(!word.is_empty())
}

fn negate(node: Node) -> Node {
    Node::Not(Box::new(node))
}

fn is_unary(word: &str) -> bool {
    matches!(word.as_bytes(), [b'-', letter] if b"abcdefghknoprstuvwxzGLNORS".contains(letter))
}

fn is_binary(word: &str) -> bool {
    const OPERATORS: [&str; 14] =
        ["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    OPERATORS.contains(&word)
}

struct Parser<'a> {
    words: &'a [String],
    at: usize,
    depth: usize,
    connectives: usize,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Option<&str> {
        self.words.get(self.at + ahead).map(String::as_str)
    }

    fn take(&mut self) -> Result<String, String> {
        let word = self.peek(0).ok_or("argument expected")?.to_string();
        self.at += 1;
        Ok(word)
    }

    fn two(&mut self) -> Result<Node, String> {
        let (first, second) = (self.take()?, self.take()?);
        match first.as_str() {
            "!" => Ok(Node::Const(second.is_empty())),
            first if is_unary(first) => Ok(Node::Unary(first.to_string(), second)),
            first => Err(format!("{first}: unary operator expected")),
        }
    }

    fn three(&mut self) -> Result<Node, String> {
        let start = self.at;
        let (a, b, c) = (self.take()?, self.take()?, self.take()?);
        if is_binary(&b) {
            return Ok(Node::Binary(a, b, c));
        }
        match (a.as_str(), b.as_str(), c.as_str()) {
            (a, "-a", c) => Ok(Node::And(Box::new(truth_of(a)), Box::new(truth_of(c)))),
            (a, "-o", c) => Ok(Node::Or(Box::new(truth_of(a)), Box::new(truth_of(c)))),
            ("!", _, _) => {
                self.at = start + 1;
                Ok(negate(self.two()?))
            }
            ("(", b, ")") => Ok(truth_of(b)),
            (_, b, _) => Err(format!("{b}: binary operator expected")),
        }
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err("too many arguments".to_string()) } else { Ok(()) }
    }

    fn connect(&mut self) -> Result<(), String> {
        self.at += 1;
        self.connectives += 1;
        if self.connectives > CONNECTIVES_MAX { Err("too many arguments".to_string()) } else { Ok(()) }
    }

    fn or(&mut self) -> Result<Node, String> {
        self.deeper()?;
        let mut node = self.and()?;
        while self.peek(0) == Some("-o") {
            self.connect()?;
            node = Node::Or(Box::new(node), Box::new(self.and()?));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn and(&mut self) -> Result<Node, String> {
        let mut node = self.term()?;
        while self.peek(0) == Some("-a") {
            self.connect()?;
            node = Node::And(Box::new(node), Box::new(self.term()?));
        }
        Ok(node)
    }

    fn term(&mut self) -> Result<Node, String> {
        let mut negated = false;
        while self.peek(0) == Some("!") {
            self.at += 1;
            negated = !negated;
            if self.peek(0).is_none() {
                return Err("argument expected".to_string());
            }
        }
        let node = self.primary()?;
        Ok(if negated { negate(node) } else { node })
    }

    fn primary(&mut self) -> Result<Node, String> {
        if self.peek(0) == Some("(") {
            self.at += 1;
            let node = self.or()?;
            return match self.take() {
                Ok(word) if word == ")" => Ok(node),
                Ok(word) => Err(format!("`)' expected, found {word}")),
                Err(_) => Err("`)' expected".to_string()),
            };
        }
        if self.peek(1).is_some_and(is_binary) && self.peek(2).is_some() {
            return Ok(Node::Binary(self.take()?, self.take()?, self.take()?));
        }
        if self.peek(0).is_some_and(is_unary) && self.peek(1).is_some() {
            return Ok(Node::Unary(self.take()?, self.take()?));
        }
        Ok(truth_of(&self.take()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Node, String> {
        parse(&text.split(' ').filter(|word| !word.is_empty()).map(str::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn up_to_four_words_are_read_by_their_number() {
        assert_eq!(parsed(""), Ok(Node::Const(false)));
        assert_eq!(parsed("-f"), Ok(Node::Const(true)));
        assert_eq!(parsed("! x"), Ok(Node::Const(false)));
        assert_eq!(parsed("-f x"), Ok(Node::Unary("-f".into(), "x".into())));
        assert_eq!(parsed("! = !"), Ok(Node::Binary("!".into(), "=".into(), "!".into())));
        assert_eq!(parsed("( x )"), Ok(Node::Const(true)));
        assert_eq!(parsed("! ! x"), Ok(Node::Not(Box::new(Node::Const(false)))));
        assert_eq!(parsed("( -n x )"), Ok(Node::Unary("-n".into(), "x".into())));
        assert_eq!(
            parsed("-a -a -a"),
            Ok(Node::And(Box::new(Node::Const(true)), Box::new(Node::Const(true))))
        );
    }

    #[test]
    fn more_words_are_read_by_precedence() {
        let unary = |operator: &str| Box::new(Node::Unary(operator.into(), "x".into()));
        let both = Node::And(unary("-f"), unary("-d"));
        assert_eq!(parsed("-n x -o -f x -a -d x"), Ok(Node::Or(unary("-n"), Box::new(both))));
        let either = Node::Or(unary("-n"), unary("-f"));
        assert_eq!(parsed("( -n x -o -f x ) -a -d x"), Ok(Node::And(Box::new(either), unary("-d"))));
    }

    #[test]
    fn mistakes_have_the_words_of_bash() {
        assert_eq!(parsed("x y"), Err("x: unary operator expected".to_string()));
        assert_eq!(parsed("x y z"), Err("y: binary operator expected".to_string()));
        assert_eq!(parsed("a b c d e"), Err("too many arguments".to_string()));
        assert_eq!(parsed("( -n x -a y"), Err("`)' expected".to_string()));
        assert_eq!(parsed("x = y -a"), Err("argument expected".to_string()));
        assert!(parsed(&"( ".repeat(5_000)).is_err());
        for connective in ["-a", "-o"] {
            assert!(parsed(&format!("x {connective} ").repeat(500_000)).is_err());
        }
    }
}
