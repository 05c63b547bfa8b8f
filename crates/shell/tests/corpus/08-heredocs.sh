#### plain
name=Ada
cat <<END
Hello $name
sum $((1+2)) cmd $(echo hi) \$literal
END
#### quoted
cat <<'END'
no $expansion `here` \n "quotes"
END
#### tabs-stripped
if true; then
	cat <<-END
	indented
		twice
	END
fi
#### two-on-one-line
cat <<A; cat <<B
first
A
second
B
#### into-file
cat > out.txt <<END
line 1
line 2
END
cat >> out.txt <<END
line 3
END
wc -l < out.txt
#### piped
cat <<END | sort | head -2
c
a
b
END
#### to-while-loop
while IFS='=' read -r k v; do echo "$k -> $v"; done <<END
host=local
port=80
END
#### in-function
usage() { cat <<END
Usage: $1 [options]
  -h  help
END
}
usage tool
#### herestring
cat <<< "one line"; wc -c <<< abc; tr a-z A-Z <<< "$(echo shout)"; read -r a b <<< "x y z"; echo "$b"
#### in-substitution
v=$(cat <<END
inside $((3*3))
END
); echo "[$v]"
#### with-backticks-and-escapes
x=5; cat <<END
\\ \` \$x $x "${x}" 'single $x' \a
END
#### empty
cat <<END
END
echo after
#### nested-quotes-and-braces
cat <<END
{ "key": "${HOME##*/}", 'b': "a\"b" }
END
#### line-continuation
cat <<END
one \
two
three
END
#### python-like-delimiter
cat <<'EOF!'
text
EOF!
#### heredoc-with-fd
exec 3<<END
from three
END
cat <&3; exec 3<&-
#### and-or-after
cat <<END && echo ok || echo bad
body
END
#### multiple-to-one-command
paste -d' ' - <(cat <<B
1
2
B
) <<A
a
b
A
#### assignment-lines
read -r -d '' text <<'END'
first
  second
END
echo "$text"
#### script-to-bash
bash <<'END'
x=5
echo "in child $x"
END
bash -s one two <<'END'
echo "$# $2"
END
