#!/bin/bash
# Inside user-mode Linux: makes md arrays or takes over raidloom's, one after the other.
#
#   arrays.sh FOLDER
#
# FOLDER/jobs has a line for each array, with these fields between `|`:
#   what      make: mdadm makes it. take: its members are FOLDER/NAME.0, FOLDER/NAME.1, …
#   name      what the files and the lines that are printed are called by
#   devices   the members in the order of their roles; `missing` is one
#   content   the file that the array holds, or is to hold
#   skip      where in that file, in bytes
#   subsets   roles joined by `,`: with each such set left out, the array is started read-only and compared
#   options   for mdadm --create
# What is made is left in FOLDER/NAME.0, FOLDER/NAME.1, …
#
# Printed for each array, NAME before each: `size BYTES`; `mismatches COUNT` after a check of copies and parity; `content RESULT`;
# `without ROLES RESULT`. A result is `equal`, `refused` (the kernel does not start it) or what cmp says.
set -u
folder=$1
array=/dev/md0
name=

# Runs a command that has to work; what it says is of interest when it does not.
must() {
    local said
    said=$("$@" 2>&1 </dev/null) && return
    echo "$name: $*: $said" >&2
    cat /proc/mdstat >&2
    exit 1
}

# Past the cache of the device: md does not see what is in there.
copy() { must dd if="$1" of="$2" bs=256k "$3" conv=fsync status=none; }

settled() {
    local action try
    [ -e /sys/block/md0/md/sync_action ] || return 0
    for ((try = 0; try < 600; try++)); do
        action=$(cat /sys/block/md0/md/sync_action)
        [ "$action" != idle ] || return 0
        sleep 0.1
    done
    echo "$name: still at $action after a minute" >&2
    exit 1
}

compared() {
    local said
    if said=$(cmp -n "$(blockdev --getsize64 $array)" -i "$skip:0" "$content" $array 2>&1); then
        echo equal
    else
        echo "$said"
    fi
}

without() {
    local role index=0 left=()
    for role in $devices; do
        [[ $role = missing || ,$1, = *,$index,* ]] || left+=("$role")
        index=$((index + 1))
    done
    if mdadm --assemble --readonly --run $array "${left[@]}" >/run/said 2>&1; then
        echo "$name without $1 $(compared)"
        must mdadm --stop $array
    else
        echo "$name without $1 refused"
        mdadm --stop $array >/dev/null 2>&1 || true
    fi
}

make() {
    # shellcheck disable=SC2086
    must mdadm --create $array --run --metadata=1.2 --homehost=interop --name=array $options $devices
    local bytes
    bytes=$(blockdev --getsize64 $array)
    echo "$name size $bytes"
    must dd if="$content" of=$array bs=256k iflag=skip_bytes,count_bytes,fullblock skip="$skip" count="$bytes" conv=fsync status=none
    settled
    echo "$name content $(compared)"
    must mdadm --stop $array
    local device index=0
    for device in $devices; do
        [ "$device" = missing ] || copy "$device" "$folder/$name.$index" iflag=direct
        index=$((index + 1))
    done
}

take() {
    local device index=0 present=()
    for device in $devices; do
        if [ "$device" != missing ]; then
            copy "$folder/$name.$index" "$device" oflag=direct
            present+=("$device")
        fi
        index=$((index + 1))
    done
    must mdadm --assemble --run $array "${present[@]}"
    echo "$name size $(blockdev --getsize64 $array)"
    echo "$name content $(compared)"
    if [ -e /sys/block/md0/md/sync_action ] && [ "$(cat /sys/block/md0/md/degraded)" = 0 ]; then
        # What a resync is due for waits for a write, or for this.
        mdadm --readwrite $array >/dev/null 2>&1 || true
        settled
        echo check >/sys/block/md0/md/sync_action
        settled
        [ "$(cat /sys/block/md0/md/last_sync_action)" = check ] || { echo "$name: no check was made" >&2; exit 1; }
        echo "$name mismatches $(cat /sys/block/md0/md/mismatch_cnt)"
    fi
    must mdadm --stop $array
}

modprobe -d /run/modules raid0 default_layout=2
while IFS='|' read -r what name devices content skip subsets options; do
    $what
    for subset in $subsets; do
        without "$subset"
    done
done <"$folder/jobs"
