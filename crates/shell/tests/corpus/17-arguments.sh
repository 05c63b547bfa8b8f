#### getopts-basic
set -- -a -b val file1 file2; while getopts ab: o; do case $o in a) echo "a";; b) echo "b=$OPTARG";; esac; done; shift $((OPTIND-1)); echo "rest: $*"
#### getopts-combined
set -- -xvf out.tar dir; while getopts "xvf:" o; do echo "$o ${OPTARG-}"; done; echo $OPTIND
#### getopts-unknown
set -- -z; while getopts ":ab:" o; do case $o in \?) echo "bad $OPTARG";; :) echo "needs $OPTARG";; esac; done; OPTIND=1; set -- -b; while getopts ":ab:" o; do case $o in \?) echo bad;; :) echo "needs $OPTARG";; esac; done
#### getopts-in-function
parse() { local OPTIND o n=1; while getopts n: o; do n=$OPTARG; done; shift $((OPTIND-1)); echo "$n $1"; }; parse -n 5 x; parse y
#### getopts-dashdash
set -- -a -- -b; while getopts ab o; do echo $o; done; shift $((OPTIND-1)); echo "$@"
#### long-options
set -- --name=Ada --verbose -n 3 -- pos1 --pos2; while (($#)); do case $1 in --name=*) name=${1#*=};; --verbose|-v) verbose=1;; -n) n=$2; shift;; --) shift; break;; -*) echo "unknown $1"; exit 1;; *) break;; esac; shift; done; echo "$name $verbose $n rest=$*"
#### shift
set -- a b c d; shift; echo $1 $#; shift 2; echo $1 $#; shift 5; echo "$? $#"
#### set-positional
set -- "x y" z; echo $# "$1"; set -- "$@" last; echo $#; set a b; echo $1 $#; set --; echo $#
#### last-argument
set -- a b c; echo "${!#}" "${@: -1}" "${@:1:$#-1}"; echo foo bar > /dev/null; echo $_
#### forward-all
inner() { echo "$# <$1> <$2>"; }; outer() { inner "$@"; }; outer "a b" ""
#### usage-error
f() { if (($#<1)); then echo "usage: f NAME" >&2; return 64; fi; echo "hi $1"; }; f; echo $?; f x
#### args-array
args=(-n 2); [[ 1 ]] && args+=(words.txt); head "${args[@]}"
#### loop-pairs
set -- a 1 b 2; while (($#>=2)); do echo "$1=$2"; shift 2; done
#### getopts-silent-default
while getopts "h" o -h; do echo "opt $o"; done; echo $OPTIND
#### numeric-check
for n in 12 -3 1.5 abc ""; do if [[ $n =~ ^-?[0-9]+$ ]]; then echo "$n int"; else echo "'$n' not"; fi; done
#### xargs-quoting
printf '%s\n' "a b" "c'd" | tr '\n' '\0' | xargs -0 -n1 echo
