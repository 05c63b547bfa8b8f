#### tar-create-list-extract
tar cf a.tar src; tar tf a.tar | sort; mkdir x; tar xf a.tar -C x; diff -r src x/src && echo same; rm a.tar
#### tar-gz
tar czf a.tgz docs notes.txt; tar tzf a.tgz | sort; mkdir x; tar xzf a.tgz -C x; ls x; cat x/docs/guide/deep/last.md | head -1; rm a.tgz
#### tar-options
tar -cvf a.tar old.txt new.txt; tar -xOf a.tar old.txt | head -1; tar tf a.tar; tar --exclude='*.h' -cf b.tar src; tar tf b.tar | sort; mkdir y; tar xf b.tar -C y --strip-components=1; ls y; rm *.tar
#### tar-pipe
tar cf - src | tar tf - | sort; mkdir x; tar cf - docs | (cd x && tar xf -); find x -type f | sort
#### tar-modes-and-links
tar cf a.tar bin shortcut; mkdir x; tar xf a.tar -C x; stat -c %a x/bin/hello.sh; readlink x/shortcut; rm a.tar; tar xf missing.tar; echo $((${?}>0))
#### tar-append-and-one
tar cf a.tar old.txt; tar rf a.tar new.txt; tar tf a.tar; mkdir x; cd x; tar xf ../a.tar new.txt; ls; cd ..; rm a.tar
#### gzip
cp notes.txt n; gzip n; ls n*; gunzip n.gz; cmp n notes.txt && echo same; gzip -k n; ls n n.gz; gzip -c words.txt | gunzip | head -1; zcat n.gz | head -1; rm -f n.gz
#### gzip-more
gzip -9 -c notes.txt > n.gz; gzip -dc n.gz | wc -l; gzip -t n.gz; echo $?; gzip -l n.gz > /dev/null; echo $?; echo bad > b.gz; gunzip b.gz; echo $?; gzip missing; echo $?; rm -f n.gz
#### base64
echo -n hello | base64; echo aGVsbG8= | base64 -d; echo; base64 -w 20 poem.txt | head -2; echo 'not*base64' | base64 -d; echo $?; base64 < notes.txt | base64 -d | cmp - notes.txt && echo same
#### checksums
sha256sum notes.txt; md5sum notes.txt; sha1sum < notes.txt; echo -n abc | sha256sum | cut -c1-16; sha512sum words.txt | cut -c1-20; cksum old.txt
#### checksum-verify
sha256sum old.txt new.txt > sums; sha256sum -c sums; echo x >> old.txt; sha256sum -c sums 2>/dev/null; echo $?; md5sum words.txt | md5sum -c -
#### diff
diff old.txt new.txt; echo $?; diff old.txt old.txt; echo $?; diff -q old.txt new.txt; diff -u old.txt new.txt | tail -n +3
#### diff-options
diff -i <(echo A) <(echo a); echo $?; diff -w <(echo 'a  b') <(echo 'a b'); echo $?; diff -y -W 30 <(printf 'a\nb\n') <(printf 'a\nc\n'); diff --brief docs src; echo $?; diff -b <(echo 'a b ') <(echo 'a b'); echo $?; diff -B <(printf 'a\n\nb\n') <(printf 'a\nb\n'); echo $?
#### diff-recursive
cp -r docs d2; echo more >> d2/readme.md; touch d2/only; diff -r docs d2; echo $?; diff -rq docs d2
#### diff-labels-and-context
diff -U1 --label a --label b old.txt new.txt; diff -c old.txt new.txt | tail -n +3 | head -5
#### patch-round-trip
diff -u old.txt new.txt > p.diff; cp old.txt t.txt; patch -s t.txt p.diff; cmp t.txt new.txt && echo patched; rm p.diff
#### xz-free-zip-free-cat
cat old.txt new.txt > both; split -l 3 both s_; cat s_* | cmp - both && echo joined
