//! Metering of the command that runs now: how much it may hold of what it reads from the tree, how much of a device
//! without an end it asks for, and which permission bits its new files do not get.

pub(crate) mod endless;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use base::limits;
use base::sync::lock;
use bashkit::hooks::{HookAction, ToolEvent};

use crate::arithmetic;
use crate::builtin_io::{Holds, cost};
use crate::builtins;
pub(crate) use endless::Endless;
use endless::Request;

const USUAL_MASK: u32 = 0o022;

/// What one script appends to one file at most. A single stream is not bounded otherwise when it goes into a file.
pub(crate) const APPENDED_BYTES_MAX: usize = 4 * limits::native_shell::STREAM_MAX_BYTES;

/// Of one script. Commands run one after the other, or take turns on one thread.
pub(crate) struct Meter {
    /// What the command that runs now has read, as far as that counts.
    taken: AtomicUsize,
    umask: AtomicU32,
    now: Mutex<Now>,
    /// What was appended to which file.
    appended: Mutex<HashMap<String, usize>>,
    /// Whether redirections from endless devices are refused.
    refuses: AtomicBool,
}

#[derive(Default)]
struct Now {
    holds: Holds,
    /// How many times as much as it reads it may make of it.
    times: usize,
    /// The last parts of the words that may be files it has yet to read.
    unread: Vec<String>,
    /// What it asks of an endless device that it names, as often as it names one. Later ones are redirections.
    asked: Vec<Request>,
    /// The endless device that was read last and not by a command that names it: by a redirection.
    redirected: Option<String>,
    /// A command into which such a device was redirected and that could not be given its name; and the device.
    fed: Option<(String, String)>,
    /// Whether it reads files as scripts.
    runs_scripts: bool,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter {
            taken: AtomicUsize::new(0),
            umask: AtomicU32::new(USUAL_MASK),
            now: Mutex::default(),
            appended: Mutex::default(),
            refuses: AtomicBool::new(false),
        }
    }
}

impl Meter {
    /// Asked before every command.
    pub(crate) fn begin(&self, mut event: ToolEvent) -> HookAction<ToolEvent> {
        self.taken.store(0, Ordering::Relaxed);
        let mut now = lock(&self.now);
        let io = builtins::io(&event.name);
        (now.holds, now.times) = (io.holds, (io.growth)(&event.args));
        now.unread = event.args.iter().filter(|word| may_be_file(word)).map(|word| last_part(word)).collect();
        now.fed = None;
        now.runs_scripts = arithmetic::runs_scripts(&event.name);
        if let Some(device) = now.redirected.take() {
            match endless::named(&event.name, &event.args, &device) {
                Some(args) => event.args = args,
                None => now.fed = Some((event.name.clone(), device)),
            }
        }
        now.asked = endless::asked(&event.name, &event.args);
        if now.asked.first() == Some(&Request::Usual) {
            event.args = event.args.into_iter().flat_map(endless::with_rest).collect();
        }
        HookAction::Continue(event)
    }

    /// Whether what the command reads now is a script to it.
    pub(crate) fn runs_scripts(&self) -> bool {
        lock(&self.now).runs_scripts
    }

    /// Counts what was read of a file. False when the command holds too much by now.
    pub(crate) fn take(&self, path: &str, bytes: &[u8]) -> bool {
        let mut now = lock(&self.now);
        if !now.is_read_by_command(path) {
            return true;
        }
        let (cost, most) = match now.holds {
            Holds::Nothing => return true,
            Holds::OneFile => return cost(bytes) <= 2 * limits::native_shell::SORT_MAX_BYTES,
            Holds::Bytes => (bytes.len(), limits::native_shell::READ_MAX_BYTES),
            Holds::Lines => (cost(bytes).saturating_mul(now.times), limits::native_shell::SORT_MAX_BYTES),
        };
        self.taken.fetch_add(cost, Ordering::Relaxed).saturating_add(cost) <= most
    }

