//! Systems on which there is no sandbox: everything compiles, and every attempt says so.
