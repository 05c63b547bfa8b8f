//! Generator of the systemd user unit.

use std::path::{Path, PathBuf};

use super::{EXIT_FINAL, NAME, Step, Unit};

pub(super) fn file(home: &Path) -> PathBuf {
    home.join(".config/systemd/user").join(format!("{NAME}.service"))
}

pub(super) fn text(unit: &Unit) -> String {
    let words =
        std::iter::once(unit.program.to_string_lossy().into_owned()).chain(unit.arguments.iter().cloned());
    let command: Vec<String> = words.map(|word| quoted(&word).replace('$', "$$")).collect();
    let kept = unit.environment.iter();
    let environment: String =
        kept.map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}")))).collect();
    format!(
        "[Unit]\n\
         Description=GSV device driver\n\
         After=network-online.target\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         ExecStart={}\n\
         {environment}\
         Restart=always\n\
         RestartSec=3\n\
         RestartPreventExitStatus={EXIT_FINAL}\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        command.join(" ")
    )
}

pub(super) fn install_steps() -> Vec<Step> {
    vec![
        Step::new("systemctl", &["--user", "daemon-reload"]),
        Step::new("systemctl", &["--user", "enable", NAME]),
        Step::new("systemctl", &["--user", "restart", NAME]),
        // Lets the service run while nobody is logged in; not every user may ask for it.
        Step { optional: true, ..Step::new("loginctl", &["enable-linger"]) },
    ]
}

pub(super) fn logs_step(lines: u32, follow: bool, json: bool) -> Step {
    let lines = lines.to_string();
    let mut arguments = vec!["--user", "--no-pager", "-u", NAME, "-n", &lines];
    if json {
        arguments.push("--output=json");
    }
    if follow {
        arguments.push("-f");
    }
    Step::new("journalctl", &arguments)
}

/// A word as systemd reads it: quoted, with its specifiers and escapes made plain.
fn quoted(word: &str) -> String {
    let plain = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('\n', "\\n");
    format!("\"{plain}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_runs_the_driver_for_ever() {
        let unit = Unit {
            program: "/opt/my tools/gsv".into(),
            arguments: ["device", "run", "--workspace", "/home/me/100% \"$x\""].map(String::from).to_vec(),
            home: "/home/me".into(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        };
        let text = text(&unit);
        assert!(
            text.contains("\nExecStart=\"/opt/my tools/gsv\" \"device\" \"run\" \"--workspace\" \"/home/me/100%% \\\"$$x\\\"\"\n"),
            "{text}"
        );
        assert!(
            text.contains("\nEnvironment=\"PATH=/usr/bin:/bin\"\nRestart=always\nRestartSec=3\nRestartPreventExitStatus=78\n"),
            "{text}"
        );
        assert!(text.ends_with("WantedBy=default.target\n"));
        assert_eq!(file(&unit.home), Path::new("/home/me/.config/systemd/user/gsvd.service"));
    }

    #[test]
    fn logs_follow_on_demand() {
        assert_eq!(logs_step(50, false, false).line(), "journalctl --user --no-pager -u gsvd -n 50");
        assert!(logs_step(50, true, true).line().ends_with(" --output=json -f"));
    }
}