    /// How much of an endless device is read now; nothing when the path is none.
    pub(crate) fn endless(&self, path: &str) -> Option<Endless> {
        let Some(usual) = endless::usual(path) else {
            let device = path.strip_suffix(endless::REST)?;
            return endless::usual(device).map(|_| Endless::Refused(endless::WAS_CUT));
        };
        let mut now = lock(&self.now);
        // Who asks by name reads once for each name; what is read otherwise is read for a redirection.
        Some(match now.asked.pop() {
            Some(Request::All) => Endless::Refused(endless::NEVER_ENDS),
            Some(Request::Bytes(count)) if count > limits::native_shell::STREAM_MAX_BYTES => {
                Endless::Refused(endless::WANTS_TOO_MUCH)
            }
            Some(Request::Bytes(count)) => Endless::Bytes(count),
            Some(Request::Usual) => Endless::Bytes(usual),
            None if self.refuses.load(Ordering::Relaxed) => Endless::Refused(endless::NEVER_ENDS),
            None => {
                now.redirected = Some(path.to_string());
                Endless::Bytes(usual)
            }
        })
    }

    /// The endless device that was redirected into a command, and that it could not be given by name. Asked once.
    pub(crate) fn fed(&self, name: &str) -> Option<String> {
        let mut now = lock(&self.now);
        now.fed.take_if(|(fed, _)| fed == name).map(|(_, device)| device)
    }

    /// Notes that a device is redirected into a command.
    pub(crate) fn feed(&self, name: &str, device: String) {
        lock(&self.now).fed = Some((name.to_string(), device));
    }

    /// What is said of such a device.
    pub(crate) fn never_ends(device: &str) -> String {
        format!("{device}: {}", endless::NEVER_ENDS)
    }

    /// Learns from the text of a script what cannot be told while it runs. Whether it may redirect from such a device.
    pub(crate) fn read_script(&self, script: &str) -> bool {
        self.refuses.store(endless::is_captured(script), Ordering::Relaxed);
        ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"].iter().any(|device| script.contains(device))
    }

    /// Counts what is appended to a file. False when it is too much for one script.
    pub(crate) fn append(&self, path: &str, bytes: usize) -> bool {
        let mut appended = lock(&self.appended);
        let so_far = appended.entry(path.to_string()).or_default();
        *so_far = so_far.saturating_add(bytes);
        *so_far <= APPENDED_BYTES_MAX
    }

    /// Which permission bits new files do not get.
    pub(crate) fn umask(&self) -> u32 {
        self.umask.load(Ordering::Relaxed)
    }

    /// Learns it from the variable in which the interpreter keeps it.
    pub(crate) fn learn_umask(&self, variable: Option<&String>) {
        let mask = variable.and_then(|text| u32::from_str_radix(text, 8).ok());
        self.umask.store(mask.unwrap_or(USUAL_MASK) & 0o777, Ordering::Relaxed);
    }
}

impl Now {
    /// Whether a file is one that the command has named. What a redirection reads is read before its command begins,
    /// and so may seem to be the last one's; a file behind a link has another name than the one that was given.
    fn is_read_by_command(&mut self, path: &str) -> bool {
        let at = self.unread.iter().position(|word| *word == last_part(path));
        match at.or_else(|| self.unread.len().checked_sub(2)) {
            Some(at) => {
                self.unread.swap_remove(at);
                true
            }
            None => false,
        }
    }
}

fn last_part(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_string()
}

