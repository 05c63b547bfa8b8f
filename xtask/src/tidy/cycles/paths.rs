//! Scanner for module paths in Rust code whose comments and literals are blanked out.

use std::collections::BTreeMap;

/// The first name of a path below the root of the crate.
#[derive(Debug, PartialEq, Eq)]
pub struct Named(pub String);

/// What the root of a crate declares, and what it passes on from its modules.
#[derive(Default)]
pub struct Root {
    /// Its modules.
    pub modules: Vec<String>,
    /// Names that stand for something in a module.
    passed_on: BTreeMap<String, String>,
}

impl Root {
    /// With what one more root file says (a library and its program have one each).
    pub fn and(mut self, code: &str) -> Root {
        for item in items(code, "mod") {
            // A module with its code in the root is part of the root.
            if let Some(name) = item.strip_suffix(';').filter(|name| !name.contains('{')) {
                self.modules.push(name.trim().to_string());
            }
        }
        for item in items(code, "use") {
            for path in flattened(item.trim_end_matches(';')) {
                let path = path.trim_start_matches("crate::").trim_start_matches("self::");
                let (path, name) = match path.split_once(" as ") {
                    Some((path, name)) => (path, name),
                    None => (path, path.rsplit("::").next().unwrap_or(path)),
                };
                let module = path.split("::").next().unwrap_or(path);
                self.passed_on.insert(name.trim().to_string(), module.trim().to_string());
            }
        }
        self
    }

    /// The module that a name below the root belongs to.
    pub fn module_of(&self, name: &str) -> Option<&str> {
        let known = |name: &str| self.modules.iter().find(|module| *module == name).map(String::as_str);
        known(name).or_else(|| known(self.passed_on.get(name)?))
    }
}

/// Every name below the root that a file mentions. `depth` is 1 for a file of a top-level module, 2 for one below it.
pub fn named(code: &str, depth: usize) -> Vec<Named> {
    let mut found = Vec::new();
    let up = format!("{}::", vec!["super"; depth].join("::"));
    for start in ["crate::", up.as_str()] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].trim_end_matches('$');
            let longer = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            if longer || before.trim_end().ends_with("(in") {
                continue;
            }
            let rest = &code[at + start.len()..];
            let end = if rest.starts_with('{') { group_end(rest) } else { name_end(rest) };
            let names = flattened(&rest[..end]).into_iter();
            let first = |path: String| {
                path.split("::").next().unwrap_or_default().split(' ').next().map(str::to_string)
            };
            found.extend(names.filter_map(first).filter(|name| name != "super").map(Named));
        }
    }
    found
}

fn name_end(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// Behind the bracket that closes the one a text begins with.
fn group_end(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// The paths of a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`. `self` is the path before it.
fn flattened(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split_whitespace().collect::<Vec<_>>().join(" ");
        return Some(path.trim_end_matches("::self").to_string())
            .filter(|path| !path.is_empty())
            .into_iter()
            .collect();
    };
    let (before, rest) = tree.split_at(open);
    let inside = &rest[1..group_end(rest) - 1];
    let mut depth = 0;
    let parts = inside.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts
        .flat_map(flattened)
        .map(|path| format!("{before}{path}").trim_end_matches("::self").to_string())
        .collect()
}

/// The items of the outermost level that begin with this word, without it and what stands before it.
fn items<'a>(code: &'a str, word: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(&format!("{word} ")) {
        let line_start = code[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = code[line_start..at].trim_end();
        if before.is_empty() && code[line_start..at].is_empty() || before.starts_with("pub") {
            let rest = &code[at + word.len() + 1..];
            let end = rest.find(';').map_or(rest.len(), |end| end + 1);
            found.push(&rest[..end]);
        }
    }
    found
}

const TEST: &str = "#[cfg(test)]";

/// Code without its items for tests.
pub fn without_tests(code: &str) -> String {
    let mut left = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(TEST) {
        left.push_str(&rest[..at]);
        let item = after_attributes(&rest[at + TEST.len()..]);
        rest = &item[item_end(item)..];
    }
    left + rest
}

/// The modules that a file declares for tests only, as paths without `.rs`.
pub fn test_modules(path: &str, code: &str) -> Vec<String> {
    let folder = match path {
        "lib.rs" | "main.rs" => String::new(),
        path => format!("{}/", path.trim_end_matches(".rs")),
    };
    let found = code.match_indices(TEST).filter_map(|(at, _)| {
        let item = after_attributes(&code[at + TEST.len()..]);
        let item = &item[..item_end(item)];
        let name = item[item.find("mod ")? + 4..].strip_suffix(';')?;
        Some(format!("{folder}{}", name.trim()))
    });
    found.collect()
}

fn after_attributes(mut code: &str) -> &str {
    loop {
        code = code.trim_start();
        let Some(attribute) = code.strip_prefix("#[") else { return code };
        code = attribute.split_once(']').map_or("", |(_, rest)| rest);
    }
}

/// Where an item ends: behind its semicolon, or behind its braces.
fn item_end(item: &str) -> usize {
    let is_use = item.starts_with("use ")
        || item.starts_with("pub") && item.split(';').next().unwrap_or("").contains(" use ");
    let mut brackets = 0;
    for (at, c) in item.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 => return at + 1,
            '{' if !is_use => return at + group_end(&item[at..]),
            _ => {}
        }
    }
    item.len()
}
