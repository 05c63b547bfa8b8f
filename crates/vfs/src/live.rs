//! What the kernel knows, as files: `/sys`, `/proc`, `/dev` and the account files in `/etc`.
