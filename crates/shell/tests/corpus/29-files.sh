#### ls
ls; ls -a | head -4; ls -1 src; ls docs src; ls -d */; ls *.csv
#### ls-long
ls -l src | awk 'NR>1{print $1, $5, $NF}'; ls -l src | head -1 | cut -d' ' -f1; ls -l bin/hello.sh | cut -c1-10; ls -ld docs | cut -c1; ls -l shortcut | awk '{print $(NF-2), $(NF-1), $NF}'; ls -n src/util.h | awk '{print $5}'
#### ls-sort
touch -d '2024-01-01' t1; touch -d '2024-03-01' t2; touch -d '2024-02-01' t3; ls -t t?; ls -tr t?; ls -S src; ls -r src; ls -lt t? | awk '{print $NF}'
#### ls-flags
ls -R docs; ls -F; ls -p | head -5; ls -A docs; ls -m src; ls -1F bin; ls -lh access.log | awk '{print $5}'; ls -s empty.txt
#### ls-missing
ls missing; echo $?; ls notes.txt missing 2>/dev/null; echo $?
#### ls-time
TZ=UTC ls -l --time-style=+%Y-%m-%d notes.txt | awk '{print $6, $7}'; ls -l --time-style=long-iso notes.txt | awk '{print $6, $7}'; ls --full-time notes.txt | awk '{print $6, $7, $8}'
#### mkdir
mkdir d1; mkdir d1; echo $?; mkdir -p d1/a/b/c; mkdir d2/x 2>/dev/null; echo $?; mkdir -m 700 d3; stat -c %a d3; mkdir -v d4; mkdir d5 d6; find d1 | sort
#### cp
cp notes.txt n2; cmp notes.txt n2 && echo same; mkdir d; cp notes.txt words.txt d; ls d; cp -r src copy; ls copy; cp src d; echo $?; cp missing x; echo $?; cp bin/hello.sh h; stat -c %a h
#### cp-flags
cp -v notes.txt n2; cp -n words.txt n2; head -1 n2; cp -p notes.txt n3; stat -c %Y n3; cp -a docs docs2; find docs2 | sort; cp -u old.txt new.txt; cp -r docs/. flat; ls flat; cp -t d_missing a 2>/dev/null; echo $?
#### cp-links
cp shortcut plain; [ -L plain ] || echo followed; cp -P shortcut l2; readlink l2; cp -d shortcut l3; readlink l3; mkdir k; cp -a manual k; readlink k/manual
#### mv
mv notes.txt n.txt; ls n.txt notes.txt 2>/dev/null; mkdir d; mv n.txt words.txt d; ls d; mv d e; ls e; mv missing x; echo $?; mv -v e/n.txt .; mv -n old.txt new.txt; ls old.txt; mv src e/; ls e
#### mv-overwrite
echo a > a; echo b > b; mv a b; cat b; ls a 2>/dev/null; echo $?; mkdir x y; touch x/f; mv x y; find y; mv -t y b; ls y; mv y/b y/x/f; cat y/x/f
#### rm
touch a b c; rm a; rm b c; rm missing; echo $?; rm -f missing; echo $?; rm docs; echo $?; rm -r docs; ls -d docs 2>/dev/null; echo $?; rm -v old.txt; rm -rf src logs; ls -d src logs 2>/dev/null | wc -l
#### rm-links-and-globs
rm shortcut manual; ls notes.txt docs/guide | head -2; touch x1 x2 x3; rm x?; ls x* 2>/dev/null | wc -l; rm -- -dash 2>/dev/null; echo $?; touch -- -f1; rm -- -f1; echo $?; rm dangling; echo $?
#### rmdir
mkdir -p a/b; rmdir a; echo $?; rmdir a/b; rmdir a; echo $?; mkdir -p p/q/r; rmdir -p p/q/r; ls -d p 2>/dev/null; echo $?; rmdir notes.txt; echo $?
#### ln
ln -s notes.txt l; readlink l; cat l | head -1; ln -s docs dl; ls dl; ln -s nowhere bad; cat bad; echo $?; ln -sf words.txt l; readlink l; ln -s notes.txt l; echo $?; ln -sfn src dl; readlink dl
#### hard-links
ln notes.txt hard; [ notes.txt -ef hard ] && echo same; echo more >> hard; tail -1 notes.txt; stat -c %h notes.txt; rm notes.txt; wc -l < hard
#### readlink-realpath
readlink shortcut; readlink notes.txt; echo $?; readlink -f manual/../guide/intro.md; realpath src/../notes.txt; realpath -m no/such/../dir; realpath --relative-to=docs src/main.c; realpath missing/deep; echo $?; readlink -e missing; echo $?
#### touch
touch new; stat -c %s new; touch -d '2024-05-06 07:08:09' new; stat -c %y new | cut -c1-19; touch -t 202301020304 new; date -r new +%Y%m%d%H%M; touch -c nothere; ls nothere 2>/dev/null; echo $?; touch -r notes.txt new; stat -c %Y new; touch -d @86400 new; stat -c %Y new
#### chmod
touch f; chmod 755 f; stat -c '%a %A' f; chmod u-x,g+w f; stat -c %a f; chmod a=r f; stat -c %a f; chmod +x f; stat -c %a f; chmod go= f; stat -c %A f; chmod -R 700 docs; stat -c %a docs/guide/intro.md; chmod 999 f; echo $?; chmod u+s f; stat -c %a f
#### chmod-X
mkdir -p t/s; touch t/f t/s/g; chmod -R u=rwX,go=rX t; stat -c '%a %n' t t/s t/f t/s/g; chmod --reference=bin/hello.sh t/f; stat -c %a t/f; chmod 0644 missing; echo $?
#### stat
stat -c '%n %s %F %a' notes.txt shortcut empty.txt; stat -c '%n %F %a' docs; stat -c '%A' bin/hello.sh; stat -L -c %F shortcut; stat -c '%Y %y' notes.txt | cut -c1-30; stat missing; echo $?; stat -c '%s bytes' access.log; stat --printf '%n\t%s\n' old.txt
#### basename-dirname
basename /a/b/c.txt; basename /a/b/c.txt .txt; basename -a x/1 y/2; basename -s .c src/main.c; basename /; dirname /a/b/c; dirname c; dirname /; dirname a/b/ x/y; basename a/b/
#### file-modes-in-find
touch a b; chmod 600 a; find . -maxdepth 1 -name '[ab]' -perm 600; ls -l a b | cut -c1-10; test -w a && echo w
#### du-and-df-run
du -s docs > /dev/null; echo $?; df . > /dev/null; echo $?; du -sh . | awk '{print NF}'; du -b notes.txt | cut -f1; du -a src | wc -l
#### mktemp
f=$(mktemp); [ -f "$f" ] && stat -c %a "$f"; d=$(mktemp -d ./wk.XXXXXX); case $d in ./wk.??????) echo shape;; esac; rmdir "$d"; g=$(mktemp -u); [ -e "$g" ] || echo unmade; rm -f "$f"; h=$(mktemp tmp.XXXX.txt 2>/dev/null) ; rm -f "$h"; mktemp -d --tmpdir=. q.XXXX | wc -l; rmdir q.*
#### truncate-and-dd
truncate -s 5 notes.txt; cat notes.txt; echo; truncate -s 0 words.txt; wc -c < words.txt; dd if=poem.txt bs=4 count=2 2>/dev/null; echo; dd if=/dev/zero of=z bs=10 count=3 2>/dev/null; wc -c < z; head -c 5 /dev/zero | wc -c
#### install-and-tree-copy
install -m 600 notes.txt inst; stat -c %a inst; install -d a/b/c; ls -d a/b/c; install -D words.txt deep/er/w; cat deep/er/w | wc -l
#### rename-loop
for f in *.txt; do mv "$f" "${f%.txt}.text"; done; ls *.text; ls *.txt 2>/dev/null | wc -l
#### permission-denied
mkdir locked; touch locked/f; chmod 500 locked; touch locked/g; echo $?; rm -f locked/f; echo $?; echo x > locked/h; echo $?; chmod 700 locked; ls locked
#### directory-not-readable
mkdir p; touch p/a; chmod 300 p; ls p; echo $?; cat p/a; echo $?; chmod 600 p; cat p/a; echo $?; cd p; echo $?; chmod 700 p
#### root-owned
echo x > /etc/gsv-corpus-test; echo $?; touch /usr/gsv-corpus-test; echo $?; mkdir /gsv-corpus-test; echo $?; rm /etc/passwd 2>/dev/null; [ -f /etc/passwd ] && echo still
#### devices
echo x > /dev/null; head -c 3 /dev/zero | od -An -tx1; head -c 8 /dev/urandom | wc -c; cat /dev/null; echo y > /dev/full; echo $?; [ -c /dev/null ] && echo char; true
#### long-names-and-odd-characters
touch 'a"b' "c'd" $'e\nf' 'g*h' '-i' 'j;k' 'ü.txt'; ls -1 | grep -c .; ls -b | grep 'e.n'; rm -f ./-i; [ -e 'g*h' ] && echo star; ls ü*; printf '%s\n' c*
#### copy-through-pipe
cat blob.bin > b2; cmp blob.bin b2 && echo same; base64 < blob.bin | base64 -d | cmp - blob.bin && echo same2; cp blob.bin b3; sha256sum blob.bin b2 b3 | awk '{print $1}' | uniq | wc -l
#### append-and-count
for i in {1..20}; do echo "line $i" >> big.txt; done; wc -l big.txt; tail -n 1 big.txt; sed -i '5,15d' big.txt; wc -l < big.txt
#### overwrite-keeps-mode
chmod 600 notes.txt; echo new > notes.txt; stat -c %a notes.txt; chmod 755 words.txt; sed -i 's/a/b/' words.txt; stat -c %a words.txt; cp words.txt old.txt; stat -c %a old.txt; printf x | tee notes.txt > /dev/null; stat -c %a notes.txt
#### write-through-link
echo via > shortcut; cat notes.txt; [ -L shortcut ] && echo still; echo made > dangling; cat nowhere; sed -i 's/via/sed/' shortcut; [ -L shortcut ] || echo replaced; cp words.txt manual/w; ls docs/guide
#### umask-and-redirections
umask 077; echo x > a; echo y >> b; : > c; printf z > d; mkdir e; touch f; cp notes.txt g; stat -c '%n %a' a b c d e f g
#### umask-in-subshell
(umask 077; echo x > a); echo y > b; umask 027; (umask 022; echo x > c); echo z > d; stat -c '%n %a' a b c d
#### umask-wide-and-symbolic
umask 000; echo x > a; mkdir b; seq 3 > c; umask u=rwx,g=rx,o=; echo y > d; tee e < a > /dev/null; umask; umask -S; stat -c '%n %a' a b c d e
#### umask-leaves-what-is-there
umask 077; echo new > notes.txt; stat -c %a notes.txt; sort words.txt > sorted; cut -c1 words.txt > first; stat -c %a sorted first
#### endless-devices
head -c 20000000 /dev/zero | wc -c; head -c 20000000 < /dev/zero | wc -c; head -c 3000000 /dev/urandom | wc -c; head -c 1K /dev/zero | wc -c
#### endless-device-copied
dd if=/dev/zero of=f bs=1M count=20 2>/dev/null; wc -c < f; dd if=/dev/zero bs=512 count=3 2>/dev/null | wc -c
#### password-from-random
tr -dc 'a-z0-9' < /dev/urandom | head -c 32 | wc -c; cat /dev/urandom 2>/dev/null | tr -dc a-f | head -c 8 | wc -c
