//! Wire types and table of `sys.setup.assist`: a model that proposes values for the onboarding form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::syscalls;

syscalls! {
    /// Helps a person through setup. Secrets in the draft never reach the model, and it cannot set any.
    "sys.setup.assist" Assist => Advice, Open, Kernel, Rules, Root;
}

/// Arguments of `sys.setup.assist`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysSetupAssistArgs")]
pub struct Assist {
    /// How much the person wants to decide.
    pub lane: Lane,
    /// The form as it stands.
    pub draft: Draft,
    /// What was said so far.
    pub messages: Vec<ChatMessage>,
    /// From another machine, or through a proxy: the setup code that the gateway printed when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// How much a person wants to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnboardingLane")]
pub enum Lane {
    /// As little as possible.
    Quick,
    /// The usual things.
    Customize,
    /// Everything.
    Advanced,
}

/// Who fills in the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnboardingMode")]
pub enum Mode {
    /// The person.
    Manual,
    /// The person, with help.
    Guided,
}

/// How far the form is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnboardingStage")]
pub enum Stage {
    /// At the start.
    Welcome,
    /// Filling in.
    Details,
    /// Looking it over.
    Review,
}

/// Which page of the form is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnboardingDetailStep")]
pub enum DetailStep {
    /// The first user.
    Account,
    /// Root.
    Admin,
    /// The gateway.
    System,
    /// The model.
    Ai,
    /// The system repository.
    Source,
    /// The first device.
    Device,
}

/// The onboarding form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OnboardingDraft")]
pub struct Draft {
    /// How much the person wants to decide.
    pub lane: Lane,
    /// Who fills it in.
    pub mode: Mode,
    /// How far it is.
    pub stage: Stage,
    /// Which page is open.
    pub detail_step: DetailStep,
    /// The first user.
    pub account: AccountDraft,
    /// Root.
    pub admin: AdminDraft,
    /// The gateway.
    pub system: SystemDraft,
    /// The model.
    pub ai: AiDraft,
    /// The system repository.
    pub source: SourceDraft,
    /// The first device.
    pub device: DeviceDraft,
}

/// The first user, in the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OnboardingAccount")]
pub struct AccountDraft {
    /// Login name.
    pub username: String,
    /// The password that was typed, in plain text.
    pub password: String,
    /// The same again.
    pub password_confirm: String,
}

/// Which password root gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnboardingAdminMode")]
pub enum AdminMode {
    /// The first user's.
    Same,
    /// Its own.
    Custom,
}

/// Root, in the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OnboardingAdmin")]
pub struct AdminDraft {
    /// Which password it gets.
    pub mode: AdminMode,
    /// Its own.
    pub password: String,
}

/// The gateway, in the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OnboardingSystem")]
pub struct SystemDraft {
    /// An IANA time zone.
    pub timezone: String,
}

/// The model, in the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OnboardingAi")]
pub struct AiDraft {
    /// Whether to set one.
    pub enabled: bool,
    /// Such as `anthropic`.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// The provider's key.
    pub api_key: String,
}

/// The system repository, in the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OnboardingSource")]
pub struct SourceDraft {
    /// Whether to name one.
    pub enabled: bool,
    /// A repository or URL.
    pub value: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
}

/// The first device, in the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OnboardingDevice")]
pub struct DeviceDraft {
    /// Whether to make a token for one.
    pub enabled: bool,
    /// Id of the device, as `sys.device.list` gives it.
    pub device_id: String,
    /// A note for people.
    pub label: String,
    /// For how many days the token is good.
    pub expiry_days: String,
}

/// Something said during setup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OnboardingMessage")]
pub struct ChatMessage {
    /// Who said it.
    pub role: ChatRole,
    /// What was said.
    pub content: String,
}

/// Who speaks during setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnboardingRole")]
pub enum ChatRole {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Result of `sys.setup.assist`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysSetupAssistResult")]
pub struct Advice {
    /// What the model says.
    pub message: String,
    /// What it proposes to fill in.
    pub patches: Vec<Patch>,
    /// Whether the form is complete.
    pub review_ready: bool,
    /// What to look at next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
}

/// A value the model proposes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OnboardingAssistPatch")]
pub struct Patch {
    /// Set or clear.
    pub op: PatchOp,
    /// Which field.
    pub path: PatchPath,
    /// What to set it to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<PatchValue>,
}

/// What a patch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnboardingPatchOp")]
pub enum PatchOp {
    /// Sets the field.
    Set,
    /// Empties it.
    Clear,
}

/// The fields a model may set; no secret is among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OnboardingPatchPath")]
pub enum PatchPath {
    /// The first user's name.
    #[serde(rename = "account.username")]
    AccountUsername,
    /// Which password root gets.
    #[serde(rename = "admin.mode")]
    AdminMode,
    /// The time zone.
    #[serde(rename = "system.timezone")]
    SystemTimezone,
    /// Whether to set a model.
    #[serde(rename = "ai.enabled")]
    AiEnabled,
    /// Provider of the model.
    #[serde(rename = "ai.provider")]
    AiProvider,
    /// The provider's name for the model.
    #[serde(rename = "ai.model")]
    AiModel,
    /// Whether to name a system repository.
    #[serde(rename = "source.enabled")]
    SourceEnabled,
    /// Git URL or `owner/name` of the system repository.
    #[serde(rename = "source.value")]
    SourceValue,
    /// Branch, tag or commit of the system repository.
    #[serde(rename = "source.ref")]
    SourceRef,
    /// Whether to make a device token.
    #[serde(rename = "device.enabled")]
    DeviceEnabled,
    /// Device that the token is for.
    #[serde(rename = "device.deviceId")]
    DeviceId,
    /// What the token is for, in the user's words.
    #[serde(rename = "device.label")]
    DeviceLabel,
    /// Days until the token expires.
    #[serde(rename = "device.expiryDays")]
    DeviceExpiryDays,
}

/// Text or a flag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "OnboardingPatchValue")]
pub enum PatchValue {
    /// Text.
    Text(String),
    /// A flag.
    Flag(bool),
}
