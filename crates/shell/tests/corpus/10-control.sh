#### if-elif-else
for n in 5 15 25; do if ((n<10)); then echo small; elif ((n<20)); then echo medium; else echo large; fi; done
#### if-command
if grep -q TODO notes.txt; then echo found; fi; if ! grep -q nothing notes.txt; then echo missing; fi
#### while-until
i=0; while [ $i -lt 3 ]; do echo -n $i; i=$((i+1)); done; until [ $i -eq 0 ]; do echo -n $i; ((i--)); done; echo
#### break-continue
for i in 1 2 3 4 5; do [ $i = 2 ] && continue; [ $i = 4 ] && break; echo $i; done
#### nested-break
for i in 1 2 3; do for j in a b c; do [ $j = b ] && continue 2; [ $i = 3 ] && break 2; echo $i$j; done; done; echo end
#### case-patterns
for f in a.txt b.tar.gz Makefile x.C "" 7up; do case "$f" in *.txt|*.md) echo text;; *.tar.*) echo archive;; [A-Z]*) echo capital;; "") echo empty;; [0-9]?*) echo digit;; *) echo other;; esac; done
#### case-fallthrough
case a in a) echo one ;& b) echo two ;; c) echo three;; esac; case abc in a*) echo starts ;;& *c) echo ends ;;& x*) echo no;; *) echo any;; esac
#### case-in-loop-menu
for arg in start stop restart bogus; do case $arg in start) echo up;; stop) echo down;; re*) echo again;; *) echo "usage"; break;; esac; done
#### for-without-in
set -- x y; for a; do echo $a; done; for a do echo $a$a; done
#### for-over-lines
IFS=$'\n'; for l in $(head -2 notes.txt); do echo "[$l]"; done
#### and-or-lists
true && echo a || echo b; false && echo c || echo d; false || true && echo e; ! false && echo f
#### grouping
{ echo a; echo b; } | wc -l; (echo c; exit 4); echo $?; { false; } || echo failed
#### negation
! true; echo $?; ! false; echo $?; if ! [ -e nowhere ]; then echo none; fi
#### loop-redirection
for i in 3 1 2; do echo $i; done | sort > sorted.txt; while read -r l; do echo "n$l"; done < sorted.txt
#### loop-exit-status
for i in; do :; done; echo $?; while false; do :; done; echo $?; for i in 1; do false; done; echo $?
#### empty-statement
if true; then :; fi; while :; do break; done; : ignored args; echo $?
#### one-liners-with-semicolons
for i in 1 2;do echo $i;done;if :;then echo y;fi;case x in x)echo z;;esac
#### while-read-pipeline
cut -d, -f1,3 people.csv | tail -n +2 | while IFS=, read -r n c; do echo "$n lives in $c"; done
#### variable-lost-in-pipe
n=0; printf 'a\nb\n' | while read -r _; do ((n++)); done; echo $n; while read -r _; do ((n++)); done < <(printf 'a\nb\n'); echo $n
#### lastpipe
shopt -s lastpipe; n=0; printf 'a\nb\n' | while read -r _; do ((n++)); done; echo $n
#### select-less-menu
opts=(list add quit); i=1; for o in "${opts[@]}"; do echo "$((i++))) $o"; done; choice=2; echo "chosen ${opts[choice-1]}"
#### time-keyword
{ time true; } 2>/dev/null; echo $?; TIMEFORMAT=; time echo timed
#### comments-everywhere
echo a # one
# two
if true; then # three
  echo b # four
fi # five
#### complex-condition
a=5 b=hello; if [[ $a -gt 3 && ( $b == h* || $b == x* ) ]]; then echo ok; fi; if [ "$a" -gt 3 ] && { [ "$b" = hello ] || false; }; then echo ok2; fi
#### sequence-of-codes
sh -c 'exit 5'; echo $?; (exit 6); echo $?; bash -c 'exit 300'; echo $?; nosuchcommand 2>/dev/null; echo $?
#### ret-of-assignment
x=$(false); echo $?; x=1; echo $?; x=$(true) y=$(false); echo $?
#### background-in-loop
for i in 1 2 3; do echo $i > bg$i & done; wait; cat bg1 bg2 bg3
