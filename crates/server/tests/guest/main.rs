//! The program that guests of the tests' gateways are run by.

fn main() {
    guest::run_if_guest(&[codemode::GUEST_THAT_CRASHES]);
}
