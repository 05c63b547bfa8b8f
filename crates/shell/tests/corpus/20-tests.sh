#### files
[ -e notes.txt ] && [ -f notes.txt ] && [ -d docs ] && [ -s notes.txt ] && [ ! -s empty.txt ] && [ -r notes.txt ] && [ -x bin/hello.sh ] && [ ! -x notes.txt ] && echo ok
#### links
[ -L shortcut ] && [ -h shortcut ] && [ -f shortcut ] && echo link; [ -L dangling ] && [ ! -e dangling ] && echo broken; [ -d manual ] && echo dirlink
#### strings
[ -z "" ] && [ -n x ] && [ a = a ] && [ a != b ] && [ x ] && [ ! "" ] && echo ok
#### numbers
[ 3 -gt 2 ] && [ 2 -lt 3 ] && [ 2 -le 2 ] && [ 2 -ge 2 ] && [ 2 -eq 02 ] && [ 1 -ne 2 ] && echo ok
#### and-or-not
[ 1 = 1 -a 2 = 2 ] && echo a; [ 1 = 2 -o 2 = 2 ] && echo o; [ ! 1 = 2 ] && echo n; [ \( 1 = 1 \) ] && echo p
#### double-bracket-logic
[[ 1 -lt 2 && ! ( a == b ) || x == y ]] && echo yes; [[ -n $HOME && -d $HOME ]] && echo home; [[ $undefined_thing ]] || echo empty
#### regex
[[ abc123 =~ ^[a-z]+[0-9]{3}$ ]] && echo m; re='^([^@]+)@(.+)$'; [[ ada@example.com =~ $re ]] && echo "${BASH_REMATCH[1]} at ${BASH_REMATCH[2]}"; [[ x =~ y ]]; echo $?
#### regex-special
[[ "a.b" =~ a\.b ]] && echo dot; [[ "a+b" =~ "a+b" ]] && echo literal; [[ "  x" =~ ^[[:space:]]+x ]] && echo space; [[ foo =~ (bar)? ]] && echo "opt[${BASH_REMATCH[1]}]"
#### regex-alternation
for d in 2024-01-31 2024-13-01 x; do [[ $d =~ ^[0-9]{4}-(0[1-9]|1[0-2])-([0-2][0-9]|3[01])$ ]] && echo "$d ok" || echo "$d bad"; done
#### nocasematch
shopt -s nocasematch; [[ HELLO == hello ]] && echo eq; [[ ABC =~ abc ]] && echo re; case X in x) echo case;; esac
#### newer-older
touch -d '2024-01-01' a; touch -d '2024-06-01' b; [ b -nt a ] && echo newer; [ a -ot b ] && echo older; [ a -ef a ] && echo same; [ notes.txt -ef shortcut ] && echo linked
#### variable-set
a=; [[ -v a ]] && echo set; [[ -v zz ]] || echo unset; [ -v a ] && echo set2; arr=(1); [[ -v arr[0] ]] && echo el
#### test-command
test 1 -eq 1; echo $?; test -f missing; echo $?; test; echo $?; test x = ; echo $?
#### bad-number
[ abc -eq 1 ]; echo $?; [ 1 -eq ]; echo $?
#### unquoted-empty
v=; [ $v ] || echo empty; [ -n $v ] && echo trap; [ -n "$v" ] || echo right; [ $v = x ]; echo $?
#### lexical-vs-numeric
[[ 10 < 9 ]] && echo lexical; ((10<9)) || echo numeric; [[ 10 -lt 9 ]] || echo numeric2
#### pattern-vs-quoted
p='a*'; [[ abc == $p ]] && echo pattern; [[ abc == "$p" ]] || echo literal; [[ abc != b* ]] && echo neq
#### permissions
chmod 000 notes.txt; [ -r notes.txt ] || echo unreadable; cat notes.txt; echo $?; chmod 600 notes.txt; [ -w notes.txt ] && echo writable
#### terminal
[ -t 0 ] || echo not-a-terminal; [ -t 1 ] || echo piped; [ -p /dev/stdin ] || echo no-pipe
#### arithmetic-in-brackets
x=5; [[ x -eq 5 ]] && echo bare; [[ $x -eq 2+3 ]] && echo expr; [ "$((x*2))" -eq 10 ] && echo ten
#### conditional-files
touch f; ln -s f l; ln -s nowhere d; for x in f l d none; do [[ -L $x ]] && echo "L $x"; [[ -h "$x" ]] && echo "h $x"; [[ -e $x ]] && echo "e $x"; done; true
#### conditional-permissions
touch a b c; chmod 000 a; chmod 500 b; chmod 200 c; for x in a b c none; do [[ -r $x ]] && echo "r $x"; [[ -w ./$x ]] && echo "w $x"; [[ -x "$PWD"/$x ]] && echo "x $x"; done; [[ ! -r a && ( -x b || -w b ) ]] && echo both; rm -f a b c
#### conditional-newer
touch -d '2020-01-01' a; touch -d '2021-01-01' b; mkdir -p d; cd d; [[ ../b -nt ../a ]] && echo newer; [[ ../a -nt ../b ]] || echo not; [[ ../a -ot ../b ]] && echo older; [[ ../b -nt ../none ]] && echo there; x=../a; [[ $x -ef ../d/../a ]] && echo same
#### conditional-options
set -u; [[ -o nounset ]] && echo u; [[ -o errexit ]] || echo no e; set +u; [[ -o nounset ]] || echo no u
#### conditional-executable-found
[[ -x $(command -v ls) ]] && echo found; [[ -x "$(command -v no-such-program)" ]] || echo missing; [[ -r $none ]] || echo empty; [[ -w ~/ ]] && echo home
#### conditional-looks-like-a-test
x=-L; [[ $x == -L ]] && echo equal; [[ -n -r ]] && echo text; [[ "-r" ]] && echo one; [[ a =~ ^(-r|a)$ ]] && echo matched
