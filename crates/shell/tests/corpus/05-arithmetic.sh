#### operators
echo $((7+3)) $((7-3)) $((7*3)) $((7/3)) $((7%3)) $((2**10)) $((-7/2)) $((-7%3))
#### precedence
echo $((1+2*3)) $(((1+2)*3)) $((2**3**2)) $((-2**2)) $((1<<4|1)) $((5&3)) $((5^3)) $((~5)) $((!0)) $((!5))
#### comparisons
echo $((3>2)) $((3<2)) $((3==3)) $((3!=3)) $((3>=3)) $((1&&0)) $((1||0))
#### ternary-and-comma
x=5; echo $((x>3?10:20)) $((a=1,b=2,a+b)) $a $b
#### increments
i=5; echo $((i++)) $i $((++i)) $i $((i--)) $((--i)) $i
#### assignment-operators
x=10; ((x+=5)); echo $x; ((x*=2)); echo $x; ((x/=4)); echo $x; ((x%=4)); echo $x; ((x<<=3)); echo $x; ((x|=3)); echo $x
#### bases
echo $((0x1f)) $((010)) $((2#1011)) $((16#ff)) $((36#z)) $((8#17))
#### variables-without-dollar
a=3 b=4; echo $((a*a+b*b)) $(($a+$b)); n=; echo $((n+1)) $((undefined_thing+2))
#### let
let x=5+5; echo $x; let "y = x * 2" z=3; echo $y $z; let 0; echo $?; let 1; echo $?
#### exit-code
((0)); echo $?; ((1)); echo $?; ((5-5)) || echo zero; if ((3>2)); then echo yes; fi
#### c-style-for
for ((i=0;i<5;i++)); do printf '%d ' $i; done; echo; for ((i=10,j=0;i>j;i-=3,j++)); do echo "$i $j"; done
#### infinite-with-break
n=0; for ((;;)); do ((++n>=4)) && break; done; echo $n
#### integer-attribute
declare -i n; n="3+4"; echo $n; n+=1; echo $n; n=abc; echo $n
#### overflow
echo $((9223372036854775807)) $((9223372036854775807+1))
#### divide-by-zero
(echo $((1/0))); echo "code $?"
#### nested-variables
a=b; b=7; echo $((a)) $((a+1)); x=y+1; y=2; echo $((x*2))
#### string-numbers
s="12abc"; echo "${s%%[a-z]*}"; echo $((${s%abc}*2)); v=08; echo $((10#$v+1))
#### bit-flags
R=4 W=2 X=1; p=$((R|X)); ((p&W)) && echo w || echo no-w; ((p&R)) && echo r; printf '%o\n' $p
#### gcd
gcd() { local a=$1 b=$2; while ((b)); do ((t=a%b,a=b,b=t)); done; echo $a; }; gcd 48 36; gcd 17 5
#### factorial-loop
f=1; for i in {1..10}; do ((f*=i)); done; echo $f
#### bc-decimals
echo "scale=3; 10/3" | bc; echo "2^100" | bc; bc <<< "1.5*2.5"; echo "(3+4)*2" | bc
#### bc-functions
echo "define f(x) { return x*x; } f(7)" | bc; echo "scale=2; sqrt(2)" | bc -l; echo "x=5; x+=3; x" | bc; echo "5>3; 2==3" | bc
#### expr-arith
expr 3 + 4; expr 10 / 3; expr 10 % 3; expr 5 \* 6; expr 5 \> 3; expr 0 + 0; echo $?
#### expr-strings
expr length hello; expr substr hello 2 3; expr index hello l; expr hello : 'h\(.*\)o'; expr abc : 'a'
#### old-brackets
echo $[1+2] $[ 3 * 3 ]
#### array-sum
a=(3 4 5); s=0; for x in "${a[@]}"; do ((s+=x)); done; echo $s avg $((s/${#a[@]}))
#### percent-with-awk
awk 'BEGIN{printf "%.2f%%\n", 37*100/120}'; printf '%.1f\n' "$(echo '37*100/120' | bc -l)"
