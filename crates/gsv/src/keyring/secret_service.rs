//! Client of the Secret Service, the keyring of Linux desktops, over the session bus. Secrets cross the bus as they are
//! (algorithm `plain`): it is a socket of this user's on this machine.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::StreamExt;
use zbus::zvariant::{ObjectPath, OwnedObjectPath, OwnedValue, Value};
use zbus::{Connection, Proxy};

use super::{Access, KeyringError, Result};

const SERVICE: &str = "org.freedesktop.secrets";
const ROOT: &str = "/org/freedesktop/secrets";
/// Says which program keeps an item.
const APPLICATION: (&str, &str) = ("application", "gsv");
/// Says which secret an item is.
const NAME: &str = "token-id";

/// A secret as it crosses the bus: the session, no parameters, the bytes, and what they are.
type Secret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

/// The service, and a session of ours with it.
pub struct SecretService {
    bus: Connection,
    session: OwnedObjectPath,
}

impl SecretService {
    /// Asks for the service; fails where there is no bus, or nobody on it who keeps secrets.
    pub async fn open(timeout: Duration) -> Result<SecretService> {
        let bus = zbus::connection::Builder::session()?.method_timeout(timeout).build().await?;
        let service = proxy(&bus, ROOT, "Service").await?;
        let (_, session): (OwnedValue, OwnedObjectPath) =
            service.call("OpenSession", &("plain", Value::from(""))).await?;
        Ok(SecretService { bus, session })
    }

    /// Keeps a secret under a name, in the default collection and in place of an older one of that name.
    pub async fn put(&self, name: &str, label: &str, secret: &str, access: Access) -> Result<()> {
        let service = proxy(&self.bus, ROOT, "Service").await?;
        let collection: OwnedObjectPath = service.call("ReadAlias", &("default",)).await?;
        if is_none(&collection) {
            return Err(KeyringError::new("it has no default collection"));
        }
        self.unlock(&collection, access).await?;
        let properties = HashMap::from([
            ("org.freedesktop.Secret.Item.Label", Value::from(label)),
            ("org.freedesktop.Secret.Item.Attributes", Value::from(attributes(name))),
        ]);
        let secret = (&self.session, Vec::<u8>::new(), secret.as_bytes(), "text/plain");
        let folder = proxy(&self.bus, collection.as_str(), "Collection").await?;
        let (_, prompt): (OwnedObjectPath, OwnedObjectPath) =
            folder.call("CreateItem", &(properties, secret, true)).await?;
        self.answer(&prompt, access).await
    }

    /// The secret of that name, if it is there.
    pub async fn find(&self, name: &str, access: Access) -> Result<Option<String>> {
        let Some(item) = self.item(name, access).await? else { return Ok(None) };
        let item = proxy(&self.bus, item.as_str(), "Item").await?;
        let ((_, _, secret, _),): (Secret,) = item.call("GetSecret", &(&self.session,)).await?;
        String::from_utf8(secret).map(Some).map_err(|_| KeyringError::new("what it keeps is not text"))
    }

    /// Removes the secret of that name, if it is there.
    pub async fn remove(&self, name: &str, access: Access) -> Result<()> {
        let Some(item) = self.item(name, access).await? else { return Ok(()) };
        let prompt: OwnedObjectPath =
            proxy(&self.bus, item.as_str(), "Item").await?.call("Delete", &()).await?;
        self.answer(&prompt, access).await
    }

    async fn item(&self, name: &str, access: Access) -> Result<Option<OwnedObjectPath>> {
        let service = proxy(&self.bus, ROOT, "Service").await?;
        let (open, locked): (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) =
            service.call("SearchItems", &(attributes(name),)).await?;
        match (open.into_iter().next(), locked.into_iter().next()) {
            (Some(item), _) => Ok(Some(item)),
            (None, Some(item)) => self.unlock(&item, access).await.map(|()| Some(item)),
            (None, None) => Ok(None),
        }
    }

    async fn unlock(&self, path: &ObjectPath<'_>, access: Access) -> Result<()> {
        let service = proxy(&self.bus, ROOT, "Service").await?;
        let (unlocked, prompt): (Vec<OwnedObjectPath>, OwnedObjectPath) =
            service.call("Unlock", &(vec![path],)).await?;
        match unlocked.is_empty() && is_none(&prompt) {
            true => Err(KeyringError::new("it is locked")),
            false => self.answer(&prompt, access).await,
        }
    }

    /// Lets the service ask the person what it has to ask, where that may be.
    async fn answer(&self, prompt: &ObjectPath<'_>, access: Access) -> Result<()> {
        if is_none(prompt) {
            return Ok(());
        }
        let asking = proxy(&self.bus, prompt.as_str(), "Prompt").await?;
        let Access::MayAsk(patience) = access else {
            // It would wait for somebody for ever.
            asking.call::<_, _, ()>("Dismiss", &()).await?;
            return Err(KeyringError::new("it is locked"));
        };
        let mut completed = asking.receive_signal("Completed").await?;
        asking.call::<_, _, ()>("Prompt", &("",)).await?;
        let signal = tokio::time::timeout(patience, completed.next()).await;
        let signal = signal.ok().flatten().ok_or_else(|| KeyringError::new("nobody unlocked it"))?;
        let (dismissed, _): (bool, OwnedValue) = signal.body().deserialize()?;
        if dismissed { Err(KeyringError::new("it was not unlocked")) } else { Ok(()) }
    }
}

async fn proxy<'a>(bus: &Connection, path: &'a str, interface: &str) -> Result<Proxy<'a>> {
    let interface = format!("org.freedesktop.Secret.{interface}");
    let builder =
        zbus::proxy::Builder::<Proxy>::new(bus).destination(SERVICE)?.path(path)?.interface(interface)?;
    Ok(builder.cache_properties(zbus::proxy::CacheProperties::No).build().await?)
}

fn attributes(name: &str) -> HashMap<&str, &str> {
    HashMap::from([APPLICATION, (NAME, name)])
}

/// The path that stands for no object.
fn is_none(path: &ObjectPath<'_>) -> bool {
    path.as_str() == "/"
}

impl From<zbus::Error> for KeyringError {
    fn from(error: zbus::Error) -> KeyringError {
        KeyringError::new(error.to_string())
    }
}
