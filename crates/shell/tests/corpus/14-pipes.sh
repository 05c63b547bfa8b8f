#### chain
cat words.txt | sort | uniq -c | sort -rn | head -3
#### pipestatus
false | true | (exit 3); echo "${PIPESTATUS[@]}"; true; echo "${PIPESTATUS[0]}"
#### pipe-both
{ echo out; echo err >&2; } |& sort
#### multi-line
cat people.csv |
  grep -v name |
  cut -d, -f1 |
  sort
#### early-close
seq 1 100000 | head -2; yes | head -3; echo ${PIPESTATUS[1]}
#### tee-branches
seq 5 | tee all.txt | tail -2; wc -l < all.txt
#### xargs-basics
printf 'a\nb\nc\n' | xargs; echo "1 2 3" | xargs -n1 echo n; ls *.csv | xargs -I{} echo "file {}"
#### stdin-dash
echo piped | cat - notes.txt | head -2; sort - <<<$'b\na'
#### grep-in-pipe-code
echo hello | grep -q x; echo $?; echo hello | grep -q h && echo match
#### read-from-pipe-group
echo "a b" | { read -r x y; echo "$y $x"; }
#### while-in-middle
printf '1\n2\n3\n' | while read -r n; do echo $((n*n)); done | paste -sd+ | bc
#### function-chain
double() { while read -r n; do echo $((n*2)); done; }; inc() { while read -r n; do echo $((n+1)); done; }; seq 3 | double | inc
#### pipe-into-bash
echo 'echo from stdin; exit 2' | bash; echo $?
#### negated-pipeline
! echo x | grep -q y; echo $?
#### binary-through-pipe
cat blob.bin | wc -c; cat blob.bin | xxd | head -1; head -c 4 blob.bin | od -An -tx1
#### empty-input
cat empty.txt | wc -l; sort < empty.txt | uniq -c; : | cat; echo -n | wc -c
#### time-out-of-order
(sleep 0.1; echo slow) | cat; echo fast
#### subshell-in-pipe-sees-vars
x=5; echo q | { cat >/dev/null; echo $x; x=6; }; echo $x
#### long-pipeline-stats
awk -F, 'NR>1{print $2}' sales.csv | sort | uniq -c | awk '{print $2":"$1}' | paste -sd,
#### streamed-into-substitutions
seq 3 | cat - <(seq 4 5); seq 3 | paste - <(seq 4 6)
