#!/bin/bash
# Makes the golden files of crates/array/tests/golden/md: what the kernel's md and mdadm write, for arrays of every kind.
#
#   golden.sh FOLDER [RECIPE...]
#
# One boot of user-mode Linux for each recipe. A golden file holds the recipe, and for each member its size, what `mdadm --examine`
# says of it, and the bytes of its first 16 KiB (for version 1.0 its last, for 0.90 those from the superblock on), as `od` prints
# them: `*` repeats the line before.
# The recipe `places` makes a table of what mdadm chooses for members of many sizes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# name | sizes of the members in KiB | how the script ends: halt or cut | what mdadm and the kernel do
recipes() {
    cat <<'END'
linear            | 8192 10304 9216             | halt | create linear --rounding=64
raid0-unequal     | 8256 16384 12288            | halt | create 0 --chunk=64
raid0-equal       | 12288 12288                 | halt | create 0 --chunk=16
raid1             | 10240 10240                 | halt | create 1
raid1-bitmap      | 16384 16384                 | halt | create 1 --bitmap=internal --bitmap-chunk=64K
raid1-spare       | 10240 10240 10240           | halt | create 1 --raid-devices=2 --spare-devices=1
raid1-missing     | 10240 10240                 | halt | MEMBERS="$1 missing $2"; create 1
raid1-write-mostly| 10240 10240                 | halt | MEMBERS="$1 --write-mostly $2"; create 1 --raid-devices=2
raid1-version-1.0 | 10240 10240                 | halt | version=1.0; create 1
raid1-version-1.1 | 10240 10240                 | halt | version=1.1; create 1 --bitmap=internal
raid1-bad-blocks  | 10240 10240                 | halt | create 1; bad_blocks $1 100 8; bad_blocks $1 3000 1; write; sleep 1
raid4             | 10240 10240 10240           | halt | create 4 --chunk=64
raid5             | 10240 10240 10240           | halt | create 5
raid5-four        | 8192 8192 8192 8192         | halt | create 5 --chunk=32 --layout=right-asymmetric
raid5-bitmap      | 10240 10240 10240           | halt | create 5 --bitmap=internal --bitmap-chunk=8K --chunk=64
raid5-ppl         | 20480 20480 20480           | halt | create 5 --consistency-policy=ppl --chunk=64; write
raid5-ppl-cut     | 20480 20480 20480           | cut  | create 5 --consistency-policy=ppl --chunk=64; write
raid5-dirty       | 10240 10240 10240           | cut  | create 5 --chunk=64; write
raid5-bitmap-dirty| 10240 10240 10240           | cut  | create 5 --chunk=64 --bitmap=internal --bitmap-chunk=16K; write
raid5-failed      | 10240 10240 10240           | halt | create 5 --chunk=64; mdadm /dev/md0 --fail $2; write
raid5-dirty-failed| 10240 10240 10240           | cut  | create 5 --chunk=64; mdadm /dev/md0 --fail $2; write
raid5-rebuilding  | 10240 10240 10240 10240     | halt | create 5 --chunk=64 --raid-devices=3 --spare-devices=1; stop_at 4096; mdadm /dev/md0 --fail $2; get_there
raid5-journal     | 12288 12288 12288 16384     | halt | MEMBERS="$1 $2 $3 --write-journal $4"; create 5 --raid-devices=3
raid5-reshape     | 20480 20480 20480 20480     | cut  | create 5 --chunk=64 --raid-devices=3 --spare-devices=1; stop_at 2048; mdadm --grow /dev/md0 -n4; get_there
raid6             | 8192 8192 8192 8192         | halt | create 6 --chunk=64
raid6-asymmetric  | 8192 8192 8192 8192 8192    | halt | create 6 --chunk=64 --layout=left-asymmetric
raid6-ddf         | 8192 8192 8192 8192         | halt | create 6 --chunk=64 --layout=ddf-N-continue
version-0.90-raid1 | 10300 10300                | halt | version=0.90; create 1
version-0.90-raid5 | 10240 10240 10240 10240    | cut  | version=0.90; create 5 --chunk=64 --bitmap=internal --raid-devices=3 --spare-devices=1; mdadm /dev/md0 --fail $2; write
version-0.90-raid10| 8192 8192 8192             | halt | version=0.90; create 10 --chunk=64
version-0.90-linear| 8192 10304                 | halt | version=0.90; create linear --rounding=64
raid10-near       | 8192 8192 8192              | halt | create 10 --chunk=64
raid10-far        | 8192 8192 8192              | halt | create 10 --chunk=64 --layout=f2
raid10-offset     | 8192 8192 8192 8192         | halt | create 10 --chunk=64 --layout=o2 --bitmap=internal
END
}

# Around every step of mdadm's rules, up to 1 TiB.
place_sizes="12288 65536 262144 524288 1048576 2097152 4194304 8388608 8388624 10485760 67108864 104857600 134217728 209715200 209715264 1073741824"

