//! `bc`: arbitrary-precision calculator.

mod math;
mod number;
mod parse;
mod run;

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat};
use crate::builtin_io::Io;
use run::{Flow, Machine};

pub(super) static COMMAND: Command = Command {
    name: "bc",
    aliases: &[],
    about: "calculate with as many digits as are wanted",
    usage: "[-l] [-e EXPRESSION] [FILE...]",
    manual: "\
Reads the files and then standard input: expressions, x = 1, if, while, for, define f(x) { auto y; return x }, print.
  scale         digits behind the point of a division; 0 unless set, 20 with -l
  ibase, obase  bases in which numbers are read and printed
  sqrt(x)  length(x)  scale(x)        with -l also s(x) c(x) a(x) l(x) e(x)",
    io: Io::PLAIN,
    run: |cx| Box::pin(async move { flat(calculate(cx).await) }),
};

const KNOWN: &[Opt] = &[
    flag('l', "mathlib"),
    flag('q', "quiet"),
    flag('s', "standard"),
    flag('w', "warn"),
    flag('i', "interactive"),
    valued('e', "expression"),
];

async fn calculate(cx: &Cx<'_>) -> Result<Done, Done> {
    let options = Options::parse(cx, &COMMAND, KNOWN, 1)?;
    let mut sources: Vec<String> = options.values("expression").map(str::to_string).collect();
    let only_expressions = !sources.is_empty() && options.operands.is_empty();
    for file in &options.operands {
        let bytes = cx
            .read(file)
            .await
            .map_err(|_| Done::failed("File", format_args!("{file} is unavailable."), 1))?;
        sources.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    if !only_expressions {
        sources.push(String::from_utf8_lossy(cx.stdin).into_owned());
    }
    Ok(run_all(&sources, options.has("mathlib")))
}

/// Carries out programs one after the other. What is wrong with a line is said, and the next is read.
fn run_all(sources: &[String], library: bool) -> Done {
    let mut machine = Machine::new(library);
    let mut done = Done::default();
    'sources: for source in sources {
        let programs = match parse::parse(source) {
            Ok(program) => vec![Ok(program)],
            Err(_) => source.split_inclusive('\n').map(parse::parse).collect(),
        };
        for program in programs {
            let ended = program.and_then(|program| {
                program.iter().try_fold(false, |quit, statement| {
                    if quit {
                        return Ok(true);
                    }
                    match machine.run(std::slice::from_ref(statement)) {
                        Ok(flow) => Ok(matches!(flow, Flow::Quit)),
                        Err(why) => {
                            done.stderr.extend_from_slice(format!("Runtime error: {why}\n").as_bytes());
                            Ok(false)
                        }
                    }
                })
            });
            match ended {
                Ok(true) => break 'sources,
                Ok(false) => {}
                Err(why) => done.stderr.extend_from_slice(format!("(standard_in) 1: {why}\n").as_bytes()),
            }
        }
    }
    done.print(&machine.printed);
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::stage::Stage;

    fn result(program: &str, library: bool) -> (String, String) {
        let done = run_all(&[program.to_string()], library);
        (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())
    }

    #[test]
    fn sums_are_those_of_bc() {
        for (program, display) in [
            ("scale=3; 10/3", "3.333\n"),
            ("2^100", "1267650600228229401496703205376\n"),
            ("1.5*2.5", "3.7\n"),
            ("(3+4)*2", "14\n"),
            ("scale=2; 1/3", ".33\n"),
            ("-1/3; 7%3; -7%3", "0\n1\n-1\n"),
            ("scale=5; 7.5%2", "0\n"),
            ("x=5; x+=3; x; x++; x; --x", "8\n8\n9\n8\n"),
            ("5>3; 2==3; !0; 1&&0; 1||0", "1\n0\n1\n0\n1\n"),
            ("define f(x) { return x*x; } f(7)", "49\n"),
            ("define f(n) { if (n <= 1) return 1\n return n * f(n-1) }\nf(20)", "2432902008176640000\n"),
            ("define g(a) { auto b; b = a; b += 1; return b }\nb = 9; g(1); b", "2\n9\n"),
            ("for (i = 0; i < 3; i++) i", "0\n1\n2\n"),
            ("i=3; while (i) { i -= 1; if (i == 1) break; i }", "2\n"),
            ("a[2]=5; a[1]+a[2]", "5\n"),
            ("obase=16; 255; obase=2; 5", "FF\n101\n"),
            ("ibase=16; FF; ibase=2", "255\n"),
            ("print \"a\\tb\", 1+1, \"\\n\"", "a\tb2\n"),
            ("\"text\"", "text"),
            ("sqrt(16); scale=4; sqrt(2); length(1234); scale(1.50)", "4\n1.4142\n4\n2\n"),
            ("2^3^2; -2^2; scale=3; 2^-2", "512\n4\n.250\n"),
            ("1; quit; 2", "1\n"),
            ("/* c */ 1 # rest\n2", "1\n2\n"),
        ] {
            assert_eq!(result(program, false), (display.to_string(), String::new()), "{program}");
        }
        let long = result("2^400", false).0;
        assert_eq!(long.lines().next().map(str::len), Some(70));
        assert!(
            long.starts_with("258224987808690858965591917200301187432970579282922351283065935654064\\\n")
        );
    }

    #[test]
    fn the_library_has_the_functions_of_the_circle() {
        for (program, display) in [
            ("4*a(1)", "3.14159265358979323844\n"),
            ("e(1)", "2.71828182845904523536\n"),
            ("l(10)", "2.30258509299404568401\n"),
            ("scale=5; s(1); c(1); a(.5)", ".84147\n.54030\n.46364\n"),
            ("e(-2)", ".13533528323661269189\n"),
            ("c(0); s(0)", "1.00000000000000000000\n0\n"),
            ("1/3", ".33333333333333333333\n"),
        ] {
            assert_eq!(result(program, true), (display.to_string(), String::new()), "{program}");
        }
    }

    #[test]
    fn mistakes_are_said_and_the_rest_goes_on() {
        let (display, said) = result("1/0\n2\n", false);
        assert_eq!((display.as_str(), said.contains("divide by zero")), ("2\n", true));
        let (display, said) = result("1 +\n2\n", false);
        assert_eq!((display.as_str(), said.contains("syntax error")), ("2\n", true));
        for program in ["while (1) 0*1", "9^9^9^9", "define f(x) { return f(x) }\nf(1)", "f(1)", "((((1"] {
            assert!(!result(program, false).1.is_empty(), "{program}");
        }
        assert!(!result(&"(".repeat(100_000), false).1.is_empty());
    }

    #[tokio::test]
    async fn it_reads_files_and_standard_input() {
        let mut stage = Stage::new().await;
        stage.write("alice", "~/f", "define d(x) { return 2*x }\n", 0o644).await;
        stage.stdin = b"d(21)\n".to_vec();
        assert_eq!(stage.prints(&["bc", "f"]).await, "42\n");
        assert_eq!(stage.prints(&["bc", "-e", "1+1"]).await, "2\n");
        assert_eq!(stage.fails(&["bc", "x"]).await, (1, "File: x is unavailable.\n".to_string()));
    }
}
