#### basic
echo one > f; echo two >> f; cat < f; cat f f | wc -l; : > f; wc -c < f
#### stderr-to-stdout
ls missing 2>&1 | grep -c missing; ls missing > out 2>&1; wc -l < out; ls missing 2>&1 > /dev/null | wc -l
#### both-to-file
{ echo a; echo b >&2; } &> f; cat f; { echo c; echo d >&2; } &>> f; wc -l < f
#### stderr-to-file
ls missing 2> err; [ -s err ] && echo has; ls missing 2>/dev/null; echo $?
#### swap-streams
{ echo out; echo err >&2; } 3>&1 1>&2 2>&3 | sed 's/^/piped: /'
#### fd-open-write-close
exec 3> three.txt; echo a >&3; echo b >&3; exec 3>&-; cat three.txt; echo c >&3; echo $?
#### fd-read
exec 4< words.txt; read -r a <&4; read -r b <&4; echo $a $b; exec 4<&-
#### fd-read-write
printf 'abc\ndef\n' > rw; exec 5<> rw; read -r l <&5; echo "$l"; echo XYZ >&5; exec 5>&-; cat rw
#### named-fd
exec {fd}> named.txt; echo hi >&$fd; exec {fd}>&-; cat named.txt; [ $fd -ge 10 ] && echo high
#### duplicate-save-restore
exec 6>&1; exec > saved.txt; echo hidden; exec 1>&6 6>&-; echo shown; cat saved.txt
#### heredoc-and-output
cat << X > o.txt
body
X
cat o.txt
#### noclobber-override
set -C; echo a > c1; echo b >| c1; cat c1; (echo c > c1) 2>/dev/null; echo $?
#### missing-input
cat < missing; echo $?; echo after
#### redirect-failing-dir
echo x > nodir/file; echo $?; echo y > docs; echo $?
#### order-matters
ls notes.txt missing > o1 2>&1; wc -l < o1; rm o1; ls notes.txt missing 2>&1 > o2 | wc -l; wc -l < o2
#### close-stdout
(echo x >&-) 2>/dev/null; echo $?
#### to-dev-null
echo gone > /dev/null; echo $?; cat /dev/null | wc -c; ls missing &> /dev/null; echo $?
#### dev-stdout-stderr
echo a > /dev/stdout; echo b > /dev/stderr; echo c | cat /dev/stdin
#### loop-to-files
for i in 1 2; do echo $i; echo e$i >&2; done > o 2> e; cat o e
#### append-creates
echo x >> fresh.txt; cat fresh.txt; >> touched.txt; ls touched.txt
#### same-file-in-and-out
sort words.txt -o words.txt; head -2 words.txt; cat notes.txt > notes.txt; wc -c < notes.txt
#### redirect-before-command
> first.txt echo hi; < first.txt cat; 2>/dev/null ls missing; echo $?
#### variable-target
f="with space out.txt"; echo hi > "$f"; cat "$f"; d=docs; echo z > $d/z.txt; cat docs/z.txt
#### read-whole-with-fd-loop
while read -r a <&3 && read -r b <&4; do echo "$a|$b"; done 3< <(seq 3) 4< <(printf 'x\ny\nz\n')
#### tee-stderr
{ echo warn >&2; echo ok; } 2> >(sed 's/^/E:/' > errs.txt) ; for i in {1..40}; do [ -s errs.txt ] && break; sleep 0.05; done; cat errs.txt
#### truncate-only
> words.txt; wc -c < words.txt
