//! Pending authorization requests: connections that wait for a person, with their PKCE verifiers.

use std::collections::BTreeMap;

use protocol::ids::Uid;
use protocol::sys::oauth::Flow;

use super::{Secret, kind_from, kind_text};
use crate::oauth::OAuth;
use crate::sql::{Batch, Row, Statement};
use crate::{Error, Result, Written};

/// A flow to keep.
#[derive(Clone, Debug)]
pub struct NewFlow {
    /// What everybody may see of it.
    pub flow: Flow,
    /// The hash of the state that comes back with the person.
    pub state_hash: String,
    /// What else was asked of the service.
    pub extra_params: BTreeMap<String, String>,
    /// Proves to the service that it was we who asked.
    pub code_verifier: Secret,
}

/// A flow whose person has come back.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenFlow {
    /// What everybody may see of it.
    pub flow: Flow,
    /// Proves to the service that it was we who asked.
    pub code_verifier: Secret,
}

/// The columns `flow_from` reads.
macro_rules! select_flows {
    ($tail:literal) => {
        concat!(
            "SELECT flow_id, uid, kind, provider, account_key, label, authorization_endpoint, token_endpoint, \
             client_id, redirect_uri, scope, resource, created_at, expires_at, issuer, code_verifier FROM oauth_flows ",
            $tail
        )
    };
}

impl OAuth<'_> {
    /// Keeps a flow and drops those that are over. False, keeping nothing, when the user has `most` waiting already.
    /// One transaction.
    pub async fn add_flow(self, new: NewFlow, most: usize) -> Result<bool> {
        let flow = new.flow;
        let extra = serde_json::to_string(&new.extra_params)
            .map_err(|error| Error::Failed(format!("the parameters cannot be written: {error}")))?;
        let verifier = self.0.secrets().seal(&record(&flow.flow_id), &new.code_verifier.0)?;
        let add = Statement::new(
            "INSERT INTO oauth_flows (flow_id, state_hash, uid, kind, provider, account_key, label, \
             authorization_endpoint, token_endpoint, client_id, redirect_uri, scope, resource, extra_params, \
             code_verifier, created_at, expires_at, issuer) \
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18 \
             WHERE (SELECT COUNT(*) FROM oauth_flows WHERE uid = $3) < $19 RETURNING flow_id",
        );
        let add = add
            .bind(flow.flow_id)
            .bind(new.state_hash)
            .bind(flow.uid)
            .bind(kind_text(flow.kind))
            .bind(flow.provider)
            .bind(flow.account_key)
            .bind(flow.label)
            .bind(flow.authorization_endpoint)
            .bind(flow.token_endpoint)
            .bind(flow.client_id)
            .bind(flow.redirect_uri)
            .bind(flow.scope)
            .bind(flow.resource)
            .bind(extra)
            .bind(verifier)
            .bind(flow.created_at)
            .bind(flow.expires_at)
            .bind(flow.issuer)
            .bind(i64::try_from(most).unwrap_or(i64::MAX));
        let over = Statement::new("DELETE FROM oauth_flows WHERE expires_at <= $1").bind(flow.created_at);
        let written = self.0.write(Batch::new().step(over).guard(add)).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    /// The flow of a state, unless it is over.
    pub async fn flow(self, state_hash: &str, now_ms: i64) -> Result<Option<OpenFlow>> {
        let find = Statement::new(select_flows!("WHERE state_hash = $1 AND expires_at > $2"));
        let Some(row) = self.0.read(find.bind(state_hash).bind(now_ms)).await?.pop() else { return Ok(None) };
        let (flow, sealed) = flow_from(row)?;
        let code_verifier = Secret(self.0.secrets().open(&record(&flow.flow_id), &sealed)?);
        Ok(Some(OpenFlow { flow, code_verifier }))
    }

    /// The flows of a user, or of all, that are not over; newest first.
    pub async fn flows(self, uid: Option<Uid>, now_ms: i64) -> Result<Vec<Flow>> {
        let find = match uid {
            Some(uid) => Statement::new(select_flows!(
                "WHERE expires_at > $1 AND uid = $2 ORDER BY created_at DESC, flow_id"
            ))
            .bind(now_ms)
            .bind(uid),
            None => Statement::new(select_flows!("WHERE expires_at > $1 ORDER BY created_at DESC, flow_id"))
                .bind(now_ms),
        };
        self.0.read(find).await?.into_iter().map(|row| Ok(flow_from(row)?.0)).collect()
    }

    /// Forgets a flow. False when there is none.
    pub async fn remove_flow(self, flow_id: &str) -> Result<bool> {
        let remove = Statement::new("DELETE FROM oauth_flows WHERE flow_id = $1 RETURNING flow_id");
        Ok(!self.0.change(remove.bind(flow_id)).await?.is_empty())
    }
}

fn record(flow_id: &str) -> String {
    format!("oauth_flows:{flow_id}:code_verifier")
}

/// A flow, and its verifier as it is kept.
fn flow_from(mut row: Row) -> Result<(Flow, String)> {
    let flow = Flow {
        flow_id: row.text()?,
        uid: row.uid()?,
        kind: kind_from(&row.text()?)?,
        provider: row.text()?,
        account_key: row.text()?,
        label: row.text_or_null()?,
        authorization_endpoint: row.text()?,
        token_endpoint: row.text()?,
        client_id: row.text()?,
        redirect_uri: row.text()?,
        scope: row.text_or_null()?,
        resource: row.text_or_null()?,
        created_at: row.int()?,
        expires_at: row.int()?,
        issuer: row.text_or_null()?,
    };
    Ok((flow, row.text()?))
}
