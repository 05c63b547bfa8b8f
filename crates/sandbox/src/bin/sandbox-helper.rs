//! Test program: the helper of the sandbox, and a collection of attempts to get out of it.

fn main() {
    sandbox::run_if_helper();
}
