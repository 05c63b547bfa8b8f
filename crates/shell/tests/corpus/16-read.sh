#### fields
read -r a b c <<< "one two three four"; echo "$a|$b|$c"; read -r x <<< "  trimmed  "; echo "[$x]"
#### ifs-keeps-spaces
IFS= read -r l <<< "  kept  "; echo "[$l]"; IFS=: read -r u p rest <<< "root:x:0:0"; echo "$u $rest"
#### backslashes
read a <<< 'a\tb\\c'; echo "$a"; read -r a <<< 'a\tb\\c'; echo "$a"
#### last-line-without-newline
while read -r l || [[ -n $l ]]; do echo "[$l]"; done < no-newline.txt; read -r l < no-newline.txt; echo $?
#### csv-loop
while IFS=, read -r name age city team; do [ "$name" = name ] && continue; printf '%-10s %3d %s\n' "$name" "$age" "$city"; done < people.csv
#### delimiter
printf 'a;b;c;' | while read -r -d ';' x; do echo "<$x>"; done; printf 'x\0y\0' | while IFS= read -r -d '' f; do echo "($f)"; done
#### n-chars
read -r -n 3 a <<< abcdef; echo $a; read -r -N 4 b <<< "ab cd"; echo "[$b]"
#### into-array
read -ra w <<< "the quick brown fox"; echo ${#w[@]} ${w[3]}
#### end-of-input
read -r x < /dev/null; echo $? "[$x]"; read -r -t 0.1 y < empty.txt; echo $?
#### reply
read <<< "into reply"; echo "$REPLY"; while read -r; do echo "[$REPLY]"; done <<< $'  a  \nb'
#### mapfile-options
mapfile -t -n 2 a < words.txt; echo "${a[@]}"; mapfile -t -s 8 b < words.txt; echo "${b[@]}"; mapfile c < words.txt; printf '%s' "${c[0]}"
#### mapfile-from-command
mapfile -t f < <(find src -name '*.c' | sort); printf '<%s>' "${f[@]}"; echo; readarray -t -d , p <<< "a,b,c"; echo ${#p[@]} ${p[1]}
#### empty-fields
IFS=: read -r a b c <<< "x::z"; echo "[$a][$b][$c]"; IFS=, read -ra r <<< ",a,,b,"; echo ${#r[@]}
#### tabs
IFS=$'\t' read -r sku name qty < <(tail -n +3 inventory.tsv); echo "$sku/$name/$qty"
#### config-file
declare -A conf; section=; while IFS= read -r line; do line=${line%%[;#]*}; [[ -z ${line// } ]] && continue; if [[ $line =~ ^\[(.*)\]$ ]]; then section=${BASH_REMATCH[1]}; elif [[ $line =~ ^([a-z]+)\ *=\ *(.*)$ ]]; then conf[$section.${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}; fi; done < app.conf; for k in "${!conf[@]}"; do echo "$k=${conf[$k]}"; done | sort
#### prompt-not-shown
echo answer | { read -rp "Question? " a; echo "$a"; }
#### two-lines
{ read -r one; read -r two; } < notes.txt; echo "$two / $one"
#### skip-header
{ read -r header; while IFS=, read -r n _; do echo "$n"; done; } < people.csv | head -2
#### inner-command-eats-stdin
while read -r l; do echo "$l"; cat > /dev/null; done < words.txt
#### mapfile-callback-index
mapfile -t -O 3 a < <(echo x); echo "${!a[@]}"
#### mapfile-from-file-and-pipe
mapfile -t a < words.txt; echo ${#a[@]} "${a[0]}"; mapfile -t b < <(seq 3); echo "${b[@]}"; mapfile -n 2 c < words.txt; printf %s "${c[@]}"; readarray -t d <<< $'x\ny'; echo ${#d[@]}
