#!/bin/bash
# Inside user-mode Linux: md assembles arrays of arrays that raidloom has made; started by tests/nested.rs.
#
#   nested-uml.sh FOLDER BYTES ARRAY...
#
# An ARRAY is `NAME=DEVICE,DEVICE,…`, those below before those above; devices are ubda and so on, or names of earlier arrays. The last
# one holds the first BYTES of FOLDER/ours, which is compared; FOLDER/theirs is written over it. Prints what it found, line by line.
set -u
folder=$1 bytes=$2
shift 2
. "$(dirname "$0")/uml-must.sh"

number=10
for array; do
    name=${array%%=*} members=()
    for device in $(tr , ' ' <<<"${array#*=}"); do
        [ -e "/dev/$device" ] || device=$(cat "/run/number.$device")
        members+=("/dev/$device")
    done
    must mdadm --assemble "/dev/md$number" "${members[@]}"
    echo "md$number" >"/run/number.$name"
    stopping="/dev/md$number ${stopping-}"
    echo "$name: $(mdadm --detail "/dev/md$number" | sed -n 's/^ *State : \([a-z, ]*[a-z]\).*/\1/p'), $(mdadm --detail "/dev/md$number" |
        sed -n 's/^ *Name : \([^ ]*\).*/\1/p')"
    last=/dev/md$number
    number=$((number + 1))
done
cmp -n "$bytes" "$folder/ours" "$last" && echo "the data are equal"
must dd if="$folder/theirs" of="$last" bs=64k conv=fsync status=none
for device in $stopping; do
    check=/sys/block/${device#/dev/}/md/sync_action
    if [ -e "$check" ]; then
        echo check >"$check"
        while [ "$(cat "$check")" != idle ]; do sleep 0.1; done
        echo "mismatches $(cat "${check%sync_action}mismatch_cnt")"
    fi
done
for device in $stopping; do must mdadm --stop "$device"; done
echo "stopped"
