greet() { printf "Hi %s\n" "$1"; }
GREETING=loaded
