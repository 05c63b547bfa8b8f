#### sed-set-a-key
sed -i 's/^port = .*/port = 9090/' app.conf; grep port app.conf; sed -i.bak '/^host/s/= .*/= 0.0.0.0/' app.conf; grep host app.conf app.conf.bak
#### sed-add-after-section
sed -i '/^\[server\]/a timeout = 30' app.conf; sed -n '/^\[server\]/,/^$/p' app.conf
#### sed-comment-and-uncomment
sed -i -E 's/^(port|host)/# \1/' app.conf; grep -c '^# ' app.conf; sed -i -E 's/^# (port)/\1/' app.conf; grep -n 'port\|host' app.conf
#### sed-delete-blank-and-comments
sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' app.conf
#### sed-key-exists-or-append
set_key() { if grep -q "^$1 *=" "$3"; then sed -i "s|^$1 *=.*|$1 = $2|" "$3"; else echo "$1 = $2" >> "$3"; fi; }; set_key port 1 app.conf; set_key colour 'a/b' app.conf; grep -E 'port|colour' app.conf
#### sed-several-files
sed -i 's/INFO/info/' logs/*.log; grep -c info logs/*.log; sed -s -n '1p' logs/*.log
#### sed-insert-header-footer
seq 3 | sed -e '1i head' -e '$a foot' -e '2c\two'
#### sed-swap-fields
sed -E 's/^([^:]*):([^:]*):(.*)$/\3:\2:\1/' fields.txt; echo 'John Smith' | sed -E 's/(\w+) (\w+)/\2, \1/'
#### awk-report-by-key
awk -F, 'NR > 1 { units[$2] += $4; total[$2] += $4 * $5 } END { for (r in units) printf "%-8s %4d %10.2f\n", r, units[r], total[r] }' sales.csv | sort
#### awk-header-and-total
awk -F'\t' 'NR == 1 { print; next } { sum += $3 * $4; print $2 ": " $3 * $4 } END { print "total", sum }' inventory.tsv
#### awk-status-counts
awk '{ c[$9]++ } END { for (s in c) print s, c[s] }' access.log | sort -k2,2nr -k1,1
#### awk-fields-by-header
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["city"] "/" $at["name"] }' people.csv
#### awk-join-two-files
printf 'a 1\nb 2\n' > l; printf 'b x\nc y\na z\n' > r; awk 'NR == FNR { m[$1] = $2; next } $1 in m { print $1, m[$1], $2 }' l r
#### awk-paragraphs
printf 'a\nb\n\nc\nd\n' | awk 'BEGIN { RS = ""; FS = "\n" } { print NR ": " $1 "+" $NF }'
#### awk-output-to-files
awk -F, 'NR > 1 { print $1 > ($4 ".team") }' people.csv; wc -l *.team; cat blue.team
#### awk-columns-and-width
printf 'one two\nthree four\n' | awk '{ printf "%-10s|%5s|\n", $1, $2 }'; awk 'BEGIN { printf "%05.1f %x %o %e %s%%\n", 3.14159, 255, 8, 12345.678, 50 }'
#### awk-string-functions
echo 'Hello World' | awk '{ print toupper($1), tolower($2), length($0), substr($0, 3, 4), index($0, "o"); n = split($0, p, /o/); print n, p[2]; gsub(/o/, "0"); print; print match($0, /W.r/), RSTART, RLENGTH }'
#### read-lines-with-ifs
while IFS=, read -r name age city rest; do echo "$city: $name ($age)"; done < <(tail -n +2 people.csv)
#### read-keep-blanks
printf '  a b  \n\tc\n' | while IFS= read -r line; do echo "[$line]"; done
#### read-without-last-newline
printf 'one\ntwo' | { n=0; while read -r l || [ -n "$l" ]; do n=$((n + 1)); echo "$n $l"; done; }
#### read-key-values
while IFS='=' read -r key value; do [[ $key =~ ^#|^\[ || -z $key ]] && continue; key=${key// /}; echo "${key^^}=${value# }"; done < app.conf
#### read-into-array
IFS=: read -ra parts <<< 'a:b c::d'; echo "${#parts[@]} ${parts[1]} [${parts[2]}] ${parts[-1]}"
#### read-nul-separated
touch 'x y.tmp' z.tmp; find . -name '*.tmp' -print0 | sort -z | while IFS= read -r -d '' f; do echo "<$f>"; done
#### read-loop-keeps-variables
total=0; while read -r n; do ((total += n)); done < numbers.txt; echo $total; count=0; printf '%s\n' a b | while read -r _; do ((++count)); done; echo $count
#### mapfile-and-process
mapfile -t lines < <(sort -u words.txt); echo "${#lines[@]} ${lines[0]}"; mapfile -t -n 2 -s 1 two < poem.txt; printf '<%s>\n' "${two[@]}"
#### find-exec-each
find logs -name '*.log' -exec basename {} .log \; | sort; find src -name '*.c' -exec grep -l main {} +
#### find-exec-sh
find docs -type f -exec sh -c 'for f; do echo "$(wc -l < "$f") ${f##*/}"; done' _ {} + | sort
#### find-prune-and-size
mkdir -p node_modules/x; touch node_modules/x/a.md; find . -name node_modules -prune -o -name '*.md' -print | sort; find . -maxdepth 1 -type f -empty
#### find-newer-and-delete
touch -d '2020-01-01' old.tmp; touch new.tmp; find . -name '*.tmp' -newer old.tmp; find . -name '*.tmp' ! -newermt 2021-01-01 -delete; ls *.tmp
#### xargs-n-and-i
printf '%s\n' a b c d e | xargs -n 2 echo +; printf '%s\n' x y | xargs -I{} echo '{}-{}'; ls logs | xargs -I% cp logs/% %.copy; ls *.copy
#### xargs-nul-and-parallel
printf 'a b\0c\0' | xargs -0 -n1 echo got; seq 6 | xargs -P 2 -n 3 echo | sort; echo | xargs -r echo never
#### xargs-with-shell
printf '1\n2\n3\n' | xargs -I{} sh -c 'echo $(( {} * {} ))'; echo 'a b c' | xargs bash -c 'echo "$# $1 $3"' _
#### jq-reshape-to-table
jq -r 'select(.user) | [.level, .user, (.ms // 0)] | @tsv' events.jsonl
#### jq-group-and-count
jq -s -c 'group_by(.level) | map({key: .[0].level, value: length}) | from_entries' events.jsonl
#### jq-build-object
jq -n -c --arg name ann --argjson age 30 '{$name, age: $age, tags: ["a", "b"], nested: {x: ($age + 1)}}'
#### jq-update-in-place
jq '.version = "2.0.0" | .tags += ["new"] | del(.name)' data.json > t && mv t data.json; jq -c '[.version, (.tags | length), has("name")]' data.json
#### jq-csv-to-json
jq -R -s -c 'split("\n") | map(select(length > 0) | split(",")) | .[0] as $h | .[1:3] | map([$h, .] | transpose | map({(.[0]): .[1]}) | add)' people.csv
#### jq-lines-and-exit-code
jq -e '.nothing' data.json; echo $?; jq -r '.tags | join(";")' data.json; jq -r '.tags[] | ascii_upcase' data.json; echo '{"a":[1,{"b":2}]}' | jq -c 'paths'
#### jq-walk-and-sort
echo '{"b":{"z":1,"a":null},"a":[3,1,2]}' | jq -cS 'walk(if type == "array" then sort elif type == "object" then with_entries(select(.value != null)) else . end)'
#### getopts-loop
parse() { local OPTIND opt v=0 f=; while getopts ':vf:h' opt; do case $opt in v) v=$((v + 1));; f) f=$OPTARG;; h) echo help;; :) echo "need -$OPTARG";; \?) echo "bad -$OPTARG";; esac; done; shift $((OPTIND - 1)); echo "v=$v f=$f rest=$*"; }; parse -v -vf file a b; parse -x -f; parse -h -- -v
#### long-options
parse() { local verbose=false name= rest=(); while [[ $# -gt 0 ]]; do case $1 in -v|--verbose) verbose=true; shift;; --name=*) name=${1#*=}; shift;; -n|--name) name=$2; shift 2;; --) shift; rest+=("$@"); break;; -*) echo "unknown $1" >&2; return 2;; *) rest+=("$1"); shift;; esac; done; echo "$verbose [$name] ${rest[*]}"; }; parse --name=ann -v x y; parse -n bob -- -z; parse --bad 2>&1; echo $?
#### case-patterns
for f in a.tar.gz b.zip c.TXT d .hidden; do case $f in *.tar.gz|*.tgz) echo tar;; *.zip) echo zip;; *.[Tt][Xx][Tt]) echo text;; .*) echo hidden;; *) echo other;; esac; done; case abc in a*) echo one;;& *c) echo two;& x) echo three;; esac
#### assoc-count-words
declare -A n; for w in $(tr -cs 'a-zA-Z' '\n' < poem.txt | tr A-Z a-z); do n[$w]=$(( ${n[$w]:-0} + 1 )); done; for w in "${!n[@]}"; do echo "${n[$w]} $w"; done | sort -k1,1nr -k2 | head -3
#### assoc-set-operations
declare -A seen; for x in a b a c b; do [[ ${seen[$x]+set} ]] || echo "$x"; seen[$x]=1; done; unset 'seen[a]'; [[ -v seen[a] ]] || echo gone; echo "${#seen[@]}"
#### array-slices-and-edits
a=(one two three four); echo "${a[@]:1:2}" "${a[@]: -1}" "${!a[@]}"; a=("${a[@]:0:1}" new "${a[@]:1}"); unset 'a[2]'; a+=("last one"); printf '<%s>' "${a[@]}"; echo; echo "${a[*]/o/0}" "${#a[@]}"; IFS=,; echo "${a[*]}"
#### array-sort-and-join
a=(pear apple fig); mapfile -t s < <(printf '%s\n' "${a[@]}" | sort); (IFS='|'; echo "${s[*]}"); join_by() { local d=$1; shift; local f=$1; shift; printf %s "$f" "${@/#/$d}"; echo; }; join_by ', ' "${s[@]}"
#### printf-formats
printf '%s=%d\n' a 1 b 2; printf '%5s|%-5s|%05d|%+d|%x|%o|%.3f|%e\n' ab cd 42 7 255 8 3.14159 1234.5; printf '%q %q\n' 'a b' "it's"; printf '%b\n' 'a\tb\n'; printf '%%|%c|%s\n' xyz; printf '%(%Y)T\n' 0; printf '%-10.3s|\n' abcdef
#### printf-table
while IFS=, read -r a b c d; do printf '%-8s %5s %-10s\n' "$a" "$b" "$c"; done < people.csv
#### date-arithmetic
date -u -d '2024-02-28 +2 days' +%F; date -u -d '2024-03-31 1 month ago' +%F; echo $(( ($(date -u -d 2024-03-01 +%s) - $(date -u -d 2024-02-01 +%s)) / 86400 )); date -u -d @86400 '+%Y-%m-%dT%H:%M:%SZ %a %j'; date -u -d 'next monday' +%u; date -u -d '2024-01-01 12:30 UTC' +%I:%M%p
#### heredoc-quoting
name=world; cat <<EOF
Hello $name, $(echo sub) and $((1 + 2)), \$name, \`x\`, "quotes" 'single'
EOF
cat <<'EOF'
Hello $name, $(echo sub), \$name
EOF
cat <<-EOF
	tabs go
	  two blanks stay
	EOF
#### heredoc-into-file-and-function
usage() { cat <<-'E'
	usage: $0 [-v] FILE
	E
}; usage; cat > out.sh <<'S'
#!/bin/bash
echo "args: $*"
S
chmod +x out.sh; ./out.sh a b; cat <<A; cat <<B
first
A
second
B
#### process-substitution
diff <(sort words.txt) <(sort -u words.txt) > /dev/null && echo same || echo differ; comm -12 <(printf 'a\nb\nc\n') <(printf 'b\nc\nd\n'); paste -d: <(cut -d, -f1 people.csv) <(cut -d, -f3 people.csv) | head -2; while read -r x; do echo "got $x"; done < <(printf '1\n2\n')
#### trap-exit-cleanup
work() { local d; d=$(mktemp -d) || return; trap 'rm -rf "$d"; echo cleaned' RETURN; echo x > "$d/f"; cat "$d/f"; }; work; (trap 'echo bye $?' EXIT; exit 3); echo $?; trap 'echo "at exit"' EXIT; echo end
#### trap-err-line
set -E; trap 'echo "failed: $BASH_COMMAND"' ERR; false; f() { false; true; }; f; true
#### strict-mode
bash -euo pipefail -c 'echo a; x=$(false | true); echo never'; echo $?; bash -euo pipefail -c 'echo "${UNSET:-default}"; echo "$UNSET"; echo never' 2>/dev/null; echo $?; bash -euo pipefail -c 'if false; then :; fi; false || true; ! true; echo reached'; echo $?; (set -e; f() { false; echo "in f"; }; f || echo "f failed"; f && true; echo here)
#### strict-mode-local
set -euo pipefail; f() { local x=$(false); echo "local hides it"; }; f; g() { local y; y=$(false); echo never; }; (g) || echo "g failed"; a=(); echo "n=${#a[@]} ${a[@]+x}"
#### sort-keys
sort -t, -k2,2n people.csv | head -3; sort -t, -k4,4 -k2,2nr people.csv | head -3; printf 'b10\nb9\na2\n' | sort -V; printf '1K\n2M\n10\n' | sort -h; printf 'b\nA\na\nB\n' | sort -f; sort -t: -k3 -n -r fields.txt | head -1; printf 'x 2\ny 1\n' | sort -k2 -o s && cat s; sort -c numbers.txt 2>/dev/null || echo unsorted
#### join-paste-comm
printf '1 a\n2 b\n4 d\n' > l; printf '1 x\n2 y\n3 z\n' > r; join l r; join -a1 -e- -o 0,1.2,2.2 l r; join -v2 l r; join -t, -1 1 -2 2 <(printf 'a,1\n') <(printf '9,a\n'); paste -sd+ <(seq 4); paste - - < <(seq 4); comm -3 <(printf 'a\nb\n') <(printf 'b\nc\n')
#### tar-round-trip
mkdir -p p/q; echo 1 > p/a; echo 2 > 'p/q/b c'; chmod 640 p/a; tar -czf p.tgz p; tar -tzf p.tgz | sort; mkdir o; tar -xzf p.tgz -C o; diff -r p o/p && echo equal; stat -c %a o/p/a; tar -cf - -C p . | tar -tf - | sort; tar --exclude='*.c' -cf s.tar src; tar -tf s.tar; tar -xOf p.tgz p/a; rm p.tgz s.tar
#### diff-and-patch
printf 'a\nb\nc\n' > x; printf 'a\nB\nc\nd\n' > y; diff x y; echo $?; diff -u x y | tail -n +3; diff -u x y > p; patch -s x < p; cmp x y && echo patched; patch -s -R x < p; cat x; diff -q x y; diff -y -W 20 x x | head -1; rm p
#### uniq-and-top
cut -d' ' -f1 access.log | sort | uniq -c | sort -k1,1nr -k2 | awk '{ print $2, $1 }' | head -3; printf 'a\na\nb\n' | uniq -d; printf 'a\na\nb\n' | uniq -u; printf 'A\na\n' | uniq -ic | tr -s ' '
#### cut-and-tr
cut -d, -f1,3 people.csv | head -2; cut -c1-3 words.txt | head -2; echo 'a:b:c' | cut -d: -f2-; echo hello | tr 'a-y' 'b-z'; echo 'a  b   c' | tr -s ' '; echo 'x1y2' | tr -cd '0-9\n'; echo 'path:to:x' | tr : '\n'
#### string-surgery
p=/usr/local/lib/libfoo.so.1.2; echo "${p##*/} ${p%/*} ${p%%.*} ${p#*.} ${p/lib/LIB} ${p//lib/LIB} ${#p} ${p:5:5} ${p: -3}"; s='hello world'; echo "${s^} ${s^^} ${s// /_} ${s/#hello/bye} ${s/%world/all}"; v=; echo "${v:-d} ${v-e} ${v:+f} ${w:=g} $w"
#### retry-with-backoff
n=0; try() { n=$((n + 1)); [ $n -ge 3 ]; }; for i in 1 2 3 4; do if try; then echo "ok after $i"; break; fi; echo "try $i failed"; done; until [ $n -le 0 ]; do n=$((n - 2)); done; echo $n
#### menu-of-functions
cmd_start() { echo "starting $*"; }; cmd_stop() { echo stopping; }; run() { local c=cmd_$1; shift; if declare -F "$c" > /dev/null; then "$c" "$@"; else echo "unknown: ${c#cmd_}"; return 1; fi; }; run start a b; run stop; run fly || echo $?
#### logging-and-redirection
log() { printf '%s [%s] %s\n' T "$1" "${*:2}" >&2; }; log info hello there 2> err; cat err; { echo out; echo err >&2; } > o 2>&1; cat o; { echo out; echo err >&2; } 2>/dev/null; exec 3>&1; echo via3 >&3; exec 3>&-; echo both &> b; cat b; echo more &>> b; wc -l < b
#### csv-to-markdown
{ IFS=, read -ra h; printf '|'; printf ' %s |' "${h[@]}"; echo; printf '|'; printf -- '---|%.0s' "${h[@]}"; echo; while IFS=, read -ra r; do printf '|'; printf ' %s |' "${r[@]}"; echo; done; } < people.csv | head -4
#### rename-many
touch a.jpeg b.jpeg 'c d.jpeg'; for f in *.jpeg; do mv -- "$f" "${f%.jpeg}.jpg"; done; ls *.jpg; i=1; for f in *.jpg; do printf -v n 'img_%03d.jpg' $i; mv "$f" "$n"; ((i++)); done; ls img_*
#### config-to-variables
eval "$(sed -n 's/^\([a-z]*\) = \(.*\)$/cfg_\1="\2"/p' app.conf)"; echo "$cfg_host:$cfg_port"; declare -p cfg_port; for v in ${!cfg_*}; do echo "$v"; done | head -2; n=cfg_host; echo "${!n}"
#### template-with-envsubst-like
tpl='Dear {{name}}, you owe {{sum}}.'; declare -A v=([name]=Ann [sum]=12); for k in "${!v[@]}"; do tpl=${tpl//"{{$k}}"/${v[$k]}}; done; echo "$tpl"; export A=1 B=2; echo 'a=$A b=$B' | while read -r l; do eval "echo \"$l\""; done
#### background-and-wait
f() { sleep 0.0$1; return $1; }; f 1 & p1=$!; f 2 & p2=$!; wait $p1; echo $?; wait $p2; echo $?; (exit 7) & wait $!; echo $?; for i in 1 2 3; do echo $i > w$i & done; wait; cat w1 w2 w3
#### numbers-and-bases
echo $((0x1f)) $((010)) $((2#1011)) $((16#ff)); printf '%d\n' 0x10; x=5; ((x **= 2, x -= 1)); echo $x $((x > 20 ? 1 : 0)) $((-7 / 2)) $((-7 % 2)); echo 'scale=2; 10/3' | bc; awk 'BEGIN { print int(7.9), 2^10, 7 % 3 }'; echo $((1 << 4 | 1))
#### select-lines
sed -n '2,4p' poem.txt; head -n -7 poem.txt; tail -n +8 poem.txt; awk 'NR % 4 == 0' poem.txt; sed -n '$=' poem.txt; grep -n -m1 . poem.txt; sed '/^$/q' poem.txt | wc -l
#### base64-and-sums
echo -n hello | base64; echo aGVsbG8= | base64 -d; echo; echo -n abc | md5sum | cut -d' ' -f1; printf abc | sha256sum | cut -c1-16; echo hi | gzip -c | gunzip -c; sha256sum words.txt > s; sha256sum -c s; echo hello | xxd -p; echo 68690a | xxd -r -p
#### grep-idioms
grep -rn --include='*.c' main src | cut -d: -f1,2; grep -oE '[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+' access.log | sort -u | head -2; grep -c . words.txt; grep -vE '^(#|$)' app.conf | head -2; grep -A1 -B1 WARN logs/app-1.log; grep -lr ERROR logs | sort; grep -q nothing words.txt || echo none; grep -w -i the poem.txt | wc -l
