//! All handlers on one page.

pub(crate) mod sys;

use std::sync::Arc;

use protocol::router::Router;

use crate::Kernel;
use crate::caller::Caller;

/// What each handler gets besides its arguments.
#[derive(Clone)]
pub struct Cx {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) caller: Caller,
}

/// Every call the kernel itself answers after login. `sys.connect` and `sys.setup` come before it and are
/// called from `receive`.
pub(crate) fn router() -> Router<Cx> {
    use sys::{account, config, device, token};
    Router::new()
        .on(config::get)
        .on(config::set)
        .on(device::list)
        .on(device::get)
        .on(device::update)
        .on(device::access)
        .on(token::create)
        .on(token::list)
        .on(token::revoke)
        .on(account::user_create)
        .on(account::user_list)
        .on(account::user_update)
        .on(account::user_remove)
        .on(account::group_list)
        .on(account::group_create)
        .on(account::group_remove)
        .on(account::capability_list)
        .on(account::grant)
        .on(account::revoke)
}
