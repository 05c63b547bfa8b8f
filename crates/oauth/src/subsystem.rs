//! [`gateway::Subsystem`] implementation of connected accounts: handlers, routes, renewal.

use std::sync::Arc;

use base::timer::Alarm;
use gateway::{Call, Cx, Later, Subsystem};
use protocol::router::Router;

use crate::area::OAuth;
use crate::{callback, calls, renewal};

fn router() -> Router<Cx<OAuth>> {
    Router::new().on(calls::start).on(calls::list).on(calls::refresh).on(calls::forget)
}

impl Subsystem for OAuth {
    fn name(&self) -> &'static str {
        "oauth"
    }

    fn calls() -> Vec<&'static str> {
        router().names().to_vec()
    }

    fn handlers(self: Arc<Self>) -> Router<Call> {
        router().over(move |call| Ok(Cx::new(self.clone(), call)))
    }

    fn http(self: Arc<Self>) -> Option<axum::Router> {
        Some(callback::router(self))
    }

    fn start(self: Arc<Self>) -> Later<Result<(), store::Error>> {
        renewal::schedule(&self);
        Box::pin(async { Ok(()) })
    }

    fn alarms(&self) -> Vec<Arc<Alarm>> {
        vec![self.sweep.clone()]
    }
}
