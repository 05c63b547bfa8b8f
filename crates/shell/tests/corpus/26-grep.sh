#### basic
grep TODO notes.txt; grep -i todo notes.txt; grep -c TODO notes.txt; grep -v TODO notes.txt | wc -l; grep -n rent notes.txt; grep nothing notes.txt; echo $?
#### options
grep -w the poem.txt; grep -x fig words.txt; grep -o 'a.' words.txt | head -3; grep -m1 apple words.txt; grep -q apple words.txt && echo quiet; grep -h TODO src/*.c; grep -l TODO src/*; grep -L TODO src/*
#### recursive
grep -r TODO src docs | sort; grep -rn TODO --include='*.md' . | sort; grep -rl TODO . | sort; grep -rc TODO src | sort
#### context
grep -A1 beta old.txt; grep -B1 beta old.txt; grep -C1 gamma old.txt; grep -n -A1 TODO notes.txt
#### extended
grep -E 'fig|date' words.txt; grep -E '^[a-c]' words.txt; grep -E 'p{2}' words.txt; grep -E '(an){2}' words.txt; egrep 'ch?e' words.txt
#### basic-regex
grep '^T' notes.txt; grep 'e$' words.txt | sort -u; grep 'a.*a' words.txt | sort -u; grep '\(an\)\1' words.txt | head -1; grep 'x*' old.txt | wc -l; grep '[[:digit:]]' notes.txt
#### fixed
grep -F '127.0.0.1' app.conf; echo 'a.b' | grep -F 'a.b'; echo 'axb' | grep -F 'a.b'; echo $?; fgrep '[server]' app.conf
#### perl
echo "price: 42 EUR" | grep -oP '\d+(?= EUR)'; grep -P '^\w+\s' notes.txt | head -1; echo "key=val" | grep -oP 'key=\K.*'
#### multiple-patterns
grep -e apple -e date words.txt | sort | uniq -c; printf 'fig\npear\n' > pats; grep -f pats words.txt; grep -vf pats words.txt | wc -l
#### many-files
grep -c a old.txt new.txt; grep -H alpha old.txt; grep alpha old.txt missing; echo $?; grep -s alpha missing; echo $?
#### stdin-and-dash
echo hello | grep h; echo hello | grep h - ; printf 'a\nb\n' | grep -n b
#### count-and-invert
grep -vc '^$' poem.txt; grep -c '' empty.txt; grep -cv xyz words.txt; grep -o . <<< abc | wc -l
#### only-matching-numbers
grep -oE '[0-9]+' access.log | head -5 | paste -sd' '; grep -oE '"[A-Z]+ ' access.log | sort | uniq -c
#### binary
grep binary blob.bin; grep -a binary blob.bin | tr -d '\000-\010\377' ; grep -c binary blob.bin
#### line-and-byte
grep -b beta old.txt; grep -on a old.txt | head -3; grep --color=never beta old.txt
#### exclude
grep -r TODO --exclude='*.c' . | sort; grep -r TODO --exclude-dir=docs . | sort | cut -d: -f1 | uniq
#### ip-addresses
grep -oE '([0-9]{1,3}\.){3}[0-9]{1,3}' logs/*.log access.log | sort -u | head -3
#### rg-basic
rg TODO notes.txt; rg -i todo notes.txt | wc -l; rg -c TODO notes.txt; rg -n rent notes.txt; rg nothing notes.txt; echo $?
#### instead
grep TODO notes.txt; grep -i todo notes.txt | wc -l; grep -c TODO notes.txt; grep -n rent notes.txt; grep nothing notes.txt; echo $?
#### rg-recursive
rg TODO src docs | sort; rg -l TODO | sort; rg -n TODO src | sort; rg TODO -g '*.md' | sort
#### instead
grep -r TODO src docs | sort; grep -rl TODO . | sed 's#^./##' | sort; grep -rn TODO src | sort; grep -r TODO --include='*.md' . | sed 's#^./##' | sort
#### rg-options
rg -F '127.0.0.1' app.conf; rg -w the poem.txt; rg -v a words.txt; rg -o '[0-9]+' numbers.txt | head -3; rg -A1 beta old.txt; rg --files src | sort; rg -e apple -e date words.txt | sort -u
#### instead
grep -F '127.0.0.1' app.conf; grep -w the poem.txt; grep -v a words.txt; grep -oE '[0-9]+' numbers.txt | head -3; grep -A1 beta old.txt; find src -type f | sort; grep -e apple -e date words.txt | sort -u
#### rg-replace-and-stdin
echo "hello world" | rg -o 'w\w+'; echo "a1b2" | rg -o '\d'; cat words.txt | rg -c apple; rg -q apple words.txt && echo quiet; rg '(\w+) milk' -r 'Sell $1' notes.txt
#### instead
echo "hello world" | grep -oE 'w\w+'; echo "a1b2" | grep -oE '[0-9]'; cat words.txt | grep -c apple; grep -q apple words.txt && echo quiet; grep milk notes.txt | sed 's/Buy milk/Sell Buy/'
