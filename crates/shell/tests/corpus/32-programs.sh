#### fizzbuzz
for i in {1..15}; do if ((i%15==0)); then echo FizzBuzz; elif ((i%3==0)); then echo Fizz; elif ((i%5==0)); then echo Buzz; else echo $i; fi; done
#### primes-sieve
n=50; for ((i=2;i<=n;i++)); do s[i]=1; done; for ((i=2;i*i<=n;i++)); do ((s[i])) && for ((j=i*i;j<=n;j+=i)); do s[j]=0; done; done; for ((i=2;i<=n;i++)); do ((s[i])) && printf '%d ' $i; done; echo
#### bubble-sort
a=(5 2 9 1 7); n=${#a[@]}; for ((i=0;i<n;i++)); do for ((j=0;j<n-i-1;j++)); do if ((a[j]>a[j+1])); then t=${a[j]}; a[j]=${a[j+1]}; a[j+1]=$t; fi; done; done; echo "${a[@]}"
#### quicksort
qs() { (($#<=1)) && { echo "$@"; return; }; local p=$1 l=() r=(); shift; for x; do ((x<p)) && l+=($x) || r+=($x); done; echo $(qs "${l[@]}") $p $(qs "${r[@]}"); }; qs 3 6 1 8 2 9 2
#### binary-search
a=(1 3 5 7 9 11); find_it() { local lo=0 hi=$((${#a[@]}-1)) m; while ((lo<=hi)); do m=$(((lo+hi)/2)); ((a[m]==$1)) && { echo $m; return; }; ((a[m]<$1)) && lo=$((m+1)) || hi=$((m-1)); done; echo -1; }; find_it 7; find_it 4
#### word-count
tr -cs '[:alpha:]' '\n' < poem.txt | tr '[:upper:]' '[:lower:]' | sort | uniq -c | sort -k1,1rn -k2 | head -5
#### log-status-report
awk '{c[$9]++; b[$9]+=$10} END{for(s in c) print s, c[s], b[s]}' access.log | sort
#### log-top-clients
cut -d' ' -f1 access.log | sort | uniq -c | sort -k1,1nr -k2 | head -3 | while read -r n ip; do printf '%-10s %s\n' "$ip" "$n"; done
#### log-errors-by-file
for f in logs/*.log; do e=$(grep -c ERROR "$f"); w=$(grep -c WARN "$f"); echo "$(basename "$f"): $e errors, $w warnings"; done
#### csv-report
{ echo "| team | people | mean age |"; echo "|---|---|---|"; tail -n +2 people.csv | awk -F, '{n[$4]++; a[$4]+=$2} END{for(t in n) printf "| %s | %d | %.1f |\n", t, n[t], a[t]/n[t]}' | sort; } > report.md; cat report.md
#### csv-to-json
{ echo "["; tail -n +2 people.csv | while IFS=, read -r n a c t; do printf '  {"name":"%s","age":%d,"city":"%s"}\n' "$n" "$a" "$c"; done | sed '$!s/$/,/'; echo "]"; } | jq -c 'map(select(.age>40).name)'
#### json-to-csv
jq -r '["id","label","cost"], (.parts[] | [.id, .label, .qty*.price]) | @csv' data.json
#### config-to-exports
eval "$(awk -F' *= *' '/^\[/{s=substr($0,2,length($0)-2);next} /^[a-z]/{printf "%s_%s=%c%s%c\n", toupper(s), toupper($1), 39, $2, 39}' app.conf)"; echo "$SERVER_PORT $DATABASE_POOL $PATHS_DATA"
#### rename-numbered
mkdir r; touch r/{c,a,b}.jpg; i=1; for f in r/*.jpg; do mv "$f" "$(printf 'r/img-%03d.jpg' $i)"; ((i++)); done; ls r
#### template-render
cat > t.tpl <<'X'
Dear {{name}},
you are {{age}} and live in {{city}}.
X
sed -n 2,3p people.csv | while IFS=, read -r n a c t; do sed -e "s/{{name}}/$n/" -e "s/{{age}}/$a/" -e "s/{{city}}/$c/" t.tpl > "letter-$n.txt"; done; cat letter-*.txt
#### state-machine
state=idle; for ev in start pause resume stop bogus; do case $state:$ev in idle:start) state=running;; running:pause) state=paused;; paused:resume) state=running;; *:stop) state=idle;; *) echo "no $ev in $state"; continue;; esac; echo "$ev -> $state"; done
#### stack-calculator
rpn() { local s=(); for t; do case $t in [0-9]*) s+=($t);; [-+x/]) b=${s[-1]}; unset 's[-1]'; a=${s[-1]}; unset 's[-1]'; case $t in +) s+=($((a+b)));; -) s+=($((a-b)));; x) s+=($((a*b)));; /) s+=($((a/b)));; esac;; esac; done; echo "${s[0]}"; }; rpn 3 4 + 2 x; rpn 20 5 / 1 -
#### todo-app
todo() { case $1 in add) shift; echo "[ ] $*" >> todo.md;; done) sed -i "$2s/\[ \]/[x]/" todo.md;; list) nl -w1 -s'. ' todo.md;; esac; }; todo add buy milk; todo add "write tests"; todo done 1; todo list; grep -c '\[x\]' todo.md
#### tree-view
show() { local d=$1 p=$2 e; for e in "$d"/*; do [ -e "$e" ] || continue; echo "$p${e##*/}"; [ -d "$e" ] && show "$e" "$p  "; done; }; show docs ""
#### backup-rotate
for i in 1 2 3; do echo v$i > file; [ -f file.2 ] && mv file.2 file.3; [ -f file.1 ] && mv file.1 file.2; cp file file.1; done; head file file.*
#### deduplicate-by-hash
cp old.txt dup1; cp old.txt dup2; sha256sum old.txt dup1 dup2 new.txt | sort | awk 'seen[$1]++{print "dup", $2}'
#### roman-numerals
roman() { local n=$1 r= v; local -a vs=(1000 900 500 400 100 90 50 40 10 9 5 4 1) ss=(M CM D CD C XC L XL X IX V IV I); for i in "${!vs[@]}"; do while ((n>=vs[i])); do r+=${ss[i]}; ((n-=vs[i])); done; done; echo $r; }; roman 1994; roman 49
#### number-to-binary
bin() { local n=$1 r=; while ((n>0)); do r=$((n%2))$r; ((n/=2)); done; echo ${r:-0}; }; bin 10; bin 255; bin 0; echo $((2#1010))
#### matrix-multiply
declare -A a=([0,0]=1 [0,1]=2 [1,0]=3 [1,1]=4); for i in 0 1; do for j in 0 1; do s=0; for k in 0 1; do ((s+=a[$i,$k]*a[$k,$j])); done; printf '%d ' $s; done; echo; done
#### temperature-table
for c in 0 20 37 100; do printf '%3d C = %6.1f F\n' $c "$(echo "scale=1; $c*9/5+32" | bc)"; done
#### collatz
n=27; s=0; while ((n!=1)); do ((n%2)) && n=$((3*n+1)) || n=$((n/2)); ((s++)); done; echo $s
#### fibonacci-list
a=0 b=1; for ((i=0;i<20;i++)); do printf '%d ' $a; t=$((a+b)); a=$b; b=$t; done; echo
#### permutations
perm() { local pre=$1 rest=$2 i; [ -z "$rest" ] && { echo "$pre"; return; }; for ((i=0;i<${#rest};i++)); do perm "$pre${rest:i:1}" "${rest:0:i}${rest:i+1}"; done; }; perm "" abc
#### balanced-brackets
bal() { local s=$1 st= c i; for ((i=0;i<${#s};i++)); do c=${s:i:1}; case $c in '('|'['|'{') st+=$c;; ')') [[ $st == *'(' ]] || { echo no; return; }; st=${st%?};; ']') [[ $st == *'[' ]] || { echo no; return; }; st=${st%?};; '}') [[ $st == *'{' ]] || { echo no; return; }; st=${st%?};; esac; done; [ -z "$st" ] && echo yes || echo no; }; bal '([]{})'; bal '([)]'; bal '(('
#### key-value-store
put() { grep -v "^$1=" db 2>/dev/null > db.new; echo "$1=$2" >> db.new; mv db.new db; }; get() { sed -n "s/^$1=//p" db; }; put a 1; put b 2; put a 3; get a; get b; wc -l < db
#### retry-loop
tries=0; flaky() { ((++tries>=3)); }; until flaky; do echo "try $tries failed"; done; echo "ok after $tries"
#### progress-and-logging
log() { printf '%s [%s] %s\n' "$(date -u -d @0 +%T)" "$1" "${*:2}"; }; log INFO starting up; log WARN "disk 95%" >&2; log INFO done
#### argument-tool-script
cat > greet.sh <<'X'
#!/usr/bin/env bash
set -euo pipefail
usage() { echo "usage: ${0##*/} [-l] NAME" >&2; exit 64; }
loud=0
while getopts l o; do case $o in l) loud=1;; *) usage;; esac; done
shift $((OPTIND-1))
[ $# -ge 1 ] || usage
msg="hello $1"
((loud)) && msg=${msg^^}
echo "$msg"
X
chmod +x greet.sh; ./greet.sh ada; ./greet.sh -l ada; ./greet.sh; echo $?
#### makefile-like-deps
declare -A deps=([app]="lib util" [lib]=util [util]="") seen; build() { local d; [[ ${seen[$1]-} ]] && return; for d in ${deps[$1]}; do build $d; done; seen[$1]=1; echo "build $1"; }; build app
#### inventory-value
awk -F'\t' 'NR>1 && $3>0 {v=$3*$4; t+=v; printf "%-12s %8.2f\n", $2, v} END{printf "%-12s %8.2f\n", "total", t}' inventory.tsv
#### find-replace-in-tree
grep -rl TODO src docs | while read -r f; do sed -i 's/TODO/FIXME/g' "$f"; done; grep -rc FIXME src docs | sort
#### changelog-from-diff
diff old.txt new.txt | sed -n 's/^> /added: /p;s/^< /removed: /p'
#### line-length-check
awk 'length($0)>24{printf "%s:%d: %d chars\n", FILENAME, FNR, length($0)}' poem.txt notes.txt
#### top-product-by-region
tail -n +2 sales.csv | awk -F, '{k=$2","$3; u[k]+=$4} END{for(k in u) print k","u[k]}' | sort -t, -k1,1 -k3,3nr -k2,2 | awk -F, '!s[$1]++'
#### pivot-table
awk -F, 'NR>1{r[$2];p[$3];v[$2,$3]+=$4} END{n=split("chair desk lamp",c," "); printf "%-6s","";for(i=1;i<=n;i++)printf "%7s",c[i];print ""; m=split("north south west",d," "); for(j=1;j<=m;j++){printf "%-6s",d[j]; for(i=1;i<=n;i++)printf "%7d",v[d[j],c[i]]; print ""}}' sales.csv
#### guess-number-scripted
secret=42; lo=1; hi=100; n=0; while :; do g=$(((lo+hi)/2)); ((n++)); if ((g<secret)); then lo=$((g+1)); elif ((g>secret)); then hi=$((g-1)); else break; fi; done; echo "$g in $n"
#### ackermann-small
ack() { local m=$1 n=$2; if ((m==0)); then echo $((n+1)); elif ((n==0)); then ack $((m-1)) 1; else ack $((m-1)) $(ack $m $((n-1))); fi; }; ack 1 2; ack 2 2
#### sum-to-hundred-recursive
sum() { (($1==0)) && { echo 0; return; }; echo $(($1+$(sum $(($1-1))))); }; sum 25
#### string-distance
lev() { local a=$1 b=$2 i j c; local -A d; for ((i=0;i<=${#a};i++)); do d[$i,0]=$i; done; for ((j=0;j<=${#b};j++)); do d[0,$j]=$j; done; for ((i=1;i<=${#a};i++)); do for ((j=1;j<=${#b};j++)); do [[ ${a:i-1:1} == "${b:j-1:1}" ]] && c=0 || c=1; m=$((d[$((i-1)),$j]+1)); ((d[$i,$((j-1))]+1<m)) && m=$((d[$i,$((j-1))]+1)); ((d[$((i-1)),$((j-1))]+c<m)) && m=$((d[$((i-1)),$((j-1))]+c)); d[$i,$j]=$m; done; done; echo ${d[${#a},${#b}]}; }; lev kitten sitting
#### game-of-life
g=(".....", "..#..", "..#..", "..#..", "....."); for ((y=0;y<5;y++)); do row=; for ((x=0;x<5;x++)); do n=0; for dy in -1 0 1; do for dx in -1 0 1; do ((dx==0&&dy==0)) && continue; yy=$((y+dy)); xx=$((x+dx)); ((yy<0||xx<0||yy>4||xx>4)) && continue; [[ ${g[yy]:xx:1} == "#" ]] && ((n++)); done; done; if [[ ${g[y]:x:1} == "#" ]]; then ((n==2||n==3)) && row+="#" || row+=.; else ((n==3)) && row+="#" || row+=.; fi; done; echo $row; done
#### ipv4-to-int
ip2int() { local IFS=.; set -- $1; echo $((($1<<24)+($2<<16)+($3<<8)+$4)); }; ip2int 192.168.1.10; ip2int 10.0.0.1
#### big-loop
s=0; for ((i=1;i<=20000;i++)); do ((s+=i)); done; echo $s
#### semver-bump
bump() { IFS=. read -r a b c <<< "$1"; case $2 in major) echo $((a+1)).0.0;; minor) echo $a.$((b+1)).0;; patch) echo $a.$b.$((c+1));; esac; }; v=$(jq -r .version data.json); for k in major minor patch; do bump $v $k; done
