#### define-and-call
f() { echo "f got $# $1"; }; function g { echo g; }; function h() { echo h; }; f "a b" c; g; h
#### local-scope
x=global; f() { local x=local; g; echo "f $x"; }; g() { echo "g $x"; x=changed; }; f; echo "$x"
#### return-codes
f() { return 3; }; f; echo $?; g() { false; }; g; echo $?; h() { return; }; false; h; echo $?
#### recursion-factorial
fact() { if (($1<=1)); then echo 1; else echo $(($1*$(fact $(($1-1))))); fi; }; fact 10
#### recursion-deep
down() { local n=$1; if ((n==0)); then echo bottom; return; fi; down $((n-1)); }; down 40
#### recursion-hanoi
moves=0; hanoi() { (($1==0)) && return; hanoi $(($1-1)) $2 $4 $3; ((moves++)); hanoi $(($1-1)) $4 $3 $2; }; hanoi 5 a b c; echo $moves
#### output-capture
f() { echo out; echo err >&2; return 2; }; v=$(f 2>/dev/null); echo "$v $?"; v=$(f 2>&1); echo "$v"
#### function-in-pipeline
up() { tr a-z A-Z; }; echo hello | up | rev; list() { printf '%s\n' b a; }; list | sort
#### variables-visible
f() { y=set_inside; }; f; echo $y; (f2() { z=1; }; f2); echo "[${z-}]"
#### arguments-shift
f() { while (($#)); do echo -n "[$1]"; shift; done; echo; }; f a "b c" d
#### funcname
outer() { inner; }; inner() { echo "${FUNCNAME[0]} ${FUNCNAME[1]}"; }; outer
#### override-builtin
cd() { builtin cd "$@" && echo "now in ${PWD##*/}"; }; cd docs; echo() { builtin echo "E:" "$@"; }; echo hi; unset -f echo; echo plain
#### command-bypasses
ls() { echo fake; }; ls; command ls -d src
#### nested-definition
outer() { inner() { echo inner; }; }; outer; inner
#### subshell-body
f() ( cd docs; x=1; pwd | sed 's#.*/##' ); f; echo "${PWD##*/} [${x-}]" | sed 's/^ann/home/'
#### default-arguments
greet() { local who=${1:-world} n=${2-1}; echo "hello $who x$n"; }; greet; greet Ada 3; greet ""
#### return-via-printf-v
compute() { printf -v "$1" '%d' $(($2*2)); }; compute result 21; echo $result
#### redirect-on-definition
f() { echo to-file; } > f.out; f; cat f.out
#### if-function
is_even() { (($1%2==0)); }; for i in 1 2 3 4; do is_even $i && echo "$i even"; done
#### declare-f
f() { echo hi; }; declare -F f; type -t f; declare -f f
#### local-with-command
f() { local a b=2 c; c=$(echo 3); echo "$a$b$c"; }; f; g() { local -i n=4+4; local -r k=5; echo $n $k; }; g
#### local-outside
local x=1; echo $?
#### dynamic-dispatch
cmd_start() { echo starting "$@"; }; cmd_stop() { echo stopping; }; for c in start stop bogus; do if declare -F "cmd_$c" >/dev/null; then "cmd_$c" now; else echo "unknown $c"; fi; done
#### positional-restored
set -- outer args; f() { echo "$1 $#"; set -- changed; echo $1; }; f in; echo "$1 $#"
#### exit-in-function
f() { echo leaving; exit 7; }; f; echo never
#### return-trap-and-caller
f() { caller 0 | awk '{print $2}'; }; g() { f; }; g
#### underscored-and-dashed-names
my-func() { echo dashed; }; _x() { echo under; }; a.b() { echo dotted; }; my-func; _x; a.b
#### many-levels-of-local
a() { local v=a; b; echo $v; }; b() { local v=b; c; echo $v; }; c() { v=c; echo $v; }; v=top; a; echo $v
