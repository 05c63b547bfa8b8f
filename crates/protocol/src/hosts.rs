//! Allow list of hosts: the grammar of `config/agents/network`, and whether a name and port are on the list.
//!
//! Names are compared, never addresses. A list holds hosts (`example.org`, `*.example.org`, `example.org:8443`,
//! `ssh:example.org`), presets (`registries`) and exceptions (`!ads.example.org`), which go before everything else.

mod name;
mod presets;

use base::limits::egress::{HOSTS_MAX, HOSTS_MAX_BYTES};

pub use name::{NameError, canonical};
pub use presets::{PRESETS, Preset};

/// The ports of a host that is listed without one.
pub const WEB_PORTS: [u16; 2] = [80, 443];
/// The port that only the word `ssh:` opens.
pub const SSH_PORT: u16 = 22;

/// The hosts that may be reached. Nothing may, by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    allowed: Vec<Entry>,
    denied: Vec<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    pattern: Pattern,
    ports: Ports,
}

/// Which names an entry is about; the name in it is canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Exactly(String),
    SubdomainsOf(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ports {
    Web,
    One(u16),
}

impl Allow {
    /// Reads a list: entries with blanks, commas or line ends between them. The error says which entry is wrong, and
    /// how to write it.
    pub fn parse(text: &str) -> Result<Allow, String> {
        if text.len() > HOSTS_MAX_BYTES {
            return Err(format!("the list of hosts is longer than {HOSTS_MAX_BYTES} bytes"));
        }
        let mut allow = Allow::default();
        for word in text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty()) {
            allow.add(word)?;
            if allow.allowed.len() + allow.denied.len() > HOSTS_MAX {
                return Err(format!("the list has more than {HOSTS_MAX} hosts"));
            }
        }
        Ok(allow)
    }

    fn add(&mut self, word: &str) -> Result<(), String> {
        if let Some(denied) = word.strip_prefix('!') {
            self.denied.push(pattern(denied)?);
        } else if let Some(host) = word.strip_prefix("ssh:") {
            self.allowed.push(Entry { pattern: pattern(host)?, ports: Ports::One(SSH_PORT) });
        } else if let Some(preset) = PRESETS.iter().find(|preset| preset.name == word) {
            let hosts = preset.hosts.iter().copied().flat_map(|group| group.iter().copied());
            let entry = |host: &str| Entry { pattern: Pattern::Exactly(host.to_string()), ports: Ports::Web };
            self.allowed.extend(hosts.map(entry));
        } else if let Some((host, port)) = word.rsplit_once(':').filter(|(host, _)| !host.contains(':')) {
            let ports = Ports::One(port_of(word, host, port)?);
            self.allowed.push(Entry { pattern: pattern(host)?, ports });
        } else {
            self.allowed.push(Entry { pattern: pattern(word)?, ports: Ports::Web });
        }
        Ok(())
    }

    /// Whether a host may be reached on a port. What is no canonical name is on no list.
    pub fn allows(&self, name: &str, port: u16) -> bool {
        let fits = |ports: Ports| match ports {
            Ports::Web => WEB_PORTS.contains(&port),
            Ports::One(one) => one == port,
        };
        self.finds(name, |entry| fits(entry.ports))
    }

    /// Whether a host may be reached on some port.
    pub fn allows_name(&self, name: &str) -> bool {
        self.finds(name, |_| true)
    }

    fn finds(&self, name: &str, fits: impl Fn(&Entry) -> bool) -> bool {
        let is_denied = self.denied.iter().any(|pattern| pattern.matches(name));
        !is_denied && self.allowed.iter().any(|entry| entry.pattern.matches(name) && fits(entry))
    }

    /// Whether an entry, such as a question offers it, would add nothing to the list.
    pub fn covers(&self, entry: &str) -> bool {
        if let Some(name) = entry.strip_prefix("ssh:") {
            return self.allows(name, SSH_PORT);
        }
        match entry.rsplit_once(':') {
            Some((name, port)) => port.parse().is_ok_and(|port| self.allows(name, port)),
            None => WEB_PORTS.iter().all(|port| self.allows(entry, *port)),
        }
    }

    /// Whether nothing may be reached at all.
    pub fn is_empty(&self) -> bool {
        self.allowed.is_empty()
    }

    /// This list and another one together. An exception of either holds for both.
    pub fn and(mut self, more: &Allow) -> Allow {
        self.allowed.extend(more.allowed.iter().cloned());
        self.denied.extend(more.denied.iter().cloned());
        self
    }
}

impl Pattern {
    fn matches(&self, name: &str) -> bool {
        match self {
            Pattern::Exactly(host) => host == name,
            Pattern::SubdomainsOf(host) => {
                name.strip_suffix(host.as_str()).is_some_and(|head| head.len() > 1 && head.ends_with('.'))
            }
        }
    }
}

/// The entry that allows a host on a port; without a port, the one for the web's ports.
pub fn entry(name: &str, port: Option<u16>) -> String {
    match port {
        Some(SSH_PORT) => format!("ssh:{name}"),
        Some(port) if !WEB_PORTS.contains(&port) => format!("{name}:{port}"),
        _ => name.to_string(),
    }
}

fn pattern(word: &str) -> Result<Pattern, String> {
    let (host, is_wild) = match word.strip_prefix("*.") {
        Some(host) => (host, true),
        None => (word, false),
    };
    if host.contains('*') {
        let how =
            "a list of hosts knows no such pattern: write *.example.org for all subdomains of example.org";
        return Err(format!("{word}: {how}"));
    }
    let name = canonical(host).map_err(|why| format!("{word}: {why}"))?;
    match (name.contains('.'), is_wild) {
        (true, true) => Ok(Pattern::SubdomainsOf(name)),
        (true, false) => Ok(Pattern::Exactly(name)),
        (false, true) => Err(format!("{word}: would allow a whole top-level domain; name the hosts")),
        (false, false) => {
            Err(format!("{word}: is neither a host such as example.org nor {}", preset_names()))
        }
    }
}

fn port_of(word: &str, host: &str, port: &str) -> Result<u16, String> {
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(SSH_PORT) => Err(format!("{word}: write ssh:{host} to allow SSH")),
        Ok(port) if digits && port != 0 => Ok(port),
        _ => Err(format!(
            "{word}: a port is a number from 1 to 65535; URLs and paths have no place in the list"
        )),
    }
}

fn preset_names() -> String {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    format!("one of the presets {}", names.join(", "))
}

#[cfg(test)]
mod tests;
