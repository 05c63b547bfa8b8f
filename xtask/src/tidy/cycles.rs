//! Ratchet on cyclic dependencies between the top-level modules of a crate: the largest strongly connected component is
//! printed, and may not grow.
//!
//! A module depends on another when it names it in a path (`crate::other`, `super::other`), directly or through what the
//! root of the crate passes on (`pub use`). Test code does not count, and neither does the root itself: it declares all.

mod paths;

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;
use paths::{Named, Root};

/// The largest cycle that each crate may have, in modules; one that is not listed may have none. A number here only ever
/// becomes smaller.
const ALLOWED: &[(&str, usize)] = &[
    ("client", 3),
    ("content", 2),
    ("device", 3),
    ("gsv", 2),
    ("journal", 5),
    ("kernel", 3),
    ("model", 9),
    ("process", 2),
    ("protocol", 2),
    ("server", 2),
    ("vfs", 6),
];

/// Which modules each module depends on.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Prints the largest cycle of each crate; what is returned breaks the rule.
pub fn problems(sources: &[Source]) -> Vec<String> {
    let mut problems = Vec::new();
    for name in crates(sources) {
        let graph = graph(&name, sources);
        let cycle = largest_cycle(&graph);
        let allowed = ALLOWED.iter().find(|(listed, _)| *listed == name).map_or(0, |(_, most)| *most);
        if !cycle.is_empty() {
            let (size, all) = (cycle.len(), graph.len());
            println!("tidy: {name}: {size} of {all} modules depend on each other: {}", cycle.join(", "));
        }
        if cycle.len() < allowed {
            println!("tidy: {name}: lower its number in xtask/src/tidy/cycles.rs to {}", cycle.len());
        }
        if cycle.len() > allowed {
            problems.push(format!(
                "{name}: {} modules depend on each other, {allowed} are allowed: {}. Move what they share into a module \
                 that depends on none of them",
                cycle.len(),
                edges(&graph, &cycle).join(", ")
            ));
        }
    }
    problems
}

/// The folders that have a crate's root in them, such as `crates/kernel`.
fn crates(sources: &[Source]) -> BTreeSet<String> {
    let folders = sources.iter().filter_map(|source| {
        let folder =
            source.path.strip_suffix("/src/lib.rs").or_else(|| source.path.strip_suffix("/src/main.rs"))?;
        Some(folder.trim_start_matches("crates/").to_string())
    });
    folders.collect()
}

/// What depends on what in one crate.
fn graph(name: &str, sources: &[Source]) -> Graph {
    let folder = if name == "xtask" { "xtask/src/".to_string() } else { format!("crates/{name}/src/") };
    let files: Vec<(&str, String)> = sources
        .iter()
        .filter_map(|source| Some((source.path.strip_prefix(&folder)?, paths::without_tests(&source.code))))
        .filter(|(path, _)| !path.starts_with("bin/"))
        .collect();
    let only_for_tests: Vec<String> = files
        .iter()
        .flat_map(|(path, _)| paths::test_modules(path, &code_of(sources, &folder, path)))
        .collect();
    let is_test = |path: &str| {
        let module = path.trim_end_matches(".rs");
        only_for_tests.iter().any(|test| module == test || module.starts_with(&format!("{test}/")))
    };
    let roots = files.iter().filter(|(path, _)| is_root(path));
    let root = roots.fold(Root::default(), |root, (_, code)| root.and(code));
    let mut graph: Graph = root.modules.iter().map(|module| (module.clone(), BTreeSet::new())).collect();
    for (path, code) in files.iter().filter(|(path, _)| !is_root(path) && !is_test(path)) {
        let own = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let depth = path.trim_end_matches(".rs").split('/').count();
        for Named(name) in paths::named(code, depth) {
            if let Some(other) = root.module_of(&name).filter(|other| *other != own)
                && let Some(known) = graph.get_mut(own)
            {
                known.insert(other.to_string());
            }
        }
    }
    graph.retain(|module, _| !is_test(module));
    graph
}

fn code_of(sources: &[Source], folder: &str, path: &str) -> String {
    let whole = format!("{folder}{path}");
    sources.iter().find(|source| source.path == whole).map(|source| source.code.clone()).unwrap_or_default()
}

