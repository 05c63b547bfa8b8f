#### lists
echo {a,b,c} x{1,2}y {a,b}{1,2} pre{,fix}
#### ranges
echo {1..5} {5..1} {1..10..3} {a..e} {e..a..2} {01..10} {-2..2}
#### nested
echo {a,b{1,2},c} {{x,y},z}
#### not-expanded
echo {a} {} {a,b {1..} "{1,2}" \{1,2\}
#### with-paths
mkdir -p p/{src,doc/{a,b}}; find p | sort
#### backup-idiom
cp notes.txt{,.bak}; ls notes*; diff notes.txt{,.bak} && echo same
#### with-variables
a=1; b=3; echo {$a..$b} {$a,$b}; eval echo {$a..$b}
#### with-globs
echo {old,new}.txt {o,n}*.txt
#### zero-padded
for i in {08..11}; do echo -n "$i "; done; echo; echo img{001..003}.png
#### in-assignment
x={a,b}; echo $x; arr=({1..3}{a,b}); echo ${#arr[@]} ${arr[*]}
#### sequences-of-letters
echo {A..F} {x..z}{1,2}
#### long-ranges
n=0; for i in {1..12000}; do n=$((n + i)); done; echo $n; echo {12000..1} | wc -w; echo {0..40000..3} | tail -c 7
