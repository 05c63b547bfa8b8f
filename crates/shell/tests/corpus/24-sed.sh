#### substitute
sed 's/apple/APPLE/' words.txt | head -2; echo aaa | sed 's/a/b/2'; echo aaa | sed 's/a/b/g'; echo Hello | sed 's/hello/bye/i'; echo a/b | sed 's|/|-|'
#### groups
echo "john smith" | sed 's/\(.*\) \(.*\)/\2 \1/'; echo "2024-01-31" | sed -E 's/([0-9]+)-([0-9]+)-([0-9]+)/\3.\2.\1/'; echo abc | sed 's/b/[&]/'; echo abc | sed 's/b/\&/'
#### addresses
sed -n 2p words.txt; sed -n '2,4p' words.txt; sed -n '$p' words.txt; sed '/fig/d' words.txt | wc -l; sed -n '/TODO/p' notes.txt; sed '1d;$d' old.txt; sed -n '1~3p' words.txt; sed '2!d' old.txt
#### ranges
sed -n '/beta/,/delta/p' old.txt; sed '/\[database\]/,/^$/!d' app.conf; sed -n '/gamma/,+1p' old.txt; sed '2,3s/a/X/g' old.txt
#### insert-append-change
sed '2i\inserted' old.txt; sed '2a appended' old.txt | head -3; sed '/gamma/c\changed' old.txt; sed '$a last' old.txt | tail -1
#### in-place
sed -i 's/TODO/DONE/' notes.txt; grep -c DONE notes.txt; sed -i.bak '1d' old.txt; wc -l < old.txt; wc -l < old.txt.bak
#### multiple-expressions
sed -e 's/a/1/' -e 's/b/2/' <<< ab; sed 's/a/1/;s/b/2/' <<< ab; printf 's/x/y/\ns/y/z/\n' > script.sed; sed -f script.sed <<< x
#### quit-and-print
sed 3q words.txt; sed -n '/cherry/{p;q}' words.txt; sed '2q5' words.txt > /dev/null; echo $?; sed = old.txt | head -2
#### transliterate
echo hello | sed 'y/elo/ipa/'
#### hold-space
sed -n '1!G;h;$p' old.txt; sed '1{h;d};$G' old.txt; sed G old.txt | head -3
#### next-and-join
sed 'N;s/\n/ /' old.txt; sed ':a;N;$!ba;s/\n/,/g' old.txt; sed 'n;d' old.txt
#### labels-loop
echo "a,b,,c,,,d" | sed ':a;s/,,/,-,/;ta'; echo 1234567 | sed -E ':a;s/([0-9])([0-9]{3})($|,)/\1,\2\3/;ta'
#### delete-blank-and-comments
sed -e '/^[#;]/d' -e '/^$/d' app.conf; sed 's/#.*//;s/[ \t]*$//' <<< 'x = 1  # note'
#### extended-regex
sed -E 's/(a|e)+/<&>/g' old.txt; sed -E 's/^(.{3}).*/\1/' poem.txt | head -2; echo "foo123" | sed -E 's/[0-9]{2,}$/N/'; sed -r 's/\s+/ /g' 'with space.txt'
#### special-characters
echo 'a.b*c' | sed 's/\./-/;s/\*/+/'; echo 'path/to' | sed 's#/#::#g'; echo "it's" | sed "s/'/Q/"; v=x/y; echo A | sed "s|A|$v|"
#### case-conversion
echo "hello world" | sed 's/.*/\U&/'; echo "HELLO" | sed 's/.*/\L&/'; echo "hello world" | sed 's/\w\+/\u&/g'; echo foo_bar | sed -E 's/_(.)/\U\1/g'
#### newline-in-replacement
echo a,b,c | sed 's/,/\n/g'; printf 'x\n' | sed 's/x/1\
2/'; echo "a b" | sed 's/ /\t/' | od -c | head -1
#### write-file
sed -n '/TODO/w todos.txt' notes.txt; cat todos.txt; sed 's/fig/FIG/w figs.txt' words.txt > /dev/null; cat figs.txt
#### many-files
sed -n '1p' old.txt new.txt; sed -s -n '1p' old.txt new.txt; sed -n '$=' words.txt
#### blocks
sed -n '/beta/{s/beta/B/;p}' old.txt; sed '/alpha/,/gamma/{/beta/d}' old.txt; sed '1!{2!d}' old.txt
#### last-match-and-negate
sed '/a$/!s/$/ !/' old.txt; sed '$!d' old.txt; sed '0,/apple/s//FIRST/' words.txt | head -3
#### missing-file
sed p missing; echo $?; sed 's/a/' <<< a; echo $?
#### ini-value
sed -nE '/^\[server\]/,/^\[/{s/^port *= *(.*)/\1/p}' app.conf; sed -n 's/^host *= *//p' app.conf
#### null-data
printf 'a\0b\0' | sed -z 's/^/x/' | tr '\0' '\n'
#### words-and-boundaries
echo "cat concat cat" | sed 's/\bcat\b/dog/g'; echo "the cat" | sed 's/\<c/C/'; echo "aXbXc" | sed 's/X[^X]*$//'
#### growing-substitutions
seq 3 | sed 's/[0-9]/&&&/g'; printf 'aaa\n' | sed 's/a/bb/g;s/b/cc/g'; printf 'x\n' | sed 's/x/yyyyyyyyyyyyyyyyyyyyyyyyyy/'; sed -n 's/a/<&>/gp' words.txt | head -2
#### in-subshell-and-function
f() { sed "s/$1/$2/"; }; echo one | f one two; (echo three | sed s/three/four/); x=$(echo five | sed s/five/six/); echo $x
