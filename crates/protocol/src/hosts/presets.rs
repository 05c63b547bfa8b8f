//! Catalogue of presets: names in a list of hosts that stand for several hosts. None is allowed unless it is named.

/// A name that stands for hosts.
#[derive(Debug)]
pub struct Preset {
    /// As it is written in a list.
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// The hosts, on the web's ports; several tables where a preset is made of others.
    pub hosts: &'static [&'static [&'static str]],
}

const CARGO: &[&str] = &["crates.io", "index.crates.io", "static.crates.io"];
const NPM: &[&str] = &["registry.npmjs.org", "registry.yarnpkg.com"];
const PIP: &[&str] = &["pypi.org", "files.pythonhosted.org"];
const GO: &[&str] = &["proxy.golang.org", "sum.golang.org"];
const MAVEN: &[&str] = &["repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org"];
const GEM: &[&str] = &["rubygems.org", "index.rubygems.org"];

/// All presets, the widest first.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "registries",
        doc: "all of the following: the usual package registries",
        hosts: &[CARGO, NPM, PIP, GO, MAVEN, GEM],
    },
    Preset { name: "cargo", doc: "packages of Rust", hosts: &[CARGO] },
    Preset { name: "npm", doc: "packages of Node, for npm, pnpm and yarn", hosts: &[NPM] },
    Preset { name: "pip", doc: "packages of Python, for pip and uv", hosts: &[PIP] },
    Preset { name: "go", doc: "modules of Go and their checksums", hosts: &[GO] },
    Preset { name: "maven", doc: "packages of Java, for Maven and Gradle", hosts: &[MAVEN] },
    Preset { name: "gem", doc: "packages of Ruby", hosts: &[GEM] },
];
