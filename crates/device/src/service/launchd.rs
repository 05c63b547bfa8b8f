//! Generator of the launchd agent.

use std::path::{Path, PathBuf};

use super::{NAME, Step, Unit};

pub(super) fn file(home: &Path) -> PathBuf {
    home.join("Library/LaunchAgents").join(format!("{NAME}.plist"))
}

fn log(home: &Path) -> PathBuf {
    home.join("Library/Logs").join(format!("{NAME}.log"))
}

pub(super) fn text(unit: &Unit) -> String {
    let words =
        std::iter::once(unit.program.to_string_lossy().into_owned()).chain(unit.arguments.iter().cloned());
    let arguments: String = words.map(|word| format!("    <string>{}</string>\n", escaped(&word))).collect();
    let kept = unit.environment.iter().map(|(name, value)| {
        format!("    <key>{}</key>\n    <string>{}</string>\n", escaped(name), escaped(value))
    });
    let environment = match unit.environment.is_empty() {
        true => String::new(),
        false => {
            format!("  <key>EnvironmentVariables</key>\n  <dict>\n{}  </dict>\n", kept.collect::<String>())
        }
    };
    let log = escaped(&log(&unit.home).to_string_lossy());
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n  <key>Label</key>\n  <string>{NAME}</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n{arguments}  </array>\n\
         {environment}\
         \x20 <key>RunAtLoad</key>\n  <true/>\n\
         \x20 <key>KeepAlive</key>\n  <true/>\n\
         \x20 <key>ThrottleInterval</key>\n  <integer>3</integer>\n\
         \x20 <key>StandardOutPath</key>\n  <string>{log}</string>\n\
         \x20 <key>StandardErrorPath</key>\n  <string>{log}</string>\n\
         </dict>\n\
         </plist>\n"
    )
}

/// Loading twice fails, so what is loaded goes first.
pub(super) fn start_steps(home: &Path) -> Vec<Step> {
    let file = file(home).to_string_lossy().into_owned();
    vec![Step { optional: true, ..stop_step(home) }, Step::new("launchctl", &["load", "-w", &file])]
}

pub(super) fn stop_step(home: &Path) -> Step {
    Step::new("launchctl", &["unload", &file(home).to_string_lossy()])
}

pub(super) fn logs_step(home: &Path, lines: u32, follow: bool) -> Step {
    let (log, lines) = (log(home).to_string_lossy().into_owned(), lines.to_string());
    let mut arguments = vec!["-n", &lines];
    if follow {
        arguments.push("-f");
    }
    arguments.push(&log);
    Step::new("tail", &arguments)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_runs_the_driver_for_ever() {
        let unit = Unit {
            program: "/usr/local/bin/gsv".into(),
            arguments: ["device", "run", "--id", "a<b>&c"].map(String::from).to_vec(),
            home: "/Users/me".into(),
            environment: vec![("PATH".into(), "/opt/bin:/bin".into())],
        };
        let text = text(&unit);
        assert!(
            text.contains("<string>/usr/local/bin/gsv</string>\n    <string>device</string>\n"),
            "{text}"
        );
        assert!(text.contains("<string>a&lt;b&gt;&amp;c</string>"));
        assert!(
            text.contains("  <key>KeepAlive</key>\n  <true/>\n")
                && text.contains("<string>/opt/bin:/bin</string>")
        );
        assert!(text.contains("<string>/Users/me/Library/Logs/gsvd.log</string>"));
        assert_eq!(file(&unit.home), Path::new("/Users/me/Library/LaunchAgents/gsvd.plist"));
    }

    #[test]
    fn logs_are_a_file() {
        assert_eq!(
            logs_step(Path::new("/Users/me"), 9, true).line(),
            "tail -n 9 -f /Users/me/Library/Logs/gsvd.log"
        );
    }
}