fn is_root(path: &str) -> bool {
    matches!(path, "lib.rs" | "main.rs")
}

/// The largest set of modules that all depend on each other, over others or directly; empty when there is no cycle.
fn largest_cycle(graph: &Graph) -> Vec<String> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (module.as_str(), reachable(graph, module))).collect();
    let component = |module: &&String| -> Vec<String> {
        let mutual = |other: &&String| {
            reach[module.as_str()].contains(other.as_str()) && reach[other.as_str()].contains(module.as_str())
        };
        graph.keys().filter(mutual).cloned().collect()
    };
    graph.keys().map(|module| component(&module)).max_by_key(Vec::len).unwrap_or_default()
}

/// Everything a module depends on, over others or directly; itself only when there is a way back.
fn reachable<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if found.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    found
}

/// The dependencies inside a cycle, for whoever wants to break it.
fn edges(graph: &Graph, cycle: &[String]) -> Vec<String> {
    let of = |module: &String| -> Vec<String> {
        let inside = graph[module].iter().filter(|other| cycle.contains(other));
        inside.map(|other| format!("{module} → {other}")).collect()
    };
    cycle.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, code: &str) -> Source {
        Source::new(&format!("crates/x/src/{path}"), code)
    }

    fn cycle(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(path, code)| source(path, code)).collect();
        largest_cycle(&graph("x", &sources))
    }

    #[test]
    fn a_cycle_is_found_whichever_way_it_is_written() {
        let root = ("lib.rs", "mod a;\npub mod b;\nmod c;\npub use c::{self, Thing as Other};\n");
        let b = ("b.rs", "fn f() { super::c::go() }\n");
        let c = ("c/deep.rs", "use super::super::a::X;\n");
        assert_eq!(cycle(&[root, ("a.rs", "use crate::{b::{Y, Z}, Q};\n"), b, c]), ["a", "b", "c"]);
        assert_eq!(cycle(&[root, ("a.rs", "use crate::b;\n"), b, ("c.rs", "")]), Vec::<String>::new());
        let passed_on = ("b.rs", "use crate::Other;\n");
        assert_eq!(cycle(&[root, ("a.rs", "use crate::b::Y;\n"), passed_on, c]), ["a", "b", "c"]);
        let self_only = ("a.rs", "use crate::a::X;\n");
        assert_eq!(cycle(&[root, self_only]), Vec::<String>::new());
    }

    #[test]
    fn tests_comments_and_visibilities_do_not_count() {
        let root = ("lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod bench;\n");
        let b = ("b.rs", "use crate::a::X;\n");
        let quiet = [
            "// crate::b\npub(in crate::b) fn f() {}\n",
            "#[cfg(test)]\nmod tests {\n    use crate::b::Y;\n}\n",
            "#[cfg(test)]\nmod tests;\n",
            "#[cfg(test)]\nuse crate::{b::Y};\nfn f() {}\n",
            "#[cfg(test)]\n#[allow(dead_code)]\npub(crate) fn f(x: [u8; 2]) -> crate::b::Y { todo() }\n",
        ];
        for code in quiet {
            let files =
                [root, b, ("a.rs", code), ("a/tests.rs", "use crate::b;\n"), ("bench.rs", "use crate::a;\n")];
            let files =
                if code.contains("mod tests;") { files.to_vec() } else { vec![root, b, ("a.rs", code)] };
            assert_eq!(cycle(&files), Vec::<String>::new(), "{code}");
        }
        assert_eq!(cycle(&[root, b, ("a.rs", "mod tests {}\nuse crate::b::Y;\n")]), ["a", "b"]);
    }

    #[test]
    fn two_cycles_are_not_one() {
        let root = ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\nmod e;\n");
        let found = cycle(&[
            root,
            ("a.rs", "use crate::b;\n"),
            ("b.rs", "use crate::{a, c};\n"),
            ("c.rs", "use crate::d;\n"),
            ("d.rs", "use crate::e;\n"),
            ("e.rs", "use crate::c;\n"),
        ]);
        assert_eq!(found, ["c", "d", "e"]);
    }
}
