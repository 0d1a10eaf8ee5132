#!/bin/bash
# Holds uml.sh to what its head promises. A dozen boots, half a minute.
set -u
here=$(cd "$(dirname "$0")" && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
export TMPDIR=$room/tmp
mkdir "$room/tmp" "$room/open"
failures=0

# A script of the lines given.
script() { printf '#!/bin/bash\n%s\n' "$@" >"$room/script" && chmod +x "$room/script"; }
run() { "$here/uml.sh" "$@" >"$room/out" 2>"$room/err"; }
expect() {
    local what=$1 found=$2 wanted=$3
    [ "$found" = "$wanted" ] && return
    printf '%s: found %q, expected %q\n' "$what" "$found" "$wanted" >&2
    failures=$((failures + 1))
}
# Every process of a machine has its folder among its arguments.
processes() { ps -eo stat=,args= | grep -v '^Z' | grep -F -- " uml_dir=$TMPDIR/" | grep -v -c grep; }
nothing_left() {
    expect "$1: folders left" "$(ls "$TMPDIR")" ""
    expect "$1: processes left" "$(processes)" 0
}

truncate -s 1M "$room/a b,c" "$room/d"
truncate -s 1000 "$room/odd"

script 'cat; echo "$1|$2|$#|$MEMBERS"; printf "a\r\n\0b"; echo to stderr >&2; id -u; exit 7'
run "$room/script" "$room/a b,c" "$room/d" -- 'x y' "\$'z"
expect "exit code" $? 7
expect "stdout" "$(od -c "$room/out")" "$(printf "x y|\$'z|2|/dev/ubda /dev/ubdb\na\r\n\0b0\n" | od -c)"
expect "stderr" "$(cat "$room/err")" "to stderr"
nothing_left "after an end"

script 'echo hello >/dev/ubda; echo hello >/dev/ubdb; echo $?'
run "$room/script" "$room/d" "ro:$room/a b,c"
expect "an image takes writes" "$(head -c 5 "$room/d")" hello
expect "a read-only one takes none" "$(cat "$room/out")" 1

script "touch '$room/x' 2>/dev/null; echo \$?; echo y >'$room/open/y'; echo \$?"
run -w "$room/open" "$room/script"
expect "the tree is read-only but for -w" "$(cat "$room/out")" "$(printf '1\n0')"
expect "what was written is there" "$(cat "$room/open/y")" y

script 'seq 300000'
run "$room/script"
expect "much output" "$(md5sum <"$room/out")" "$(seq 300000 | md5sum)"

script 'echo begun; sleep 1000'
run -t 4 "$room/script"
expect "time is up" $? 124
expect "what was printed until then" "$(cat "$room/out")" begun
nothing_left "after the time was up"

script 'echo begun; echo c >/proc/sysrq-trigger; sleep 9'
run "$room/script"
expect "a machine that dies" $? 125
expect "the kernel's last words are shown" "$(grep -c 'sysrq triggered crash' "$room/err")" 1
nothing_left "after a death"

# In the page cache only, for the device is still open: a cut loses it, an orderly end does not.
script '{ echo precious; exec sleep 1000; } >/dev/ubda &' 'sleep 0.5'
truncate -s 0 "$room/d" && truncate -s 1M "$room/d"
run -c "$room/script" "$room/d"
expect "a cut ends well" $? 0
expect "a cut loses what was cached" "$(head -c 8 "$room/d" | tr -d '\0')" ""
run "$room/script" "$room/d"
expect "an orderly end loses nothing" "$(head -c 8 "$room/d")" precious

for signal in TERM KILL; do
    script 'sleep 1000'
    "$here/uml.sh" "$room/script" >/dev/null 2>&1 &
    process=$!
    # Until its kernel runs.
    for ((try = 0; try < 100; try++)); do
        [ "$(processes)" = 0 ] || break
        sleep 0.1
    done
    kill -"$signal" "$process"
    wait "$process" 2>/dev/null
    # After KILL its guard still works for a moment.
    for ((try = 0; try < 50; try++)); do
        [ -n "$(ls "$TMPDIR")" ] || break
        sleep 0.1
    done
    nothing_left "after $signal"
done

for wrong in "" "-t x $room/script" "-m 1 $room/script" "$room/missing" "$room/script $room/odd" "-x $room/script"; do
    run $wrong
    expect "wrong use: '$wrong'" $? 126
done

[ "$failures" = 0 ] && echo "uml.sh keeps its promises"
exit "$failures"
