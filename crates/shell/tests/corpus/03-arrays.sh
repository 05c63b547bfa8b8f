#### basics
a=(one two three); echo "${a[0]}" "${a[-1]}" "${a[@]}" "${#a[@]}" $a
#### append
a=(1); a+=(2 3); a[5]=six; echo "${a[@]}" "${#a[@]}" "${!a[@]}"
#### sparse
a=([3]=c [1]=a); a+=(z); echo "${!a[@]}" "${a[@]}"; unset 'a[3]'; echo "${!a[@]}"
#### loop-with-index
f=(x "y z" w); for i in "${!f[@]}"; do echo "$i=${f[i]}"; done
#### slice
a=(a b c d e); echo "${a[@]:1:2}" "${a[@]: -2}" "${a[*]:3}"
#### copy-and-compare
a=(1 "2 3"); b=("${a[@]}"); echo "${#b[@]}"; b[0]=x; echo "${a[0]} ${b[0]}"
#### join
a=(a b c); (IFS=,; echo "${a[*]}"); printf '%s,' "${a[@]}"; echo; s=$(printf ', %s' "${a[@]}"); echo "${s:2}"
#### split-into
s="a,b,c"; IFS=, read -ra p <<<"$s"; echo "${#p[@]} ${p[1]}"; w=($s); echo ${#w[@]}; IFS=', ' read -ra q <<<"x, y, z"; echo "${q[2]}"
#### from-command
a=($(cat words.txt)); echo ${#a[@]}; b=($(seq 1 5)); echo $((b[0]+b[4]))
#### from-glob
shopt -s nullglob; f=(*.csv); echo "${f[@]}"; g=(*.nothing); echo ${#g[@]}
#### unset-whole
a=(1 2); unset a; echo "${#a[@]} [${a[0]-gone}]"
#### pass-to-function
show() { echo $#; printf '<%s>' "$@"; echo; }; a=("x y" z ""); show "${a[@]}"; show ${a[@]}
#### nameref
add() { local -n ref=$1; ref+=("$2"); }; list=(); add list a; add list "b c"; echo "${#list[@]} ${list[1]}"
#### reverse
a=(1 2 3 4); r=(); for ((i=${#a[@]}-1;i>=0;i--)); do r+=("${a[i]}"); done; echo "${r[@]}"
#### sort-array
a=(pear fig apple); IFS=$'\n' s=($(sort <<<"${a[*]}")); unset IFS; echo "${s[@]}"
#### contains
a=(red green); has() { local x; for x in "${a[@]}"; do [[ $x == "$1" ]] && return 0; done; return 1; }; has green && echo yes; has blue || echo no
#### delete-element
a=(a b c d); a=("${a[@]:0:1}" "${a[@]:2}"); echo "${a[@]}"; a=(${a[@]/c}); echo "${a[@]}"
#### arithmetic-index
a=(10 20 30); i=1; echo ${a[i+1]} ${a[$i]} ${a[i--]} $i; ((a[0]+=5)); echo ${a[0]}
#### nested-expansion-length
a=(a bb ccc); for i in 0 1 2; do echo -n "${#a[i]} "; done; echo
#### declare-p
a=(x "y z"); declare -p a; declare -i n=5; n+=3; declare -p n; s='q"q'; declare -p s
#### stack-and-queue
s=(); s+=(1); s+=(2); s+=(3); echo ${s[-1]}; unset 's[-1]'; echo ${s[@]}; s=("${s[@]:1}"); echo ${s[@]}
#### two-dimensional
declare -A m; for i in 0 1; do for j in 0 1; do m[$i,$j]=$((i*2+j)); done; done; echo ${m[0,1]} ${m[1,0]} ${#m[@]}
#### readonly-array
readonly -a r=(1 2); (r+=(3)) 2>/dev/null; echo $?; echo ${r[@]}
#### mapfile-basic
mapfile -t lines < words.txt; echo ${#lines[@]} "${lines[0]}" "${lines[-1]}"
#### at-in-string
a=(x y); b="pre ${a[@]} post"; echo "$b"; c=("pre${a[@]}post"); echo ${#c[@]}
#### empty-array-with-set-u
set -u; a=(); echo "${#a[@]}" "${a[@]}" "${a[*]:-none}"; for x in "${a[@]}"; do echo never; done; echo done
#### multi-line-literal
a=(
  first   # a comment
  "second item"
  third
)
echo ${#a[@]} "${a[1]}"
