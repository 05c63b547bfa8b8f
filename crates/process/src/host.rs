//! Every process of the gateway: starts actors when there is mail for them.

/// Every process of the gateway. Cheap to clone.
#[derive(Clone)]
pub struct Host {}
