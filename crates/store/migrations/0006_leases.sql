-- What must run once in a deployment. `fence` increases with each new holder; nobody holds it while the owner is empty.
CREATE TABLE leases (
    name {TEXT} PRIMARY KEY,
    owner {TEXT} NOT NULL,
    expires_at {BIGINT} NOT NULL,
    fence {BIGINT} NOT NULL
) {STRICT};
CREATE INDEX leases_by_owner ON leases (owner);
