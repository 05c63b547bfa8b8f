#### single-in-double
echo "it's" 'say "hi"' "a 'b' c" 'it'\''s'
#### backslashes
echo a\ b \$HOME \\ \" "\\" "\n" '\n' \n
#### empty-words
set -- "" '' "$nothing" $nothing; echo $#
#### adjacent
a=1; echo a"b"'c'$a"$a"'$a'
#### newline-in-quotes
echo "line one
line two" | wc -l
#### line-continuation
echo one \
  two \
  three
#### hash-in-words
echo a#b # comment
echo "# not a comment" '#' \#
#### dollar-at-end
echo "cost: 5$" a$ "$" $
#### globs-quoted
echo "*.txt" '*.txt' \*.txt; v='*.md'; echo "$v"
#### braces-quoted
echo "{a,b}" {a,b} '{1..3}' "x{y"
#### tricky-json
name=Ada; echo '{"name":"'"$name"'","n":'$((1+1))'}'; echo "{\"name\":\"$name\"}"
#### printf-q
printf '%q\n' "a b" "it's" '$x' "" "plain" $'new\nline'
#### eval-requote
args=("a b" 'c"d' "e'f" '$HOME'); cmd=$(printf '%q ' "${args[@]}"); eval "set -- $cmd"; for x; do echo "<$x>"; done
#### locale-quotes
echo $"translated"
#### unicode-words
echo "日本語" ñandú; v=日本語; echo ${#v} ${v:1:1}
#### exclamation
echo "wow!" 'bang!' hey!
#### double-quoted-command
echo "today: $(echo "it's \"quoted\"" | tr a-z A-Z)"
#### quoted-pattern-in-case
x='*'; case $x in "*") echo star;; *) echo any;; esac; case abc in "*") echo star;; *) echo any;; esac
#### assignment-no-split
v="a   b"; w=$v; echo "$w"; x=$(echo "c   d"); echo "$x"; y=*.txt; echo "$y"
#### heredoc-quote-mix
cat <<E1
"double" 'single' \$esc $((2*3)) \`tick\`
E1
