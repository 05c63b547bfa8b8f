#### fields
awk '{print $1}' access.log | head -2; awk -F, '{print $2}' people.csv | head -2; awk '{print $NF, NF}' poem.txt | head -2; awk -F: '{print $1"-"$3}' fields.txt
#### conditions
awk -F, '$2>40 {print $1}' people.csv; awk 'NR==2' words.txt; awk 'NR>=2&&NR<=3' words.txt; awk '/TODO/' notes.txt; awk '!/a/' words.txt; awk 'length>10' poem.txt | wc -l
#### sum-and-average
awk '{s+=$1} END {print s, s/NR}' numbers.txt; awk -F, 'NR>1{s+=$4*$5} END{printf "%.2f\n", s}' sales.csv
#### begin-end
awk 'BEGIN{print "start"} {n++} END{print n, "lines"}' words.txt; awk 'BEGIN{x=5; print x*2}'
#### group-by
awk -F, 'NR>1{t[$2]+=$4} END{for(r in t) print r, t[r]}' sales.csv | sort; awk '{c[$1]++} END{for(i in c) print c[i], i}' access.log | sort -rn
#### max-min
awk 'NR==1{max=min=$1} $1>max{max=$1} $1<min{min=$1} END{print min, max}' numbers.txt
#### variables
awk -v n=3 'NR==n' words.txt; awk -v a="$HOME" 'BEGIN{print (a!="")}'; x=7; awk -v x="$x" 'BEGIN{print x+1}'; awk '{print v $0}' v=pre old.txt | head -1
#### separators
awk 'BEGIN{OFS="-"} {print $1,$2}' <<< "a b"; awk -F'[,;]' '{print $2}' <<< "a;b,c"; awk 'BEGIN{FS=":"; OFS="|"} {$1=$1; print}' fields.txt | head -1; awk -F'\t' '{print $2}' inventory.tsv | head -2
#### string-functions
awk 'BEGIN{s="Hello World"; print length(s), substr(s,7), substr(s,1,5), index(s,"World"), toupper(s), tolower(s)}'
#### gsub-sub-match
awk '{gsub(/a/,"A"); print}' words.txt | head -2; echo "foo bar foo" | awk '{n=gsub(/foo/,"X"); print n, $0}'; echo abc123 | awk '{if (match($0,/[0-9]+/)) print RSTART, RLENGTH, substr($0,RSTART,RLENGTH)}'; echo aaa | awk '{sub(/a/,"[&]"); print}'
#### split
echo "a,b,c" | awk '{n=split($0,p,","); print n, p[1], p[3]; for(i=n;i>0;i--) printf "%s ", p[i]; print ""}'
#### printf
awk -F, 'NR>1{printf "%-10s %5d %s\n", $1, $2, $4}' people.csv | head -3; awk 'BEGIN{printf "%05.2f|%x|%o|%e|%c|%%\n", 3.14159, 255, 8, 1234.5, "A"}'
#### arrays
awk '{a[NR]=$0} END{for(i=NR;i>0;i--) print a[i]}' old.txt; awk '!seen[$0]++' words.txt; awk 'BEGIN{a["x"]=1; if ("x" in a) print "in"; delete a["x"]; if (!("x" in a)) print "out"; print length(a)}'
#### control-flow
awk 'BEGIN{for(i=1;i<=3;i++) printf "%d ", i; while(i<6) i++; do {i--} while(i>2); print i; if (i==2) print "two"; else print "other"}'; awk '{if(NR==2) next; if(NR==4) exit; print}' old.txt
#### functions
awk 'function fact(n) { return n<=1 ? 1 : n*fact(n-1) } BEGIN { print fact(10) }'; awk 'function add(a,b,  t) { t=a+b; return t } BEGIN { print add(2,3) }'
#### ternary-and-logic
awk '{print ($1>10 ? "big" : "small"), $1}' numbers.txt | head -3; awk 'BEGIN{print 1&&0, 1||0, !1, 5%3, 2^8, 7/2, int(7/2)}'
#### regex-operators
awk '$4 ~ /blue/' FS=, people.csv; awk -F, '$3 !~ /London|Boston/ {print $3}' people.csv; echo "k=v" | awk -F= '/^k/{print $2}'
#### ranges
awk '/beta/,/delta/' old.txt; awk '/\[server\]/{f=1;next} /^\[/{f=0} f&&NF' app.conf
#### multiple-files
awk 'FNR==1{print FILENAME}' old.txt new.txt; awk 'NR==FNR{a[$0];next} $0 in a' old.txt new.txt; awk 'END{print NR, FNR}' old.txt new.txt
#### getline
awk 'BEGIN{while((getline l < "old.txt")>0) n++; print n}'; awk 'BEGIN{"echo hi" | getline x; print x}'; awk '{getline; print}' old.txt
#### output-to-files
awk -F, 'NR>1{print $1 > $4".team"}' people.csv; cat blue.team; awk '{print | "sort"}' words.txt | head -2
#### record-separator
awk 'BEGIN{RS=""} {print NR": "$1}' poem.txt; printf 'a;b;c' | awk 'BEGIN{RS=";"} {print}'; awk 'BEGIN{ORS="|"} {print}' old.txt; echo
#### modify-fields
awk '{$2="X"; print}' <<< "a b c"; awk '{$5="e"; print; print NF}' <<< "a b"; awk '{NF=2; print}' <<< "a b c d"; awk '{$1=""; print}' <<< "a b c"
#### numeric-strings
awk 'BEGIN{print "10"<"9", 10<9, "abc"<"abd", "3x"+4, 1e3, 0.1+0.2, 100000000, 1/3}'; echo "10 9" | awk '{print ($1>$2)}'
#### concatenation-and-precedence
awk 'BEGIN{a=1; b=2; print a b, a+b "" a*b, -a " " !b, 1 " " 2+3}'
#### math-functions
awk 'BEGIN{print sqrt(16), int(-3.7), exp(0), log(1), sin(0), cos(0), atan2(0,1)}'
#### csv-report
awk -F, 'NR>1{u[$3]+=$4; r[$3]+=$4*$5} END{for(p in u) printf "%-6s %3d %9.2f\n", p, u[p], r[p]}' sales.csv | sort
#### transpose
printf '1 2 3\n4 5 6\n' | awk '{for(i=1;i<=NF;i++) a[i,NR]=$i} END{for(i=1;i<=NF;i++){s=a[i,1]; for(j=2;j<=NR;j++) s=s" "a[i,j]; print s}}'
#### environ-and-argv
X=5 awk 'BEGIN{print ENVIRON["X"], ARGC, ARGV[1]}' foo; awk 'BEGIN{exit 3}'; echo $?; awk 'BEGIN{printf "no newline"}'; echo
#### script-file
cat > p.awk <<'X'
# count words per line
{ n += NF; print NR ": " NF }
END { print "total", n }
X
awk -f p.awk poem.txt | tail -2
#### word-frequency
tr -cs 'A-Za-z' '\n' < poem.txt | tr A-Z a-z | awk '{c[$0]++} END{for(w in c) print c[w], w}' | sort -k1,1nr -k2 | head -4
#### histogram
awk -F, 'NR>1{c[$4]++} END{for(t in c){printf "%-6s", t; for(i=0;i<c[t];i++) printf "#"; print ""}}' people.csv | sort
#### missing-file-and-bad-program
awk '{print}' missing; echo $?; awk '{print' old.txt; echo $(($?>0))
#### sprintf-and-tolower
awk 'BEGIN{s=sprintf("%03d-%s", 7, "x"); print s; print tolower("ABC") toupper("def")}'
#### log-percentiles
awk '{print $NF}' access.log | sort -n | awk '{a[NR]=$1} END{print "p50", a[int(NR*0.5)], "p90", a[int(NR*0.9)], "max", a[NR]}'
