#### explore-a-project
pwd; ls -la | awk 'NR>1{print $1, $NF}' | sort -k2 | head -8; find . -type f -not -path '*/.*' | wc -l; cat docs/readme.md | head -5
#### cd-and-chain
cd src && grep -n "int add" *.c && cd .. && pwd; cd missing && echo never || echo "stays in ${PWD##*/}"
#### write-file-with-heredoc
mkdir -p app && cat > app/main.py <<'PY'
def main():
    print("hello, {}".format('world'))  # "quotes" and $dollars

if __name__ == "__main__":
    main()
PY
cat app/main.py; wc -l app/main.py
#### check-then-act
[ -d build ] || mkdir build; [ -f build/x ] && echo exists || echo absent; test -d build && rm -rf build; ls -d build 2>/dev/null || echo gone
#### grep-context-numbered
grep -rn "TODO" --include="*.c" . | sed 's/^\.\///' | sort; sed -n '4,6p' src/main.c; awk 'NR>=3 && NR<=5 {print NR": "$0}' src/util.c
#### edit-and-verify
cp src/util.c /tmp/util.$$ 2>/dev/null; sed -i 's/int sub(/int subtract(/' src/util.c && grep -n subtract src/util.c; diff /tmp/util.$$ src/util.c; rm -f /tmp/util.$$
#### head-and-tail-of-output
seq 1 500 | head -3; echo ...; seq 1 500 | tail -3; seq 1 500 | sed -n '250p'; seq 1 500 | wc -l
#### combined-errors
(ls notes.txt missing 2>&1; echo "exit: $?") | tail -1; output=$(cat missing 2>&1) || echo "failed with $?"; [ -n "$output" ] && echo has-message
#### quiet-and-verbose
grep -q foo notes.txt; echo "rc=$?"; command -v jq >/dev/null 2>&1 && echo have-jq; type awk &>/dev/null && echo have-awk; which nosuchtool >/dev/null 2>&1 || echo no-tool
#### batch-rename
for f in src/*.c; do cp "$f" "${f%.c}.cpp"; done; ls src | paste -sd' '
#### count-lines-of-code
find src -name '*.[ch]' | xargs wc -l | sort -n | awk '{print $1, $2}'; cat src/*.c | grep -cv '^\s*$'
#### json-query-and-report
jq -r '.parts[] | [.label, (.qty|tostring), (.price|tostring)] | join("\t")' data.json | while IFS=$'\t' read -r l q p; do printf '%-8s %s x %s\n' "$l" "$q" "$p"; done
#### env-file
cat > .env <<'X'
# settings
API_URL=https://example.com/api
DEBUG=true
NAME="two words"
X
set -a; . ./.env; set +a; echo "$API_URL $DEBUG $NAME"; grep -v '^#' .env | cut -d= -f1 | paste -sd,
#### set-x-free-strict-script
cat > build.sh <<'X'
#!/bin/bash
set -euo pipefail
out=${1:?usage: build.sh OUT}
mkdir -p "$out"
for f in src/*.c; do
  name=$(basename "$f" .c)
  echo "compiling $name"
  cp "$f" "$out/$name.o"
done
ls "$out" | wc -l
X
bash build.sh out; bash build.sh; echo "rc $?"
#### multi-command-with-semicolons
a=1;b=2;c=$((a+b));echo "$c";if [ $c -eq 3 ];then echo three;fi;for x in $a $b;do echo "x$x";done
#### parallel-and-collect
for h in a b c; do { echo "$h ok" > "res.$h"; } & done; wait; cat res.* | sort
#### tail-log-filter
tail -n 3 logs/app-1.log | grep -v INFO || echo "only info"; tail -f logs/app-2.log & p=$!; sleep 0.5; kill $p; wait $p 2>/dev/null; echo stopped
#### safe-temp-work
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT; cp words.txt "$tmp/"; (cd "$tmp" && sort -u words.txt > sorted && wc -l < sorted); ls "$tmp" | paste -sd,
#### heredoc-to-many-tools
awk -F: '{print $2, $1}' <<'X' | sort | column -t
b:2
a:1
ccc:30
X
#### printf-json
printf '{"path":"%s","size":%d,"ok":%s}\n' notes.txt "$(stat -c %s notes.txt)" true | jq -c '.size > 100'
#### sort-by-size
find . -maxdepth 1 -type f -name '*.csv' -printf '%s %f\n' | sort -rn; ls -S *.csv; wc -c *.csv | sort -n | tail -2 | head -1
#### test-many-files
for f in notes.txt missing docs shortcut dangling; do if [ -L "$f" ]; then k=link; elif [ -d "$f" ]; then k=dir; elif [ -f "$f" ]; then k=file; else k=none; fi; echo "$f $k"; done
#### numeric-loop-with-padding
for i in $(seq -w 1 3); do echo "item-$i"; done; for i in `seq 2`; do echo $i; done; i=0; while ((i++<2)); do echo "w$i"; done
#### extract-between-markers
printf 'x\n<!-- begin -->\nkeep 1\nkeep 2\n<!-- end -->\ny\n' > m.html; sed -n '/begin/,/end/{//!p}' m.html; awk '/begin/{f=1;next}/end/{f=0}f' m.html
#### oneliner-with-logic
[[ $(wc -l < words.txt) -gt 5 ]] && { echo many; true; } || echo few; ((RANDOM>=0)) && echo ok; test "$(cat empty.txt)" || echo blank
#### process-each-json-line
while read -r line; do lvl=$(jq -r .level <<< "$line"); [[ $lvl == error ]] && jq -r .msg <<< "$line"; done < events.jsonl
#### cat-heredoc-append-and-sort
cat >> words.txt <<X
zebra
aardvark
X
sort -u words.txt -o words.txt; head -1 words.txt; tail -1 words.txt
#### nested-quotes-bash-c
bash -c 'for f in "$@"; do echo "<$f>"; done' _ "a b" "c'd" 'e"f'; bash -c "echo \"\$HOME\" | grep -c /"
#### which-shell
echo "${SHELL:+has shell}"; echo "${BASH_VERSION%%.*}"; [ -n "$PATH" ] && echo path; id -u > /dev/null && echo id; whoami > /dev/null; echo "${USER}"; uname > /dev/null && echo uname
#### yes-no-and-true-pipes
yes | head -2 | paste -sd,; true | false; echo $?; echo y | { read -r a; [ "$a" = y ] && echo confirmed; }
#### comments-and-blank-lines

# a leading comment

echo first   # trailing

  echo indented
# end
#### long-line-continuations
find . -maxdepth 2 \
  -name '*.md' \
  -o -name '*.h' \
  | sort \
  | head -5
