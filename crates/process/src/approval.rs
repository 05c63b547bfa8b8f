//! Approvals: the requests that wait for a person, their answers, and what is remembered.
