#### isolation
x=1; (x=2; cd docs; echo $x ${PWD##*/}); echo $x; y=$(x=3; echo $x); echo $x $y
#### exit-from
(exit 3) || echo "got $?"; (echo a; exit 0; echo b)
#### process-substitution-in
diff <(sort words.txt) <(sort -u words.txt); echo $?
#### process-substitution-loop
while read -r a b; do echo "$b $a"; done < <(paste <(seq 3) <(printf 'x\ny\nz\n'))
#### process-substitution-out
echo hello | tee >(cat > copy.txt) > /dev/null; for i in {1..40}; do [ -s copy.txt ] && break; sleep 0.05; done; cat copy.txt
#### comm-with-substitution
comm -12 <(sort old.txt) <(sort new.txt)
#### nested-subshells
(echo 1; (echo 2; (echo 3; exit 3); echo $?); echo 4)
#### bash-c
bash -c 'echo "$0 $1 $#"' name arg; bash -c 'exit 4'; echo $?; sh -c 'echo posix'
#### bash-c-env
A=1; export B=2; bash -c 'echo "[$A] [$B]"'; C=3 bash -c 'echo $C'; env D=4 bash -c 'echo $D'
#### run-script-file
cat > s.sh <<'X'
echo "args: $*"
exit 6
X
bash s.sh a b; echo $?; chmod +x s.sh; ./s.sh c; echo $?
#### shebang-script
bin/hello.sh; echo $?; bin/hello.sh Ada
#### not-executable
bin/lib.sh; echo $?; ./src; echo $?; ./missing; echo $?
#### path-lookup
mkdir tools; printf '#!/bin/bash\necho "mytool $1"\n' > tools/mytool; chmod +x tools/mytool; PATH=$PWD/tools:$PATH; mytool ok; command -v mytool | sed "s#$HOME#~#"
#### subshell-variables-shown
(echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL)); echo $BASH_SUBSHELL
#### group-does-not-isolate
{ x=in; }; echo $x; { read -r l; } < notes.txt; echo "$l"
#### command-grouping-redirect
{ echo out; echo err >&2; } > both.txt 2>&1; cat both.txt; (echo a; echo b) >> both.txt; wc -l < both.txt
#### coproc
coproc CAT { cat; }; echo hi >&"${CAT[1]}"; read -r l <&"${CAT[0]}"; echo "got $l"; exec {CAT[1]}>&-; wait
#### mktemp-dir
d=$(mktemp -d); [ -d "$d" ] && echo dir; echo x > "$d/f"; cat "$d/f"; rm -r "$d"; [ -e "$d" ] || echo gone
#### exec-replaces
(exec echo replaced; echo never); echo after
#### exec-ends-script
exec bash -c 'echo last; exit 5'
echo never
#### dollar-dollar-same
a=$$; b=$(echo $$); [ "$a" = "$b" ] && echo same; (c=$BASHPID; [ "$c" = "$$" ] || echo differs)