fn may_be_file(word: &str) -> bool {
    !word.starts_with('-') && !word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::endless::{NEVER_ENDS, WANTS_TOO_MUCH, WAS_CUT};
    use super::*;

    fn begin(meter: &Meter, line: &str) -> String {
        let mut words = line.split(' ').map(str::to_string);
        let name = words.next().unwrap();
        match meter.begin(ToolEvent { name, args: words.collect() }) {
            HookAction::Continue(event) => event.args.join(" "),
            HookAction::Cancel(_) => panic!("{line} was cancelled"),
        }
    }

    #[test]
    fn as_much_of_an_endless_device_is_given_as_is_asked_for() {
        let meter = Meter::default();
        for (line, given) in [
            ("head -c 20000000 /dev/zero", Endless::Bytes(20_000_000)),
            ("head -c16K /dev/urandom", Endless::Bytes(16_384)),
            ("head --bytes=2MB /dev/random", Endless::Bytes(2_000_000)),
            ("head /dev/zero", Endless::Refused(NEVER_ENDS)),
            ("head -c 1G /dev/zero", Endless::Refused(WANTS_TOO_MUCH)),
            ("dd if=/dev/zero of=f bs=1M count=20", Endless::Bytes(20 << 20)),
            ("od -An -N 4 /dev/urandom", Endless::Bytes(4)),
            ("od /dev/zero", Endless::Refused(NEVER_ENDS)),
            ("dd if=/dev/zero of=f", Endless::Refused(NEVER_ENDS)),
            ("wc -c /dev/zero", Endless::Refused(NEVER_ENDS)),
            ("cat /dev/zero", Endless::Bytes(limits::native_shell::ZERO_BYTES)),
        ] {
            begin(&meter, line);
            let device = if line.contains("urandom") {
                "/dev/urandom"
            } else if line.contains("random") {
                "/dev/random"
            } else {
                "/dev/zero"
            };
            assert_eq!(meter.endless(device), Some(given), "{line}");
        }
        assert_eq!(meter.endless("/dev/null"), None);
        assert_eq!(meter.endless("/home/ann/f..."), None);
    }

    #[test]
    fn whoever_reads_all_of_an_endless_device_is_told_of_the_rest() {
        let meter = Meter::default();
        assert_eq!(begin(&meter, "cat f /dev/zero"), "f /dev/zero /dev/zero...");
        assert_eq!(meter.endless("/dev/zero..."), Some(Endless::Refused(WAS_CUT)));
    }

    #[test]
    fn a_part_of_a_redirected_device_is_as_long_as_was_asked_for() {
        let meter = Meter::default();
        begin(&meter, "echo");
        meter.endless("/dev/zero");
        assert_eq!(begin(&meter, "head -c 20000000"), "-c 20000000 /dev/zero");
        begin(&meter, "echo");
        assert_eq!(begin(&meter, "head -c 20000000"), "-c 20000000", "it was another command's");
        for (line, words) in [
            ("wc -c", "-c /dev/zero"),
            ("cat", "/dev/zero /dev/zero..."),
            ("sed -n p", "-n p /dev/zero"),
            ("dd bs=1M count=2", "bs=1M count=2 if=/dev/zero"),
            ("wc -c f", "-c f"),
            ("tr a b", "a b"),
        ] {
            begin(&meter, "echo");
            meter.endless("/dev/zero");
            assert_eq!(begin(&meter, line), words, "{line}");
        }
        assert_eq!(meter.fed("tr").as_deref(), Some("/dev/zero"));
        assert_eq!(meter.fed("tr"), None);
    }

    #[test]
    fn a_device_that_no_command_reads_is_refused() {
        let meter = Meter::default();
        assert!(meter.read_script("x=$(< /dev/urandom)"));
        assert_eq!(meter.endless("/dev/urandom"), Some(Endless::Refused(NEVER_ENDS)));
        assert!(meter.read_script("x=$(head -c 4 < /dev/urandom; y=$(<f))"));
        assert!(matches!(meter.endless("/dev/urandom"), Some(Endless::Bytes(_))));
        assert!(!meter.read_script("echo"));
    }

    #[test]
    fn one_script_appends_so_much_to_a_file() {
        let meter = Meter::default();
        let half = APPENDED_BYTES_MAX / 2;
        let appends = ["/f", "/g", "/f", "/f", "/g"].map(|path| meter.append(path, half));
        assert_eq!(appends, [true, true, true, false, true]);
    }

    #[test]
    fn commands_hold_as_much_as_they_may() {
        let meter = Meter::default();
        let (text, lines) = (vec![b'x'; 40 << 20], vec![b'\n'; 1 << 20]);
        let take = |names: &str, bytes: &[u8]| -> Vec<bool> {
            names.split(' ').map(|name| meter.take(&format!("/home/ann/{name}"), bytes)).collect()
        };
        begin(&meter, "cat a b c");
        assert_eq!(take("a b c", &text), [true, true, false]);
        begin(&meter, "cat l1 l2 l3 l4");
        assert_eq!(take("a a a a", &text), [true, true, false, true], "links lead to other names");
        begin(&meter, "head -n 3 a");
        assert_eq!(take("a a a a", &text), [true; 4], "the others are read by redirections");
        begin(&meter, "grep x a b c");
        assert_eq!(take("a b c", &text), [true; 3], "it keeps none of them");
        assert!(!meter.take("/home/ann/x", &[b'\n'; 5 << 20]), "one with so many lines is too much");
        begin(&meter, "tac a b");
        assert_eq!(take("a b", &lines), [true, false]);
        begin(&meter, "sed s/x/yyyyyyyy/g a");
        assert_eq!(take("a", &text), [false]);
    }
}
