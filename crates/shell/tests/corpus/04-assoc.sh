#### basics
declare -A m=([a]=1 [b]="two words"); echo "${m[a]} ${m[b]} ${#m[@]}"
#### keys-sorted
declare -A m; m[z]=1; m[a]=2; m["key with space"]=3; for k in "${!m[@]}"; do echo "$k=${m[$k]}"; done | sort
#### exists
declare -A m=([x]=); [[ -v m[x] ]] && echo has; [[ -v m[y] ]] || echo no; echo "${m[x]+set}" "${m[y]+set}"
#### count-words
declare -A c; while read -r w; do ((c[$w]++)); done < words.txt; for w in "${!c[@]}"; do echo "$w ${c[$w]}"; done | sort
#### unset-key
declare -A m=([a]=1 [b]=2); unset 'm[a]'; echo ${#m[@]} "${!m[@]}"
#### append-value
declare -A m; m[k]=a; m[k]+=b; m+=([z]=9); echo "${m[k]} ${m[z]}"
#### key-from-variable
declare -A m; k="a b"; m[$k]=1; m["$k!"]=2; echo "${m[a b]} ${m["a b!"]}"
#### group-by
declare -A by; while IFS=, read -r n a c t; do [[ $n == name ]] && continue; by[$t]+="$n "; done < people.csv; for t in blue green red; do echo "$t: ${by[$t]}"; done
#### invert
declare -A m=([one]=1 [two]=2) r; for k in "${!m[@]}"; do r[${m[$k]}]=$k; done; echo ${r[1]} ${r[2]}
#### local-assoc
f() { local -A m=([q]=1); echo ${m[q]}; }; f; echo "[${m[q]-}]"
#### nameref-assoc
declare -A conf=([host]=h [port]=1); get() { local -n c=$1; echo "${c[$2]}"; }; get conf port
#### memo-fibonacci
declare -A memo; fib() { local n=$1; if ((n<2)); then r=$n; return; fi; if [[ -n ${memo[$n]} ]]; then r=${memo[$n]}; return; fi; fib $((n-1)); local a=$r; fib $((n-2)); r=$((a+r)); memo[$n]=$r; }; fib 12; echo $r
#### dollar-keys
declare -A m; m['$x']=1; m[@home]=2; echo "${m['$x']}" "${#m[@]}"
#### set-operations
declare -A a b; for x in 1 2 3; do a[$x]=1; done; for x in 2 3 4; do b[$x]=1; done; for x in "${!a[@]}"; do [[ ${b[$x]} ]] && echo both $x; done | sort
