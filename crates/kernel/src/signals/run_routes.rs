//! Routing table of runs: the connection that started a run gets its signals, as long as it is there.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use base::limits;
use base::sync::lock;
use protocol::ids::{RunId, Uid};

use crate::connections::Connection;

/// Where the signals of runs go.
#[derive(Default)]
pub(super) struct RunRoutes {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    routes: HashMap<RunId, Route>,
    /// Oldest first; some of them are gone from the table already.
    order: VecDeque<(RunId, u64)>,
    next: u64,
}

struct Route {
    uid: Uid,
    connection: Weak<Connection>,
    /// Tells it from a later route of the same run.
    number: u64,
    since: Instant,
}

/// What is known about a run.
pub(super) enum RunAudience {
    /// Nothing: its owner's connections are told.
    Nobody,
    /// This connection started it.
    Connection(Arc<Connection>),
    /// Somebody else's connection; nobody is told.
    Foreign,
}

impl RunRoutes {
    /// From now on signals of the run go to this connection. The oldest routes make room.
    pub(super) fn set(&self, run_id: &RunId, uid: Uid, connection: &Arc<Connection>, now: Instant) {
        let mut table = lock(&self.table);
        table.next += 1;
        let number = table.next;
        let route = Route { uid, connection: Arc::downgrade(connection), number, since: now };
        table.routes.insert(run_id.clone(), route);
        table.order.push_back((run_id.clone(), number));
        table.make_room(now);
    }

    /// Where signals of the run go. A route that is too old, or another user's, is removed.
    pub(super) fn find(&self, run_id: &RunId, uid: Uid, now: Instant) -> RunAudience {
        let mut table = lock(&self.table);
        let Some(route) = table.routes.get(run_id) else { return RunAudience::Nobody };
        let found = match route.connection.upgrade() {
            _ if route.uid != uid => RunAudience::Foreign,
            Some(connection) if !route.is_over(now) => return RunAudience::Connection(connection),
            _ => RunAudience::Nobody,
        };
        table.routes.remove(run_id);
        found
    }

    /// Forgets a run.
    pub(super) fn remove(&self, run_id: &RunId) {
        lock(&self.table).routes.remove(run_id);
    }
}

impl Route {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= limits::signal::RUN_ROUTE_KEPT
    }
}

impl Table {
    fn make_room(&mut self, now: Instant) {
        while let Some((run_id, number)) = self.order.front() {
            let current = self.routes.get(run_id).filter(|route| route.number == *number);
            let stale = current.is_none_or(|route| route.is_over(now));
            if !stale && self.order.len() <= limits::signal::RUN_ROUTES_MAX {
                return;
            }
            if current.is_some() {
                self.routes.remove(run_id);
            }
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use super::*;
    use crate::connections::Connections;

    fn connection() -> Arc<Connection> {
        Connections::default().open(IpAddr::V4(Ipv4Addr::LOCALHOST).into())
    }

    #[test]
    fn a_route_ends_with_its_time_its_connection_and_the_table() {
        let (routes, now, here) =
            (RunRoutes::default(), base::clock::Clock::system().instant(), connection());
        let run = |number: usize| RunId(format!("run-{number}"));
        let found = |number, later| routes.find(&run(number), Uid(7), now + later);
        routes.set(&run(0), Uid(7), &here, now);
        assert!(
            matches!(found(0, Duration::ZERO), RunAudience::Connection(found) if Arc::ptr_eq(&found, &here))
        );
        assert!(matches!(found(0, limits::signal::RUN_ROUTE_KEPT), RunAudience::Nobody));
        assert!(matches!(found(0, Duration::ZERO), RunAudience::Nobody));
        let gone = connection();
        routes.set(&run(1), Uid(7), &gone, now);
        drop(gone);
        assert!(matches!(found(1, Duration::ZERO), RunAudience::Nobody));
        routes.set(&run(2), Uid(7), &here, now);
        for number in 3..=2 + limits::signal::RUN_ROUTES_MAX {
            routes.set(&run(number), Uid(7), &here, now);
        }
        assert!(matches!(found(2, Duration::ZERO), RunAudience::Nobody));
        assert!(matches!(found(3, Duration::ZERO), RunAudience::Connection(_)));
        assert!(lock(&routes.table).order.len() <= limits::signal::RUN_ROUTES_MAX);
    }

    #[test]
    fn another_users_route_is_found_once_and_removed() {
        let (routes, now, here) =
            (RunRoutes::default(), base::clock::Clock::system().instant(), connection());
        let run = RunId::from("r");
        routes.set(&run, Uid(7), &here, now);
        assert!(matches!(routes.find(&run, Uid(8), now), RunAudience::Foreign));
        assert!(matches!(routes.find(&run, Uid(8), now), RunAudience::Nobody));
    }
}
