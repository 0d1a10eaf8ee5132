#!/bin/bash
# Inside user-mode Linux: makes md arrays or takes over raidloom's, one after the other.
#
#   arrays.sh FOLDER
#
# FOLDER/jobs has a line for each array, with these fields between `|`:
#   what      make      mdadm makes it and fills it
#             take      raidloom made it: it is compared, and its copies and parity are checked
#             degrade   as make; then the members `gone` fail, and a part is written once more without them
#             mend      as take without `gone`; then new disks take their places, and all is checked and compared again
#             readmit   the same, but the old members come back, by the bitmap
#             reshape   as make, and then it is stopped in the middle of a reshape: `options` goes on with `|`, the devices that come, `|`
#                       and what mdadm --grow is told, in steps with `;` between them;
#                       the step `shrink N` is done without mdadm
#             format    mdadm makes it and mkfs.ext4 a file system, which gets the files of the folder `content`
#             mount     raidloom wrote it: its file system is checked, mounted and compared with the folder `content`
#   name      what the files and the lines that are printed are called by
#   devices   the members in the order of their roles
#   content   the file that the array holds, or is to hold
#   skip      where in that file, in bytes
#   subsets   roles joined by `,`: with each such set left out, the array is started read-only and compared
#   gone      roles joined by `,`; see above. `make` and `take` go without them
#   options   for mdadm --create; --metadata=1.2 unless they say another
# Members are the files FOLDER/NAME.0, FOLDER/NAME.1, …: there is what was made, or what is taken, and what became of it in the end.
#
# Printed for each array, NAME before each: `size BYTES`; `position SECTORS` of the reshape; `content RESULT`; `mismatches COUNT` after a check of copies and parity;
# `without ROLES RESULT`; `mended RESULT` after places were filled; `files RESULT` of a file system. A result is `equal`, `refused`
# (the kernel does not start it) or what the program says that found something else.
#
# Starting a program takes about as long as all that md does to a small array; so there are few of them here.
set -u
folder=$1
array=/dev/md0
md=/sys/block/md0/md
name=
mkfifo /run/never
exec 5<>/run/never

# Waits a moment, without a program.
moment() { read -r -t 0.02 -u 5 || true; }

# What a file of one line says, without a program.
value() { local line=; [ ! -r "$1" ] || read -r line <"$1"; echo "$line"; }

fail() {
    echo "$name: $*" >&2
    cat /proc/mdstat >&2
    exit 1
}

# Runs a command that has to work; what it says is of interest when it does not.
must() {
    local said
    said=$("$@" 2>&1 </dev/null) || fail "$*: $said"
}

# Past the cache of the device: md does not see what is in there.
copy() { must dd if="$1" of="$2" bs=8M "$3" conv=fsync status=none; }

is_gone() { [[ ,$gone, = *,$1,* ]]; }

# The devices in use are in `present`.
take_stock() {
    local device index=0
    present=()
    for device in $devices; do
        is_gone $index || present+=("$device")
        index=$((index + 1))
    done
}

# Copies the members to the machine's disks; with `all` also those that are gone.
fetch() {
    local device index=0
    for device in $devices; do
        if [ "${1-}" = all ] || ! is_gone $index; then
            copy "$folder/$name.$index" "$device" oflag=direct
        fi
        index=$((index + 1))
    done
}

# The same the other way.
leave() {
    local device index=0
    for device in $devices; do
        if [ "${1-}" = all ] || ! is_gone $index; then
            copy "$device" "$folder/$name.$index" iflag=direct
        fi
        index=$((index + 1))
    done
}

settled() {
    local action try
    [ -e $md/sync_action ] || return 0
    for ((try = 0; try < 3000; try++)); do
        read -r action <$md/sync_action
        [ "$action" != idle ] || return 0
        moment
    done
    fail "still at $action after a minute"
}

bytes() {
    local sectors
    read -r sectors </sys/block/md0/size
    echo $((sectors * 512))
}

compared() {
    local said
    if said=$(cmp -n "$(bytes)" -i "$skip:0" "$content" $array 2>&1); then
        echo equal
    else
        echo "$said"
    fi
}

# Whoever had the device open last may be slow to let go.
stop() {
    local try
    for ((try = 0; try < 3000; try++)); do
        [ -e $md ] || return 0
        echo clear 2>/dev/null >$md/array_state || true
        moment
    done
    fail "not stopped after a minute"
}

without() {
    local role index=0 left=()
    for role in $devices; do
        [[ ,$1, = *,$index,* ]] || left+=("$role")
        index=$((index + 1))
    done
    if mdadm --assemble --readonly --run $array "${left[@]}" >/run/said 2>&1; then
        echo "$name without $1 $(compared)"
        stop
    else
        echo "$name without $1 refused"
        stop
    fi
}

