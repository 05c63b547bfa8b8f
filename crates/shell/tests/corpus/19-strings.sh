#### trim
s="  hi there  "; t="${s#"${s%%[![:space:]]*}"}"; t="${t%"${t##*[![:space:]]}"}"; echo "[$t]"; echo "$s" | xargs; echo "$s" | sed 's/^ *//;s/ *$//'
#### split-and-loop
path=/a/b/c; IFS=/ read -ra p <<< "$path"; for x in "${p[@]}"; do echo "[$x]"; done
#### reverse-string
s=hello; r=; for ((i=${#s}-1;i>=0;i--)); do r+=${s:i:1}; done; echo $r; echo $s | rev
#### repeat
printf 'ab%.0s' {1..3}; echo; s=$(printf '%*s' 5 ''); echo "${s// /=}"
#### contains-starts-ends
s="hello world"; [[ $s == *lo\ w* ]] && echo contains; [[ $s == hello* ]] && echo starts; [[ $s == *world ]] && echo ends
#### count-characters
s=mississippi; t=${s//[^s]/}; echo ${#t}; echo "$s" | grep -o s | wc -l; echo -n "$s" | wc -c
#### palindrome
for w in level hello; do [ "$w" = "$(echo $w | rev)" ] && echo "$w yes" || echo "$w no"; done
#### slug
s="Hello, World! It's 2024"; s=${s,,}; s=${s//[^a-z0-9]/-}; echo "$s" | tr -s - | sed 's/-$//'
#### filename-parts
f=/tmp/archive.tar.gz; b=${f##*/}; echo "$b ${b%%.*} ${b#*.} ${b##*.} ${f%/*}"; basename $f .gz; dirname $f
#### caesar
echo "Attack at dawn" | tr 'A-Za-z' 'N-ZA-Mn-za-m'; echo "Nggnpx" | tr 'A-Za-z' 'N-ZA-Mn-za-m'
#### pad
for n in 1 22 333; do printf '%05d ' $n; done; echo; s=abc; while [ ${#s} -lt 6 ]; do s+=.; done; echo $s
#### char-loop
s=abc; for ((i=0;i<${#s};i++)); do c=${s:i:1}; printf '%s=%d ' "$c" "'$c"; done; echo
#### compare
a=apple b=banana; [[ $a < $b ]] && echo less; [ "$a" \> "$b" ] || echo not; [[ "a" == "A" ]] || echo case
#### url-encode
s="a b&c=d/é"; o=; for ((i=0;i<${#s};i++)); do c=${s:i:1}; case $c in [a-zA-Z0-9.~_-]) o+=$c;; *) o+=$(printf '%%%02X' "'$c");; esac; done; echo "${o%\%*}"
#### url-decode
s='a%20b%26c'; printf '%b\n' "${s//%/\\x}"
#### template
tpl='Dear {name}, you owe {amount}.'; name=Ada amount=5; t=${tpl//\{name\}/$name}; echo "${t//\{amount\}/$amount}"
#### multi-line-value
v="one
two
three"; echo "$v" | wc -l; echo $v; echo "${v%%$'\n'*}"; echo "${v##*$'\n'}"
#### append
s=a; s+=b; s+="c d"; echo "$s"; s="${s}e"; echo $s
#### version-compare
ver_lt() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ] && [ "$1" != "$2" ]; }; ver_lt 1.2.10 1.10.0 && echo older; ver_lt 2.0 1.9 || echo newer
#### regex-extract
s="error code=42 at line 7"; [[ $s =~ code=([0-9]+).*line\ ([0-9]+) ]] && echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]} ${#BASH_REMATCH[@]}"
#### hex-dump-string
printf 'Hi!' | xxd -p; printf 'Hi!' | od -An -tx1 | tr -d ' \n'; echo; echo 486921 | xxd -r -p; echo
#### join-lines
paste -sd, words.txt; tr '\n' ' ' < words.txt; echo; awk 'ORS=";"' old.txt; echo
#### title-case
echo "the quick fox" | sed 's/\b\(.\)/\u\1/g'; w=(the quick fox); echo "${w[@]^}"
