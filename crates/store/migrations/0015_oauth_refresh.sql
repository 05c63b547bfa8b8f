-- Which authorization server must answer a flow, and where the tokens of an account are renewed.
ALTER TABLE oauth_flows ADD COLUMN issuer {TEXT};
ALTER TABLE oauth_accounts ADD COLUMN token_endpoint {TEXT};
CREATE INDEX oauth_accounts_by_expiry ON oauth_accounts (expires_at);
