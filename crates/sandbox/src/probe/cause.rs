//! Diagnosis of a refused sandbox: from what failed and from the machine's settings to advice for a person.

use std::fs;

/// Why there is no full mode, in a sentence or two that end with what to do.
pub(super) fn explain(failure: &str) -> String {
    let setting =
        |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let restricted = setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1";
    let debian = setting("/proc/sys/kernel/unprivileged_userns_clone") == "0";
    let none = setting("/proc/sys/user/max_user_namespaces") == "0";
    let advice = if restricted {
        let program = std::env::current_exe().map(|path| path.display().to_string());
        format!(
            "AppArmor keeps programs without a profile from using user namespaces. Give this program one: write \
             `abi <abi/4.0>, include <tunables/global> profile gsv {} flags=(unconfined) {{ userns, }}` to \
             /etc/apparmor.d/gsv and run `apparmor_parser -r /etc/apparmor.d/gsv` as root.",
            program.unwrap_or_else(|_| "/path/to/gsv".into())
        )
    } else if debian {
        "User namespaces are switched off (kernel.unprivileged_userns_clone is 0); an administrator can allow them."
            .into()
    } else if none {
        "User namespaces are switched off (user.max_user_namespaces is 0); an administrator can allow them."
            .into()
    } else if failure.contains("/proc of its own") {
        "This looks like a container that masks /proc. Run the driver outside it, or let the container see all of /proc."
            .into()
    } else if failure.contains("Function not implemented") {
        "The kernel is too old: Linux 5.12 or later is needed.".into()
    } else if failure.contains("namespace") {
        "This machine or container does not allow user namespaces.".into()
    } else {
        "Commands of agents that are not proved to be harmless will be asked about.".into()
    };
    format!("{failure}. {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_comes_first_and_advice_last() {
        let text = explain("could not mount a /proc of its own: Operation not permitted");
        assert!(text.starts_with("could not mount a /proc of its own: Operation not permitted. "), "{text}");
        assert!(explain("could not x: y").len() > 30);
    }
}
