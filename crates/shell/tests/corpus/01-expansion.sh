#### default-values
unset a; b=; c=x
echo "${a:-one} ${b:-two} ${c:-three} ${a-four} [${b-five}] ${c-six}"
#### assign-default
unset a; b=
echo "${a:=one} ${b:=two}"; echo "$a $b"
#### alternate-value
unset a; b=; c=x
echo "[${a:+A}] [${b:+B}] [${c:+C}] [${a+A}] [${b+B}] [${c+C}]"
#### error-if-unset
( : "${nothing:?is needed}" ) ; echo "code $?"
#### error-if-unset-ends-script
: "${nothing:?}"
echo not reached
#### length
s="hello wörld"; echo ${#s}; e=; echo ${#e}; a=(a bb ccc); echo ${#a[@]} ${#a[2]}
#### substring
s=abcdefghij
echo ${s:2} ${s:2:3} ${s: -3} ${s: -3:2} ${s:0:-2} ${s:1:-1}
#### prefix-suffix
p=/usr/local/lib/libfoo.so.1.2
echo "${p#*/}" "${p##*/}" "${p%.*}" "${p%%.*}" "${p%/*}"
#### replace
s="one two one two"
echo "${s/one/1}" "${s//one/1}" "${s/#one/X}" "${s/%two/Y}" "${s//o}" "${s// /_}"
#### replace-with-pattern
s=a1b22c333; echo "${s//[0-9]/}" "${s//[0-9][0-9]/#}" "${s/[a-z]*/x}"
#### replace-ampersand
s=hello; echo "${s/l/[&]}" "${s//l/\&}"
#### case-change
s="Hello World"; echo "${s^^}" "${s,,}" "${s^}" "${s,}" "${s~~}"; t=abc; echo "${t^}" "${t^^[bc]}"
#### indirect
name=target; target=value; echo "${!name}"; printf '%s\n' "${!HO@}" | head -1
#### transform-quote
s="it's a \"test\""; echo "${s@Q}"; n=$'a\nb'; echo "${n@Q}"
#### transform-case
s="mixed Case"; echo "${s@U} ${s@L} ${s@u}"
#### transform-assign
x=5; declare -r x; echo "${x@A} ${x@a}"; declare -a arr=(1 "b c"); echo "${arr[@]@A}"
#### tilde
echo ~ ; echo ~/docs; a=~/x; echo "$a"; echo "~"; echo x~; b=/a:~/b; echo $b
#### word-splitting
v="  a   b  c "; set -- $v; echo $#; set -- "$v"; echo $#; for w in $v; do echo "<$w>"; done
#### ifs-split
IFS=: ; v="a:b::c:"; set -- $v; echo $#; for w; do echo "<$w>"; done
#### ifs-join
set -- a b c; IFS=,; echo "$*"; echo $*; IFS=; echo "$*"; IFS=-+; echo "$*"
#### star-and-at
set -- "a b" c; for i in "$@"; do echo "<$i>"; done; for i in "$*"; do echo "<$i>"; done; for i in $@; do echo "<$i>"; done
#### empty-at
set --; for i in "$@"; do echo never; done; for i in "${@:-x}"; do echo "<$i>"; done; echo $#
#### command-substitution
echo "$(echo one; echo two)"; echo $(printf 'a\nb\n\n\n')x; v=`echo back`; echo "$v"
#### nested-substitution
echo "$(echo "$(echo "deep $(echo er)")")"; echo `echo \`echo old\``
#### substitution-strips-newlines
v=$(printf 'x\n\n\n'); printf '[%s]\n' "$v"; v=$(printf '\n\nx'); printf '[%s]\n' "$v"
#### substitution-exit-code
v=$(exit 3); echo $?; local_fn() { local v=$(exit 4); echo $?; }; local_fn; echo "$(false)" ; echo $?
#### file-substitution
v=$(<notes.txt); echo "${#v}"; echo "$(< words.txt)" | head -2
#### special-parameters
set -- a b; echo $# $0 | sed 's#.*/##'; true; echo $?; echo ${#*} ${#@} $- | cut -d' ' -f1,2
#### many-positionals
set -- 1 2 3 4 5 6 7 8 9 ten eleven; echo $10 ${10} ${11} ${@:10} ${@:2:3} "${*: -2}"
#### nounset
set -u; x=1; echo $x; (echo $undefined_thing); echo "code $?"; echo "${undefined_thing:-safe}"
#### unset-variable
a=1; unset a; echo "[${a-unset}]"; f() { echo hi; }; unset -f f; f 2>/dev/null; echo $?
#### nested-default
unset a b; echo "${a:-${b:-$(echo fallback)}}"; c=set; echo "${a:-"$c quoted"}" "${a:-'$c'}"
#### escaped-expansion
a=1; echo "\$a" '$a' "\\$a" "a\
b"
#### ansi-c-quoting
printf '%s' $'tab\there\nnew\x41\101\u00e9\\ \'q\'' ; echo; echo $'\e[0m' | od -c | head -1
#### prefix-assignment
x=outer; x=inner printenv x; echo $x; IFS=, read a b <<<"1,2"; echo "$a-$b"
#### array-slices-and-patterns
f=(src/main.c src/util.c); echo "${f[@]##*/}" "${f[@]%.c}" "${f[@]/src/lib}" "${f[@]^^}"
#### random-and-seconds
[[ $RANDOM -ge 0 && $RANDOM -le 32767 ]] && echo ok; [[ $SECONDS -lt 5 ]] && echo ok; [[ $EPOCHSECONDS -gt 1700000000 ]] && echo ok
#### lineno
echo $LINENO
echo $LINENO
#### pattern-from-variable
p='*.txt'; s=a.txt; echo "${s%$p}" "${s%"$p"}" "${s#a.}"; q='.'; echo "${s%%"$q"*}"
