//! Strict validator of approval policies as they are set, so that a mistake is told to whoever makes it. When it
//! counts, a policy is read leniently: what is not understood there is asked about.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::json_words;

/// What is wrong with a policy, if something is.
pub fn check(text: &str) -> Result<(), String> {
    let policy: Policy = json_words::decode(text).map_err(|wrong| wrong.sentence("the policy"))?;
    for (index, rule) in policy.rules.iter().flatten().enumerate() {
        let name = rule.matches.trim();
        let wrong = |why: &str| Err(format!("rules[{index}].match: {why}"));
        match name.strip_suffix(".*") {
            _ if name.is_empty() || name == ".*" => {
                return wrong("must be a call such as fs.delete, or fs.*");
            }
            _ if name == "*" => return wrong("* stands for nothing: use \"default\" for all calls"),
            Some(domain) if !is_domain(domain) => return wrong(&format!("there are no calls {domain}.*")),
            None if crate::spec(name).is_none() => return wrong(&format!("there is no call {name}")),
            _ => {}
        }
    }
    Ok(())
}

fn is_domain(domain: &str) -> bool {
    let below =
        |name: &str| name.strip_prefix(domain).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    crate::calls().any(|spec| below(spec.name))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read to be checked")]
struct Policy {
    default: Option<Action>,
    rules: Option<Vec<Rule>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Auto,
    Ask,
    Deny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read to be checked")]
struct Rule {
    #[serde(rename = "match")]
    matches: String,
    action: Action,
    when: Option<When>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "read to be checked")]
struct When {
    profile: Option<String>,
    any_profile: Option<Vec<String>>,
    any_tag: Option<Vec<Tag>>,
    all_tags: Option<Vec<Tag>>,
    arg_equals: Option<BTreeMap<String, Plain>>,
    arg_prefix: Option<BTreeMap<String, String>>,
    target: Option<String>,
}

/// With the names that policies of older systems use.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Tag {
    Destructive,
    Device,
    HiddenPath,
    Mutating,
    Network,
    Opaque,
    OutsideHome,
    Privileged,
    Remote,
    Unclassified,
}

/// A text, a number or a boolean.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
struct Plain;

impl TryFrom<Value> for Plain {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Plain, &'static str> {
        let is_plain = value.is_string() || value.is_number() || value.is_boolean();
        if is_plain { Ok(Plain) } else { Err("must be a string, a number or a boolean") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_that_are_understood_pass() {
        let whole = r#"{"default":"ask","rules":[
            {"match":"shell.exec","when":{"anyTag":["destructive","outside-home","unclassified"],"target":"gsv"},"action":"ask"},
            {"match":"fs.*","when":{"anyProfile":["task"],"argPrefix":{"path":"/tmp"},"argEquals":{"n":1}},"action":"deny"},
            {"match":"sys.mcp.*","action":"auto","when":null}]}"#;
        for good in [whole, "{}", r#"{"rules":[]}"#, r#"{"default":"deny"}"#] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("allow everything", "the policy must be JSON: expected value at column 1"),
            ("[]", "the policy must be an object, got an array"),
            (r#"{"default":"never"}"#, "default must be one of auto, ask, deny; got \"never\""),
            (r#"{"rule":[]}"#, "rule is not known here; there are default, rules"),
            (r#"{"rules":{}}"#, "rules must be an array, got an object"),
            (r#"{"rules":[{"match":"fs.read"}]}"#, "rules[0].action is missing"),
            (r#"{"rules":[{"match":"fs.raed","action":"ask"}]}"#, "rules[0].match: there is no call fs.raed"),
            (
                r#"{"rules":[{"match":"*","action":"ask"}]}"#,
                "rules[0].match: * stands for nothing: use \"default\" for all calls",
            ),
            (
                r#"{"rules":[{"match":"nothing.*","action":"ask"}]}"#,
                "rules[0].match: there are no calls nothing.*",
            ),
            (
                r#"{"rules":[{"match":"fs.*","action":"ask","when":{"anyTag":["blue"]}}]}"#,
                "rules[0].when.anyTag[0] must be one of destructive, device, hidden-path, mutating, network, opaque, \
                 outside-home, privileged, remote, unclassified; got \"blue\"",
            ),
            (
                r#"{"rules":[{"match":"fs.*","action":"ask","when":{"argEquals":{"a":[]}}}]}"#,
                "rules[0].when.argEquals.a must be a string, a number or a boolean",
            ),
        ];
        for (policy, says) in cases {
            assert_eq!(check(policy), Err(says.to_string()), "{policy}");
        }
    }
}
