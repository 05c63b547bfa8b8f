#### names
find . -name '*.md' | sort; find src -type f | sort; find . -maxdepth 1 -type d | sort; find . -iname 'READ*' | sort
#### types-and-size
find . -type l | sort; find . -type f -empty | sort; find . -maxdepth 1 -size +200c -name '*.log'; find . -type f -size 0
#### logic
find . -name '*.c' -o -name '*.h' | sort; find . -type f ! -name '*.*' | sort; find . \( -name '*.csv' -o -name '*.tsv' \) -print | sort; find src -not -name '*.c' -type f
#### exec
find src -name '*.c' -exec basename {} \; | sort; find src -name '*.c' -exec wc -l {} + | tail -1; find . -name '*.md' -exec grep -l TODO {} \;
#### print-formats
find src -type f -printf '%f %s %m\n' | sort; find docs -printf '%p %y %d\n' | sort; find . -name 'old.txt' -printf '%TY-%Tm-%Td %P\n'
#### print0-xargs
find . -maxdepth 1 -name '*space*' -print0 | xargs -0 cat | head -1; find src -name '*.h' -print0 | xargs -0 -n1 basename
#### delete
touch a.tmp b.tmp; find . -name '*.tmp' -delete; ls *.tmp 2>/dev/null; echo $?
#### depth-and-prune
find . -path ./docs -prune -o -name '*.md' -print | sort; find docs -mindepth 2 -name '*.md' | sort; find docs -depth -type d
#### time-and-newer
touch new.now; find . -newer notes.txt -type f | sort; find . -maxdepth 1 -mtime -1 -type f | sort; find . -maxdepth 1 -name '*.txt' -mtime +30 | wc -l
#### perm
find . -perm -u+x -type f; find . -type f -perm 644 -name 'old*'; chmod 600 old.txt; find . -perm 600
#### path-and-regex
find . -path '*guide*' | sort; find . -regex '.*\.\(c\|h\)' | sort; find . -wholename './src/*.c' | sort
#### missing
find missing; echo $?; find src missing -name '*.h'; echo $?
#### follow-links
find manual -name '*.md'; find manual/ -name '*.md' | sort; find -L manual -name '*.md' | sort
#### xargs-options
seq 6 | xargs -n2; seq 3 | xargs -I% echo "n%"; echo "a b c" | xargs -n1 | wc -l; printf 'x\ny\n' | xargs -I{} sh -c 'echo "[{}]"'; echo | xargs -r echo never; xargs -a words.txt -n5
#### xargs-code
echo 1 | xargs false; echo $?; printf '1\n2\n' | xargs -n1 sh -c 'exit $0'; echo $?; echo x | xargs nosuchcommand 2>/dev/null; echo $?
#### xargs-multi-line-quote
printf '"a b" c\\ d e\n' | xargs -n1; echo "one,two" | xargs -d, -n1 | head -2; seq 5 | xargs -L2 echo
#### while-read-find
find src -type f | sort | while read -r f; do printf '%s %s\n' "${f##*.}" "$(wc -l < "$f")"; done
#### count-by-extension
find . -type f -name '*.*' | sed 's/.*\.//' | sort | uniq -c | sort -k1,1nr -k2
#### exec-with-shell
find src -name '*.c' -exec sh -c 'for f; do echo "${f%.c}.o"; done' _ {} + | sort; find . -name 'util.*' -execdir echo {} \; | sort
#### quit-and-first
find src -name '*.c' -print -quit | wc -l; find . -name notes.txt -quit; echo $?
