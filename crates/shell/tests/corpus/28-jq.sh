#### fields
jq .name data.json; jq -r .name data.json; jq '.size.width' data.json; jq '.tags[1]' data.json; jq '.missing' data.json; jq -r '.parts[0].label' data.json
#### iterate
jq -r '.tags[]' data.json; jq -c '.parts[]' data.json; jq -r '.parts[] | "\(.id): \(.label)"' data.json; jq '.parts | length' data.json
#### select-and-map
jq -r '.parts[] | select(.qty > 1) | .label' data.json; jq -c '[.parts[].qty]' data.json; jq '.parts | map(.qty * .price) | add' data.json; jq -c '.parts | map({(.label): .qty}) | add' data.json
#### construct
jq -c '{n: .name, t: .tags | length, w: .size.width}' data.json; jq -nc '{a: 1, b: [1,2]}'; jq -nc --arg x "v" --argjson n 5 '{$x, n: $n}'
#### sort-group
jq -c '.parts | sort_by(.price) | map(.label)' data.json; jq -c '.parts | max_by(.price).label' data.json; jq -sc 'group_by(.level) | map({level: .[0].level, n: length})' events.jsonl
#### lines
jq -r 'select(.level=="error") | .msg' events.jsonl; jq -c 'select(.ms) | [.user, .ms]' events.jsonl; jq -s 'length' events.jsonl; jq -r '.user // "nobody"' events.jsonl | sort | uniq -c
#### modify
jq -c '.size.width = 20 | .size' data.json; jq -c '.tags += ["new"] | .tags' data.json; jq -c 'del(.parts, .tags, .size)' data.json; jq -c '.parts |= map(.qty += 1) | [.parts[].qty]' data.json
#### keys-and-has
jq -c 'keys' data.json; jq -c '.size | to_entries' data.json; jq 'has("name"), has("zip")' data.json; jq -c '.size | with_entries(select(.value != null))' data.json
#### strings
jq -r '.name | ascii_upcase' data.json; jq -c '.version | split(".") | map(tonumber)' data.json; jq -r '.tags | join(",")' data.json; jq -r '.name | test("wid")' data.json; jq -r '.version | sub("\\."; "-")' data.json; jq -r '@text "v\(.version)"' data.json
#### formats
jq -r '.parts[] | [.id, .label, .price] | @csv' data.json; jq -r '.parts[] | [.id, .label] | @tsv' data.json; jq -r '.name | @base64' data.json; jq -r '"a b&c" | @uri' data.json; jq -r '.tags | @json' data.json; jq -r '@sh "echo \(.name)"' data.json
#### conditionals
jq -r '.parts[] | if .price > 3 then "dear" elif .price > 1 then "fair" else "cheap" end' data.json; jq '.inStock and true, (.inStock | not)' data.json; jq -c '[.parts[] | .price > 1]' data.json
#### reduce-and-variables
jq 'reduce .parts[] as $p (0; . + $p.qty * $p.price)' data.json; jq -c '. as $d | [.parts[] | $d.name + ":" + .label]' data.json; jq -n '[range(5)] | add'; jq -nc '[limit(3; range(10))]'
#### types-and-errors
jq -c '[.name, .size, .tags, .inStock, .size.depth, .size.width | type]' data.json; echo '{bad' | jq .; echo $(($?>0)); jq -e '.missing' data.json; echo $?; jq '.name | .[0]' data.json; echo $?; jq '.name.x?' data.json
#### pretty
jq . <<< '{"b":[1,{"c":null}],"a":"x"}'; jq -S -c . <<< '{"b":1,"a":2}'; jq --tab . <<< '[1]'; jq --indent 1 . <<< '[1]'; jq -c . <<< '[1, 2 ,3]'
#### numbers
jq -c '[1, 1.5, 100000000000, -0.5, 3.14159]' <<< null; jq -n '1000 * 1.5, 0.1 + 0.5, 5 / 5'; jq -n '10/3, (10/4|floor), (7%3), pow(2;10)'; jq -c '[.[]|round]' <<< '[1.4,1.5,2.6]'
#### slices-and-paths
jq -c '.tags[1:], .tags[:1], .tags[-1]' data.json; jq -c '[paths(type=="number")] | length' data.json; jq -c 'getpath(["size","width"])' data.json; jq -c '[.. | numbers] | length' data.json
#### raw-input
printf 'a\nb\n' | jq -R .; printf 'a\nb\n' | jq -Rs 'split("\n")[:-1]' -c; printf '1\n2\n' | jq -n '[inputs]' -c; ls *.csv | jq -Rnc '[inputs]'
#### dates
jq -n '1704276000 | todate'; jq -r '.ts | strftime("%H:%M")' events.jsonl | head -2; jq -n '"2024-01-03T10:00:00Z" | fromdate'
#### functions
jq -c 'def double: . * 2; [.parts[].qty | double]' data.json; jq -c '[.parts[] | .label] | index("plate"), unique, reverse' data.json; jq -c 'any(.parts[]; .qty > 5), all(.parts[]; .qty > 5)' data.json; jq -c '[.tags[] | length] | min, max' data.json
#### json-in-shell
for l in $(jq -r '.parts[].label' data.json); do echo "part $l"; done; n=$(jq '.parts|length' data.json); for ((i=0;i<n;i++)); do jq -r ".parts[$i].id" data.json; done; jq -r '.size | to_entries[] | "\(.key)=\(.value)"' data.json
#### from-env-and-file
export NAME=env; jq -n 'env.NAME, $ENV.NAME'; echo '.name' > f.jq; jq -f f.jq data.json; jq -n --slurpfile d data.json '$d[0].name'; jq -n --rawfile t no-newline.txt '$t'; jq -nc '$ARGS.positional' --args a b
#### build-object-from-lines
awk -F, 'NR>1{print $1" "$2}' people.csv | jq -Rnc '[inputs | split(" ") | {key: .[0], value: (.[1]|tonumber)}] | from_entries'
#### update-file
jq '.version = "2.0.0"' data.json > tmp && mv tmp data.json; jq -r .version data.json
#### try-and-alternative
jq -c '[.[] | try tonumber catch "bad"]' <<< '["1","x"]'; jq -c '.a.b.c // "none"' <<< '{}'; jq -c '[.[] | tonumber?]' <<< '["1","x","3"]'; jq -n '"x" | error' 2>&1 | head -1; jq -n 'first(empty)' 
#### flatten-and-combine
jq -c 'flatten' <<< '[1,[2,[3]]]'; jq -c '.[0] * .[1]' <<< '[{"a":{"x":1}},{"a":{"y":2}}]'; jq -c '.[0] + .[1]' <<< '[{"a":1},{"b":2}]'; jq -c 'transpose' <<< '[[1,2],[3,4]]'; jq -c '[combinations]' <<< '[[1,2],[3,4]]'
#### definitions-with-filters
jq -nc 'def twice(f): f | f; 3 | twice(. * 2)'; jq -nc 'def fac(n): if n <= 1 then 1 else n * fac(n - 1) end; fac(10)'; jq -c 'def w(f): if type == "object" then map_values(w(f)) elif type == "array" then map(w(f)) else f end; w(. + 1)' <<< '{"a":[1,{"b":2}]}'
#### recursion-without-filters
jq -nc 'def up: if . < 5 then . + 1 | up else . end; 0 | up'; jq -nc '[recurse(if . < 3 then . + 1 else empty end)]' ; jq -nc '[limit(3; repeat(1))]'
