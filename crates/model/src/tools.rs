//! Serialisation cache of tools: what a model may call, written once, since it is the same in all requests of a run.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use base::sync::lock;
use protocol::ai::Tool;
use serde_json::Value;

/// What a model may call.
#[derive(Debug, Default)]
pub struct Tools {
    all: Vec<Tool>,
    written: Mutex<Option<(&'static str, Arc<str>)>>,
}

impl Tools {
    /// Their JSON in the words of a provider, written when that provider is first asked.
    pub(crate) fn written(&self, api: &'static str, write: impl FnOnce(&[Tool]) -> Value) -> Arc<str> {
        let mut written = lock(&self.written);
        match &*written {
            Some((of, text)) if *of == api => text.clone(),
            _ => {
                let text: Arc<str> = write(&self.all).to_string().into();
                *written = Some((api, text.clone()));
                text
            }
        }
    }
}

impl From<Vec<Tool>> for Tools {
    fn from(all: Vec<Tool>) -> Tools {
        Tools { all, written: Mutex::default() }
    }
}

impl Deref for Tools {
    type Target = [Tool];

    fn deref(&self) -> &[Tool] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn each_provider_gets_its_own_words() {
        let tool = Tool { name: "Read".into(), description: "Reads.".into(), input_schema: Map::new() };
        let tools = Tools::from(vec![tool]);
        let named = |all: &[Tool]| json!([{ "name": all[0].name }]);
        assert_eq!(&*tools.written("one", named), r#"[{"name":"Read"}]"#);
        assert_eq!(&*tools.written("one", |_| json!("not asked again")), r#"[{"name":"Read"}]"#);
        assert_eq!(&*tools.written("two", |all| json!([all[0].description])), r#"["Reads."]"#);
        assert_eq!(&*tools.written("one", named), r#"[{"name":"Read"}]"#);
    }
}
