#### errexit
set -e; echo before; false; echo never
#### errexit-exceptions
set -e; false || echo or; if false; then :; fi; ! true; false && true; while false; do :; done; echo reached
#### errexit-in-subshell
set -e; (echo in; false; echo never); echo not here
#### errexit-in-function
set -e; f() { false; echo in-f; }; f || echo handled; f; echo never
#### errexit-substitution
set -e; x=$(false; echo continued); echo "[$x]"; y=$(exit 3); echo never
#### errexit-local-masks
set -e; f() { local v=$(false); echo masked; }; f; export q=$(false); echo also
#### pipefail
false | true; echo $?; set -o pipefail; false | true; echo $?; true | (exit 3) | true; echo $?
#### strict-mode
set -euo pipefail; IFS=$'\n\t'; for f in *.csv; do n=$(wc -l < "$f"); echo "$f $n"; done; grep -q nothing notes.txt || echo none; cat missing.txt 2>/dev/null | wc -l; echo never
#### nounset-message
set -u; echo "$not_there"; echo never
#### nounset-arrays-and-defaults
set -u; a=(1); echo ${a[0]} ${b[0]:-none} ${1:-noarg} "$#" "$@"
#### xtrace
set -x; a=1; echo $a; { set +x; } 2>/dev/null; echo off
#### noclobber
set -o noclobber; echo a > new1; echo b > new1; echo $?; echo c >| new1; cat new1
#### noexec-check
bash -n -c 'echo hi; if'; echo $((${?}>0)); bash -n -c 'echo fine'; echo $?
#### allexport
set -a; fromall=yes; set +a; bash -c 'echo $fromall'; printenv fromall
#### shopt-query
shopt -s nullglob; shopt -q nullglob; echo $?; shopt -u nullglob; shopt nullglob; echo $?
#### set-o-query
set -o pipefail; [[ -o pipefail ]] && echo on; set +o pipefail; [[ -o pipefail ]] || echo off; set -o | grep -c noclobber
#### dollar-dash
set -eu; case $- in *e*u*|*u*e*) echo both;; esac
#### errexit-inherit
set -e; v=$(set +e; false; echo ok); echo $v; set -e; (set +e; false; echo inside)
#### errexit-pipeline
set -e; false | cat; echo survived; set -o pipefail; false | cat; echo never
#### restore-options
old=$(set +o | grep errexit); set -e; eval "$old"; false; echo "still $?"
#### errexit-last-in-and
set -e; true && false; echo never
#### errexit-test
set -e; [ 1 = 2 ] && echo no; [[ -f nothing ]] || echo gone; ((0)) || true; echo end
#### physical-cd
set -P; cd manual; pwd; cd; set +P; cd manual; pwd; pwd -P
