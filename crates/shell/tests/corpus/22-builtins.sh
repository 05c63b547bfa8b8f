#### eval
x=y; y=5; eval "echo \$$x"; eval 'for i in 1 2; do echo $i; done'; eval "a=1; b=2"; echo $((a+b)); eval; echo $?
#### source
source bin/lib.sh; greet Ada; echo $GREETING; . ./bin/lib.sh && greet Bob
#### source-args-and-return
cat > inc.sh <<'X'
echo "args $# $1"
return 4
echo never
X
source inc.sh a b; echo $?; set -- keep; . ./inc.sh; echo "$?"
#### source-missing
source missing.sh; echo $?
#### command-v
command -v cd; command -v if; f() { :; }; command -v f; command -v nosuchthing; echo $?; command -v ls > /dev/null && echo has ls
#### type
type -t cd; type -t if; type -t ls; f() { :; }; type -t f; type -t nosuch; echo $?; type cd
#### which
which ls > /dev/null && echo found; which nosuchthing > /dev/null; echo $?
#### pushd-popd
pushd docs > /dev/null; echo "${PWD##*/}"; pushd guide > /dev/null; echo "${PWD##*/}"; dirs -p | wc -l; popd > /dev/null; echo "${PWD##*/}"; popd > /dev/null; echo "${PWD##*/}"; popd; echo $?
#### cd-variants
cd docs; cd guide; cd ..; echo ${PWD##*/}; cd -; cd; pwd; cd ~/src && pwd; cd nowhere; echo $?; echo ${OLDPWD##*/}
#### cd-logical
cd manual; pwd; cd ..; pwd; cd -P manual; pwd; cd /; pwd; cd "$HOME"; echo $?
#### cdpath
CDPATH=$HOME/docs; cd guide; pwd
#### export
a=1; export a; bash -c 'echo $a'; export b=2 c=3; bash -c 'echo $b$c'; export -n a; bash -c 'echo [$a]'; export -p | grep -c 'declare -x b='
#### export-function
f() { echo exported $1; }; export -f f; bash -c 'f ok'
#### readonly
readonly r=1; r=2; echo never
#### readonly-in-subshell
readonly r=1; (r=2) 2>/dev/null; echo "$? $r"; unset r 2>/dev/null; echo $?
#### declare-attributes
declare -u up=hello; declare -l low=HELLO; echo $up $low; declare -x ex=1; printenv ex; declare -r ro=1; declare -p ro; declare +x ex; printenv ex; echo $?
#### alias-off-in-scripts
alias ll='ls -l'; ll 2>/dev/null; echo $?; shopt -s expand_aliases
alias hi='echo hello'
hi there
unalias hi; hi 2>/dev/null; echo $?
#### builtin-and-enable
builtin echo hi; builtin nosuch; echo $?; enable -n echo 2>/dev/null; enable echo; echo back
#### hash
hash ls; echo $?; hash nosuchthing; echo $?; hash -r; echo $?
#### umask
umask; umask 077; touch private; stat -c %a private; umask -S; umask 022; mkdir open; stat -c %a open
#### true-false-colon
true; echo $?; false; echo $?; : "$(echo side > effect)"; cat effect
#### printenv-and-env
env -i A=1 B=2 env | sort; printenv HOME > /dev/null && echo ok; printenv nosuch; echo $?; env -u HOME bash -c 'echo "[${HOME-none}]"' | head -1
#### set-lists-variables
myvar=here; set | grep '^myvar='; declare -p myvar; compgen -v my | head -1
#### help-exists
help cd > /dev/null; echo $?
#### times-and-ulimit
times > /dev/null; echo $?; ulimit -n > /dev/null; echo $?
#### dirs-stack
pushd -n /tmp > /dev/null; dirs | wc -w; dirs -c; dirs | wc -w
#### let-and-test-builtins
let a=2**5 b=a/3; echo $a $b; test $a -gt $b && echo gt
#### let-me-unset
a=(1 2 3); unset a[1]; echo "${a[@]}"; unset -v a; echo "${a[@]-none}"; unset nosuch; echo $?
#### shopt-list
shopt -p extglob; shopt -s extglob; shopt -p extglob; shopt nosuchopt; echo $?
#### indirect-commands
cmd=echo; $cmd via variable; c="echo split words"; $c; arr=(printf '%s|' a 'b c'); "${arr[@]}"; echo
#### bash-version
echo "${BASH_VERSINFO[0]}"; [[ $BASH_VERSION == 5.* ]] && echo five; echo "${BASH##*/}"
#### unknown-command
nosuchcommand --flag; echo $?; ./nosuchfile; echo $?
#### syntax-error
echo before
if then
#### syntax-error-in-eval
eval 'echo )'; echo "code $?"
#### umask-shown
umask; umask -S; umask 027; umask; umask -p; (umask 077; umask); umask; umask 999; echo $?; umask u=rwx,go=; umask
#### shell-number
[ "$$" -gt 1 ] && echo number; [ $$ = "$$" ] && echo same; (echo $$) | cmp - <(echo $$) && echo kept; x=$(echo $$); [ $x = $$ ] && echo "in substitution"; echo $$>f; [ "$(cat f)" = "$$" ] && echo file; echo '$$' \$\$ "\$\$"; rm f
#### shell-number-in-handler
echo hi > t.$$; trap 'rm -f t.$$; ls t.* 2>/dev/null | wc -l' EXIT; cat "t.$$"
#### shell-number-signals
trap 'echo got' USR1; kill -USR1 $$; kill -0 $$ && echo alive; echo $$ > p; kill -USR1 "$(cat p)"; rm p
#### shell-number-and-subshells
[ $BASHPID = $$ ] && echo same; ( [ $BASHPID != $$ ] && echo other ); cat <<E | tr -d 0-9
a$$b
E
