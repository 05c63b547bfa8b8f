#### star-question-bracket
echo *.csv; echo ?ld.txt; echo [no]*.txt; echo [!a-o]*.txt
#### no-match
echo *.nothing; ls *.nothing 2>/dev/null; echo $?
#### nullglob
shopt -s nullglob; echo start *.nothing end; for f in *.zip; do echo never; done
#### failglob
shopt -s failglob; echo *.nothing; echo after
#### dotglob
echo .h*; shopt -s dotglob; echo *hidden
#### globstar
shopt -s globstar; echo **/*.md; echo docs/**/
#### globstar-all
shopt -s globstar; printf '%s\n' docs/** | sort
#### extglob-one-of
shopt -s extglob
echo @(old|new).txt; echo !(*.txt|*.csv|*.log|bin|docs|logs|src|dangling|manual|shortcut)
#### extglob-in-case
shopt -s extglob
for x in 123 12a abc; do case $x in +([0-9])) echo "$x num";; *([a-z])) echo "$x alpha";; *) echo "$x mixed";; esac; done
#### extglob-strip
shopt -s extglob
s="   padded  "; s="${s##*( )}"; s="${s%%*( )}"; echo "[$s]"; v=000120; echo "${v##+(0)}"
#### character-classes
touch a1 b2 C3 d_; echo [[:lower:]][[:digit:]] [[:upper:]]* ?[![:alnum:]]
#### nested-directories
echo */*.md */*/*.md; echo src/*.[ch]
#### directories-only
echo */
#### quoted-parts
touch "a*b" "axb"; echo "a*"b; echo a\*b; echo a"*"b; echo a*b
#### glob-in-variable
p='src/*.c'; echo $p; echo "$p"; for f in $p; do basename "$f" .c; done
#### glob-with-spaces
for f in with*; do echo "<$f>"; done; touch "two words.md"; ls *words*
#### nocaseglob
touch README.MD readme2.md; shopt -s nocaseglob; echo readme*.md
#### noglob
set -f; echo *.txt; set +f; echo o*.txt
#### glob-in-loop-with-exists
for f in *.bak; do [ -e "$f" ] || { echo "no backups"; break; }; done
#### globignore
GLOBIGNORE='*.txt:*.csv'; echo [a-i]*
#### range
touch f1 f2 f5 f9; echo f[1-4] f[^1-4]
#### match-in-test
[[ notes.txt == *.txt ]] && echo yes; [[ notes.txt == "*.txt" ]] || echo no; [[ a.tar.gz == *.tar.* ]] && echo tar
#### compgen-glob
compgen -G 'src/*.c' | sort; compgen -G '*.zip' > /dev/null; echo $?
#### hidden-and-parent
cd docs; echo ../*.csv; echo ./*