checked() {
    # What a resync is due for waits for a write, or for this.
    [ "$(value $md/array_state)" != read-auto ] || must mdadm --readwrite $array
    settled
    # A resync that was due and had not begun goes first, in the place of the check.
    local try
    for ((try = 0; try < 20; try++)); do
        echo check 2>/dev/null >$md/sync_action || true
        settled
        [ "$(value $md/last_sync_action)" != check ] || break
    done
    [ "$(value $md/last_sync_action)" = check ] || fail "no check was made"
    echo "$name mismatches $(value $md/mismatch_cnt)"
}

metadata() { [[ $options == *--metadata=* ]] || echo --metadata=1.2; }

create() {
    take_stock
    # shellcheck disable=SC2086
    must mdadm --create $array --run $(metadata) --homehost=interop --name=array $options "${present[@]}"
    echo "$name size $(bytes)"
}

fill() {
    must dd if="$content" of=$array bs=256k iflag=skip_bytes,count_bytes,fullblock skip="$skip" count="$(bytes)" conv=fsync status=none
    settled
}

make() {
    create
    fill
    echo "$name content $(compared)"
    stop
    leave
}

assemble() {
    take_stock
    must mdadm --assemble --run $array "${present[@]}"
    echo "$name size $(bytes)"
}

take() {
    fetch
    assemble
    echo "$name content $(compared)"
    if [ -e $md/sync_action ] && [ "$(value $md/degraded)" = 0 ]; then
        checked
    fi
    stop
}

degrade() {
    local all=$gone role disks
    read -ra disks <<<"$devices"
    gone=
    create
    fill
    for role in ${all//,/ }; do
        echo faulty >"$md/dev-${disks[role]#/dev/}/state"
    done
    # From 12 KiB on, three quarters of the array in blocks of 4 KiB, of what comes 16 MiB later in the file.
    must dd if="$content" of=$array bs=4k iflag=skip_bytes,fullblock skip=$((skip + (16 << 20))) seek=3 \
        count=$(($(bytes) * 3 / 4 / 4096)) conv=fsync,notrunc status=none
    stop
    leave all
    gone=$all
}

recovered() {
    local try
    for ((try = 0; try < 3000; try++)); do
        [ "$(value $md/degraded)" != 0 ] || break
        moment
    done
    settled
    [ "$(value $md/degraded)" = 0 ] || fail "still degraded after a minute"
    checked
    echo "$name mended $(compared)"
    stop
    leave all
}

# Adds the disks of those that are gone.
add() {
    local role disks added=()
    read -ra disks <<<"$devices"
    for role in ${gone//,/ }; do
        added+=("${disks[role]}")
    done
    must mdadm "$1" $array "${added[@]}"
}

mend() {
    fetch
    assemble
    echo "$name content $(compared)"
    add --add
    recovered
}

readmit() {
    fetch all
    assemble
    echo "$name content $(compared)"
    add --re-add
    recovered
}

# To fewer members, moving the data up by 1 MiB, without mdadm: it wants a backup file, and then says itself how far to go.
shrink() {
    local device offset
    echo backwards >$md/reshape_direction || fail "no way back"
    for device in $md/dev-*; do
        read -r offset <"$device/offset"
        echo $((offset + 2048)) >"$device/new_offset" || fail "$device: no new offset"
    done
    echo "$1" >$md/raid_disks || fail "not $1 members"
    echo reshape >$md/sync_action || fail "no reshape"
}

reshape() {
    local coming growth step steps try done
    IFS='|' read -r options coming growth <<<"$options"
    create
    fill
    # shellcheck disable=SC2086
    [ -z "$coming" ] || must mdadm --add $array $coming
    IFS=';' read -ra steps <<<"$growth"
    for step in "${steps[@]}"; do
        echo 1024 >$md/sync_max
        case $step in
            shrink*) shrink "${step#* }" ;;
            # shellcheck disable=SC2086
            *) must mdadm --grow $array $step ;;
        esac
    done
    for ((try = 0; try < 3000; try++)); do
        read -r done _ <$md/sync_completed
        [ "$done" != none ] && [ "$done" -ge 1024 ] && break
        moment
    done
    echo "$name position $(value $md/reshape_position)"
    stop
    devices+=" $coming"
    leave
}

format() {
    create
    must mkfs.ext4 -q $array
    must mount -t ext4 $array /mnt
    must cp -r "$content/." /mnt
    must umount /mnt
    settled
    stop
    leave
}

mount_it() {
    local said
    fetch
    assemble
    if said=$(e2fsck -fn $array 2>&1); then
        must mount -t ext4 -o ro $array /mnt
        said=$(diff -r -x lost+found "$content" /mnt 2>&1) && said=equal
        must umount /mnt
    fi
    echo "$name files ${said//$'\n'/; }"
    stop
}

modprobe -d /run/modules raid0 default_layout=2
while IFS='|' read -r what name devices content skip subsets gone options; do
    case $what in
        mount) mount_it ;;
        *) $what ;;
    esac
    for subset in $subsets; do
        without "$subset"
    done
done <"$folder/jobs"
