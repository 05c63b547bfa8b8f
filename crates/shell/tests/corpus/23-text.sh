#### cat
cat notes.txt words.txt | wc -l; cat -n old.txt; cat -A dos.txt; cat -b poem.txt | tail -2; cat -s <<< $'a\n\n\n\nb'; cat -E no-newline.txt; echo
#### head-tail
head -3 words.txt; head -n 2 notes.txt; tail -2 words.txt; tail -n +9 words.txt; head -c 10 poem.txt; echo; tail -c 6 poem.txt; head -n -8 words.txt
#### head-many-files
head -n 1 old.txt new.txt; tail -qn 1 old.txt new.txt; head -2 missing; echo $?
#### sort-basic
sort words.txt | head -3; sort -r words.txt | head -2; sort -u words.txt | wc -l; sort -n numbers.txt; sort -rn numbers.txt | head -2
#### sort-keys
sort -t, -k2 -n people.csv | head -4; sort -t, -k3,3 -k2,2nr people.csv | cut -d, -f1,2,3; sort -k2 -t$'\t' inventory.tsv | head -2
#### sort-special
printf '10K\n2M\n5G\n1K\n' | sort -h; printf 'v1.10\nv1.9\nv1.2\n' | sort -V; printf 'mar\njan\nfeb\n' | sort -M; printf 'b\nA\na\nB\n' | sort -f
#### sort-check-and-stable
sort -c words.txt; echo $?; sort -c <<< $'a\nb'; echo $?; printf 'b 1\na 1\nc 0\n' | sort -s -k2,2; sort -o s.txt words.txt; head -1 s.txt
#### uniq
sort words.txt | uniq; sort words.txt | uniq -c; sort words.txt | uniq -d; sort words.txt | uniq -u; printf 'a\nA\nb\n' | uniq -i
#### uniq-fields
printf '1 x\n2 x\n3 y\n' | uniq -f1; printf 'aab\naac\nbbc\n' | uniq -w2; printf 'xa\nya\nzb\n' | uniq -s1 -c
#### wc
wc notes.txt; wc -l < words.txt; wc -w poem.txt; wc -c notes.txt words.txt; wc -m unicode.txt; wc -L poem.txt
#### cut
cut -d, -f1,3 people.csv | head -2; cut -c1-3 words.txt | head -2; cut -d: -f2- fields.txt; cut -f2 inventory.tsv | head -2; cut -d, -f2-3 --output-delimiter='|' people.csv | tail -1; cut -c-2,5 <<< abcdefg; cut -s -d: -f1 <<< "nodelim"; cut -b1-2 <<< hello; cut --complement -d, -f1 people.csv | head -1
#### tr
echo hello | tr a-y b-z; echo "a  b   c" | tr -s ' '; echo he11o | tr -d 0-9; echo abc | tr '[:lower:]' '[:upper:]'; echo "x,y;z" | tr ',;' '\n'; echo hello123 | tr -cd '[:digit:]\n'; echo "aabbcc" | tr -s a-c; tr -d '\r' < dos.txt; echo abc | tr abc x
#### paste
paste old.txt new.txt | head -3; paste -d, old.txt old.txt | head -1; paste -s words.txt; seq 6 | paste - - -; seq 4 | paste -sd+ | bc
#### comm
comm <(sort old.txt) <(sort new.txt); comm -23 <(sort old.txt) <(sort new.txt); comm -3 <(sort old.txt) <(sort new.txt)
#### join
printf '1 a\n2 b\n3 c\n' > l; printf '1 x\n3 y\n4 z\n' > r; join l r; join -a1 l r; join -v2 l r; join -t, -1 1 -2 2 <(printf 'a,1\nb,2\n') <(printf '9,a\n8,b\n'); join -o 1.2,2.2 l r
#### nl
nl old.txt | head -2; nl -ba poem.txt | sed -n 4,6p; nl -w2 -s'. ' old.txt | head -2; nl -v10 -i5 old.txt | head -2; nl -nrz -w3 old.txt | head -1
#### fold-and-fmt
echo "the quick brown fox jumps over the lazy dog" | fold -w 15; echo "the quick brown fox jumps" | fold -s -w 12; printf 'a b c\nd e f g h\n' | fmt -w 8
#### rev-tac
rev words.txt | head -2; tac old.txt; echo abc | rev; printf '1\n2\n3' | tac; echo
#### column
column -t -s, people.csv; printf 'a b\nccc d\n' | column -t; printf '1:one\n10:ten\n' | column -t -s: -o ' | '
#### split
split -l 4 words.txt part_; ls part_*; cat part_ac; split -b 20 notes.txt b_; ls b_* | wc -l; cat b_* | cmp - notes.txt && echo same; split -n 2 -d notes.txt n_; ls n_*
#### csplit-less-awk
awk '/^\[/{f=substr($0,2,length($0)-2)".part"} f{print > f}' app.conf; ls *.part; head -1 database.part
#### expand-unexpand
printf 'a\tb\n' | expand; printf 'a\tb\n' | expand -t4; printf '        x\n' | unexpand | od -c | head -1
#### od
printf 'ABC\n' | od -c; printf 'ABC\n' | od -An -tx1; printf 'ABC\n' | od -t d1; head -c 16 /dev/zero | od; echo abc | od -b
#### xxd
printf 'Hello, world!\n' | xxd; printf 'abc' | xxd -p; echo 616263 | xxd -r -p; echo; xxd -l 8 blob.bin; xxd -u -c 4 <<< "abcdef"
#### tee
echo x | tee t1 t2; cat t1 t2; echo y | tee -a t1 > /dev/null; cat t1
#### seq
seq 3; seq 2 4; seq 0 5 20; seq 3 -1 1; seq -s, 5; seq -w 8 11; seq 1 0.5 2.5; seq -f 'n%03g' 2
#### shuf-deterministic-size
shuf words.txt | sort | head -2; shuf -n 3 words.txt | wc -l; shuf -i 1-5 | sort | paste -sd,; shuf -e a b c | wc -l
#### unicode-text
wc -m < unicode.txt; rev unicode.txt | head -1; grep -o 'ö.' unicode.txt; sed 's/ö/o/' unicode.txt | head -1; sort unicode.txt | tail -1; awk '{print length($0)}' <<< abc
#### unicode-cut
cut -c1-3 unicode.txt
#### unicode-tr
tr 'é' 'e' <<< café
#### numfmt
numfmt --to=iec 1048576; numfmt --from=si 2K; numfmt --to=si 1500; echo 1024 | numfmt --to=iec
#### factor-and-tsort
factor 84 97; printf 'a b\nb c\n' | tsort
#### look-for-longest
awk '{ if (length($0) > m) { m = length($0); l = $0 } } END { print m, l }' poem.txt; sort -k1,1 words.txt | uniq -c | sort -k1,1nr -k2 | head -1
#### strings
strings blob.bin; printf 'ab\0abcdef\0' | strings
#### cmp
cmp old.txt old.txt; echo $?; cmp old.txt new.txt; echo $?; cmp -s old.txt new.txt; echo $?
#### paste-columns-report
paste -d' ' <(cut -d, -f1 people.csv) <(cut -d, -f4 people.csv) | tail -n +2 | sort -k2,2 -k1,1
#### tac-and-rev-in-pipes
seq 5 | tac | paste -sd,; printf 'abc\ndef\n' | rev; tac words.txt | head -2; seq 3 | rev | tac
#### nl-in-pipes
seq 3 | nl; printf 'a\n\nb\n' | nl -ba; nl words.txt | head -1
#### paste-and-column
paste <(seq 3) <(seq 4 6); seq 6 | paste - - -; printf 'a b\nccc d\n' | column -t; seq 4 | paste -sd+ | bc
#### fold-and-uniq
printf 'abcdefgh\n' | fold -w 3; printf 'a\na\nb\n' | uniq -c | sed 's/^ *//'; printf 'x\nx\ny\n' | uniq -d
#### comm-and-join
comm -12 <(printf 'a\nb\nc\n') <(printf 'b\nc\nd\n'); join <(printf '1 a\n2 b\n') <(printf '1 x\n2 y\n'); printf '1\n2\n3\n' | comm -23 - <(seq 2 3); seq 2 3 > two; seq 3 | comm -23 - two