# Inside the machine: what the recipes are made of.
version=1.2
create() {
    local level=$1 count
    shift
    # Without --raid-devices, as many as are named.
    count=$(set -- $MEMBERS && echo $#)
    case " $*" in *" --raid-devices="*) ;; *) set -- --raid-devices="$count" "$@" ;; esac
    mdadm --create /dev/md0 --run --metadata="$version" --homehost=golden --name=array --level="$level" "$@" $MEMBERS
    case $level in linear | 0) ;; *) mdadm --wait /dev/md0 || true ;; esac
}
write() { dd if=/dev/zero of=/dev/md0 bs=4k count=1 seek=80 oflag=direct status=none; }
bad_blocks() { echo "$2 $3" >"/sys/block/md0/md/dev-${1#/dev/}/bad_blocks"; }
stop_at() { echo "$1" >/sys/block/md0/md/sync_max; }
get_there() {
    local done
    for ((try = 0; try < 100; try++)); do
        done=$(cut -d ' ' -f 1 /sys/block/md0/md/sync_completed)
        [ "$done" = none ] || [ "$done" -lt 1024 ] || return 0
        sleep 0.1
    done
    echo "the kernel never got there: $done" >&2
    return 1
}
# An integer of the superblock: its type for od, its offset.
field() { od -A n -t "$1" -j $((4096 + $2)) -N "${1#?}" "$device" | tr -d ' '; }
places() {
    local device level chunk consistency
    echo "# What mdadm chose for new members of these sizes; made by tests/interop/golden.sh."
    echo "# member KiB | level | chunk KiB | consistency | data_offset | data_size | size | bblog_offset, all in sectors"
    for device in $MEMBERS; do
        while read -r level chunk consistency options; do
            dd if=/dev/zero of="$device" bs=4096 count=4 conv=notrunc oflag=direct status=none
            [ "$chunk" = 0 ] || options+=" --chunk=$chunk"
            mdadm --create /dev/md0 --run --level="$level" ${options/DEVICE/$device} </dev/null >&2
            mdadm --stop /dev/md0 >&2
            echo "$(($(blockdev --getsize64 "$device") / 1024)) $level $chunk $consistency" \
                "$(field u8 128) $(field u8 136) $(field u8 80) $(field d4 188)"
        done <<'END'
linear 0 resync --raid-devices=1 --force DEVICE
0 64 resync --raid-devices=1 --force DEVICE
0 512 resync --raid-devices=1 --force DEVICE
1 0 resync --raid-devices=2 --bitmap=none DEVICE missing
1 0 bitmap --raid-devices=2 --bitmap=internal DEVICE missing
5 64 resync --raid-devices=2 --bitmap=none DEVICE missing
5 512 bitmap --raid-devices=2 --bitmap=internal DEVICE missing
10 512 bitmap --raid-devices=2 --bitmap=internal DEVICE missing
5 128 ppl --raid-devices=2 --consistency-policy=ppl DEVICE missing
END
    done
}

if [ "${1-}" = --inside ]; then
    what=$2
    set -- $MEMBERS
    # Such a kernel wants to know which layout the zones of an array without one have.
    modprobe -d /run/modules raid0 default_layout=2
    eval "$what"
    exit
fi

folder=$(realpath -m "${1:?"usage: golden.sh FOLDER [RECIPE...]"}")
shift
mkdir -p "$folder"
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

wanted() { [ "${#chosen[@]}" = 0 ] || case " ${chosen[*]} " in *" $1 "*) ;; *) return 1 ;; esac; }
chosen=("$@")

# Boots with new images of these sizes and does what is asked for; what it prints goes to a file.
boot() {
    local name=$1 sizes=$2 end=$3 what=$4 size options=(-t 600)
    rm -f "$room"/*
    images=()
    for size in $sizes; do
        images+=("$room/member$(printf %02d "${#images[@]}")")
        truncate -s "${size}K" "${images[-1]}"
    done
    [ "$end" = halt ] || options+=(-c)
    "$here/uml.sh" "${options[@]}" "$here/golden.sh" "${images[@]}" -- --inside "$what" </dev/null >"$room/out" 2>"$room/log" || {
        echo "$name failed:" >&2
        cat "$room/out" "$room/log" >&2
        exit 1
    }
}

while IFS='|' read -r name sizes end what; do
    name=${name// /} end=${end// /} what=${what# }
    wanted "$name" || continue
    boot "$name" "$sizes" "$end" "$what"
    {
        echo "# $what (then: $end)"
        for image in "${images[@]}"; do
            size=$(stat -c %s "$image")
            start=0
            case $name in
                *1.0) start=$((size - 16384)) ;;
                *0.90*) start=$((size / 65536 * 65536 - 65536)) ;;
            esac
            echo "member $size"
            TZ=UTC LC_ALL=C mdadm --examine "$image" 2>&1 | sed -e "s|$image|member|" -e 's/^/| /' -e 's/ *$//'
            od -A x -t x1 -j "$start" -N 16384 "$image"
        done
    } >"$folder/$name.txt"
    echo "$name"
done < <(recipes)

if wanted places; then
    boot places "$place_sizes" halt places
    cp "$room/out" "$folder/places.txt"
    echo places
fi
