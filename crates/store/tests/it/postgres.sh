# A private PostgreSQL for tests: the folder of its programs and a port are given. Says `started` when it was started.
# It runs as the user `postgres` when we are root, because the server refuses root. It lives until its standard input
# ends, which is when the test binary does. A language's order is asked for, where there is one, so that nothing leans on
# the server's default.
bin=$1 port=$2
cd / && dir=$(mktemp -d /tmp/gsv-store-test.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
# The tests may be gone before they hear that it started.
trap '' PIPE
init() { "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 -N "$@" >"$dir/init.log" 2>&1; }
init --locale=C.UTF-8 --locale-provider=icu --icu-locale=en-US || { rm -rf "$dir/data"; init --no-locale; } ||
    { cat "$dir/init.log" >&2; exit 1; }
"$bin/postgres" -D "$dir/data" -p "$port" -k "$dir" -c listen_addresses=127.0.0.1 -c fsync=off \
    -c full_page_writes=off -c synchronous_commit=off -c max_connections=200 -c shared_buffers=16MB \
    -c autovacuum=off >"$dir/log" 2>&1 </dev/null &
server=$!
exec 3<&0
# A server that is just starting does not hear the first one.
( cat <&3 >/dev/null; while kill -QUIT $server 2>/dev/null; do sleep 0.1; done ) &
watch=$!
echo started
wait $server
kill $watch 2>/dev/null
