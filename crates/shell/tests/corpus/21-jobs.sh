#### background-and-wait
(echo one > a) & (echo two > b) & wait; cat a b
#### wait-for-code
(exit 5) & wait $!; echo $?; true & p=$!; wait $p; echo $?
#### wait-many
pids=(); for i in 1 2 3; do (exit $i) & pids+=($!); done; for p in "${pids[@]}"; do wait $p; echo $?; done
#### wait-n
(sleep 0.05; exit 3) & wait -n; echo $?; wait; echo $?
#### output-order
(sleep 0.2; echo late) & echo early; wait; echo end
#### sleep-parallel
for i in 3 1 2; do (sleep 0.$((i*3)); echo $i) & done; wait
#### kill-background
sleep 30 & p=$!; kill $p; wait $p; echo $?
#### kill-zero-check
sleep 5 & p=$!; kill -0 $p && echo alive; kill -9 $p; wait $p 2>/dev/null; echo $?; kill -0 $p 2>/dev/null || echo dead
#### jobs-list
sleep 1 & jobs -p | wc -l; kill %1; wait 2>/dev/null; echo ok
#### background-variable-isolation
x=1; { x=2; } & wait; echo $x
#### bang-pid
true & [[ $! =~ ^[0-9]+$ ]] && echo number; wait
#### background-function
work() { sleep 0.0$1; echo "done $1" >> log; }; work 1 & wait $!; work 2 & wait; cat log
#### timeout-command
timeout 0.2 sleep 5; echo $?; timeout 5 echo quick; echo $?; timeout 1 bash -c 'exit 7'; echo $?
#### timeout-signal
timeout -s KILL 0.2 sleep 5; echo $?; timeout --preserve-status 0.2 sleep 5; echo $?
#### background-pipeline
(seq 3 | tac > r) & wait $!; cat r
#### wait-unknown
wait 99999; echo $?
#### disown-and-nohup
sleep 0.1 & disown; nohup echo hi 2>/dev/null; echo ok
#### kill-list-names
kill -l 9; kill -l 15; kill -l TERM
#### parallel-limit
for i in 1 2 3 4; do (sleep 0.02; echo $i >> out) & ((i%2==0)) && wait; done; wait; sort -o out out; cat out
#### xargs-parallel
seq 4 | xargs -P2 -I{} sh -c 'echo {} > p{}'; cat p1 p2 p3 p4
