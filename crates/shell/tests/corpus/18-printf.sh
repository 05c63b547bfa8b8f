#### strings-and-numbers
printf '%s %d %i %u\n' str 42 -7 9; printf '%5d|%-5d|%05d|%+d\n' 42 42 42 42
#### width-precision
printf '%10s|%-10s|%.3s|%10.2s|\n' hello hello hello hello; printf '%*d|%-*s|\n' 6 42 6 ab
#### floats
printf '%f %.2f %8.3f %e %g %G\n' 3.14159 2.5 1.5 12345.678 0.0001 1e10
#### hex-octal
printf '%x %X %o %#x %#o %08b\n' 255 255 8 255 8 5 2>/dev/null | head -1; printf '%d %d\n' 0xff 017
#### repeat-format
printf '%s-' a b c; echo; printf '%s=%d\n' x 1 y 2 z; printf 'no args\n' ignored
#### escapes
printf 'a\tb\nc\\d\x41\101\n'; printf '%b\n' 'x\ty\n'; printf '%s\n' 'x\ty'; printf '100%%\n'
#### char-codes
printf '%d\n' "'A" "'é"; printf '%c%c%c\n' abc def ghi; printf "\\x$(printf %x 65)\n"
#### missing-args
printf '%s|%d|%s|\n' only; printf '%d\n'; printf '[%s]\n' ""
#### into-variable
printf -v v '%03d' 7; echo $v; printf -v 'a[2]' x; echo "${a[2]}" "${#a[@]}"
#### bad-number
printf '%d\n' abc; echo $?; printf '%d\n' 12x; echo $?
#### date-format
printf '%(%Y-%m-%d %H:%M:%S)T\n' 0; printf '%(%s)T\n' 86400; TZ=UTC printf '%(%a %b %e)T\n' 1704276000
#### table
printf '%-12s %8s\n' item price; printf '%-12s %8.2f\n' lamp 12.5 desk 199.99
#### rule-line
printf '%.0s-' {1..20}; echo; printf -- '--dash\n'; printf '%s\n' -n
#### echo-options
echo -n no-newline; echo; echo -e 'a\tb\nc'; echo -E 'a\tb'; echo -ne 'x\c'; echo y; echo -- -n; echo -nx
#### echo-escapes
echo -e '\x41\0101\u263a\\ \a' | od -c | head -2; echo 'no\nescape'
#### unsigned-and-long
printf '%u\n' 4294967296; printf '%ld %lld\n' 5 6; printf '%d\n' -9223372036854775808
#### quote-format
printf '%q %q\n' "a b" 'x;y'; printf '%s\n' "${HOME:+set}"
#### utf8-width
printf '%5s|\n' é; printf '%-6s|\n' naïve; printf '%.2s\n' añb
