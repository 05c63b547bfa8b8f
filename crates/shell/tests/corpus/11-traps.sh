#### exit-trap
trap 'echo bye' EXIT; echo hello
#### exit-trap-keeps-code
trap 'echo "code $?"' EXIT; exit 5
#### exit-trap-changes-code
trap 'exit 9' EXIT; exit 5
#### err-trap
trap 'echo "error $?"' ERR; false; (exit 3); true; false || true; echo end
#### err-trap-with-set-e
set -e; trap 'echo "failed at $LINENO"' ERR
true
false
echo never
#### cleanup-temp-file
t=$(mktemp); trap 'rm -f "$t"; echo cleaned' EXIT; echo data > "$t"; cat "$t"
#### trap-in-subshell
trap 'echo outer' EXIT; (trap 'echo inner' EXIT; echo sub); echo main
#### trap-reset
trap 'echo never' EXIT; trap - EXIT; echo done
#### trap-list
trap 'echo x' USR1; trap -p USR1; trap 'echo y' EXIT; trap -p EXIT; trap - EXIT
#### signal-self
trap 'echo got usr1' USR1; kill -USR1 $$; echo after
#### term-self
trap 'echo terminated; exit 143' TERM; kill -TERM $$; echo never
#### return-trap
f() { trap 'echo returning' RETURN; echo in f; }; f; trap - RETURN
#### debug-trap
n=0; trap '((n++))' DEBUG; true; true; trap - DEBUG; echo $((n>=2))
#### ignore-signal
trap '' INT; kill -INT $$; echo survived
#### exit-codes
(exit 0); echo $?; (exit 255); echo $?; (exit 256); echo $?; (exit -1); echo $?; (false; exit); echo $?
#### exit-in-pipe
echo x | exit 4; echo $?; exit 2 | true; echo $?; { exit 6; } | cat; echo ${PIPESTATUS[0]}
#### nested-function-trap
cleanup() { echo "cleanup $1"; }; trap 'cleanup one' EXIT; f() { trap 'cleanup two' EXIT; }; f; echo body
#### trap-sees-variables
x=1; trap 'echo "x=$x"' EXIT; x=2
#### trap-with-multiple
trap 'echo sig' INT TERM EXIT; echo run
#### exit-trap-after-error
set -eu; trap 'echo "status $?"' EXIT; echo "$undefined_thing"; echo never
#### traps-shown-and-taken-back
trap 'echo t' TERM; trap 'echo i' INT; trap -p TERM INT; trap - TERM INT; trap -p TERM; trap '' HUP; trap -p HUP; echo end
#### trap-in-function-and-by-number
f() { trap 'echo from f' EXIT; }; f; trap 'echo two' 2; trap -p 2; trap - SIGINT; trap -p INT; echo last
