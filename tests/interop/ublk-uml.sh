#!/bin/bash
# Inside a machine whose kernel has ublk (user-mode Linux with the guests' kernel, or qemu.sh): an array as /dev/ublkbN; started by
# tests/attach/ublk.rs.
#
#   ublk-uml.sh [RAIDLOOM]
#
# RAIDLOOM is the program, if not that in the PATH. Prints what it found, line by line, `done` at the end.
set -u
raidloom=${1:-raidloom}
export RAIDLOOM_RUNTIME_DIR=/run/raidloom

. "$(dirname "$0")/uml-must.sh"

drive=/dev/ublkb0
queue=/sys/block/ublkb0/queue
members='/run/a.img /run/b.img /run/c.img'
stack="raid5(metadata=1.2, /run/a.img, /run/b.img, /run/c.img)"

start() { must "$raidloom" --quiet array start --attach=ublk --name tank "$@" "$stack"; }
server() { "$raidloom" --json array status tank | sed -n 's/^ *"process": \([0-9]*\).*/\1/p'; }
gone() { [ ! -e "$drive" ] && [ ! -e /dev/ublkc0 ] && ! grep -q ublk /proc/mounts && echo "$1: gone"; }
# Until a command succeeds, for half a minute.
until_so() {
    local try
    for ((try = 0; try < 300; try++)); do "$@" && return; sleep 0.1; done
    echo "not so: $*" >&2
    return 1
}

echo "check: $("$raidloom" --json check | grep -o 'ublk[^;]*takes that')"
# shellcheck disable=SC2086 # a list
must "$raidloom" --quiet array create tank --level 5 --size 64MiB --chunk 64KiB --assume-clean --member $members

# What the kernel learns of it.
start
echo "size $(blockdev --getsize64 $drive), blocks $(blockdev --getss $drive), read-only $(blockdev --getro $drive)"
echo "cache $(cat $queue/write_cache), fua $(cat $queue/fua), least $(blockdev --getiomin $drive), best $(blockdev --getioopt $drive)"
echo "discards $(cat $queue/discard_max_bytes), zeroes $(cat $queue/write_zeroes_max_bytes), longest $(cat $queue/max_hw_sectors_kb) KiB"
"$raidloom" --json array status tank | grep -A 3 '"attached"' | tr -d ' \n'; echo

# A file system on it, and whole blocks of every size past the page cache.
must mkfs.ext4 -q "$drive"
mkdir -p /mnt/tank
must mount "$drive" /mnt/tank
head -c 20000000 /dev/urandom >/run/data
must cp /run/data /mnt/tank/data
must sync
must umount /mnt/tank
must mount -o discard "$drive" /mnt/tank
for size in 512 3584 65536 1048576; do
    dd if=/mnt/tank/data bs="$size" iflag=direct status=none | cmp - /run/data && echo "equal in pieces of $size"
done
must cp /run/data /mnt/tank/other
must rm /mnt/tank/other
must fstrim /mnt/tank

# It stays as long as something uses it.
"$raidloom" array stop tank 2>&1 | grep -o 'it is mounted at /mnt/tank'
must umount /mnt/tank
fsck.ext4 -fn "$drive" >/dev/null 2>&1 && echo "fsck clean"
exec 5<"$drive"
"$raidloom" array stop tank 2>&1 | grep -o 'still has it open'
exec 5<&-

# A member fails, and comes back.
must mount "$drive" /mnt/tank
must "$raidloom" --quiet array fail tank 1
echo 3 >/proc/sys/vm/drop_caches
cmp /run/data /mnt/tank/data && echo "equal with a member missing"
must cp /run/data /mnt/tank/degraded
must "$raidloom" --quiet array remove tank 1
must "$raidloom" --quiet array add tank /run/b.img --wait
cmp /run/data /mnt/tank/degraded && echo "equal with the member back"
must umount /mnt/tank
must blkdiscard -z -o 1048576 -l 1048576 "$drive"
cmp -n 1048576 -i 1048576:0 "$drive" /dev/zero && echo "zeroes"
must "$raidloom" --quiet array stop tank
gone "stopped"

# Killed while a program writes to a file system: the program waits, and goes on with the next server.
start
must mkfs.ext4 -q "$drive"
must "$raidloom" --quiet array mount tank /mnt/tank
must cp /run/data /mnt/tank/before
must sync
process=$(server)
(for number in 1 2 3 4; do dd if=/run/data of="/mnt/tank/during$number" bs=64k conv=fsync status=none || echo "a write failed" >&2; done
    touch /run/written) &
until_so test -e /mnt/tank/during2 || exit 1
kill -9 "$process"
waits() { "$raidloom" --json array status 2>&1 | grep -q 'waits for the next one'; }
until_so waits && echo "it waits"
echo "other: $("$raidloom" array start --attach=ublk --name tank "raid1(/run/x.img?size=64MiB, /run/y.img?size=64MiB)" >/dev/null 2>&1 || echo refused)"
[ -e /run/written ] && echo "the program did not wait"
start
[ "$(server)" != "$process" ] && echo "another server"
until_so test -e /run/written || exit 1
for name in before during1 during2 during3 during4; do cmp /run/data "/mnt/tank/$name" && echo "$name equal"; done
echo "mounted: $("$raidloom" --json array status tank | grep -c '"/mnt/tank"')"
must "$raidloom" --quiet array umount tank
fsck.ext4 -fn "$drive" >/dev/null 2>&1 && echo "fsck clean"
must "$raidloom" --quiet array stop tank
gone "stopped after a kill"

# Killed and given up: whatever waits gets errors, and nothing is left.
start
must "$raidloom" --quiet array mount tank /mnt/tank
kill -9 "$(server)"
(dd if=/run/data of=/mnt/tank/lost bs=64k conv=fsync status=none 2>/dev/null || echo "an error"; touch /run/over) &
until_so "$raidloom" --quiet array stop tank || exit 1
until_so test -e /run/over || exit 1
gone "given up"

# What ends with its server waits for none.
must "$raidloom" --quiet array start --attach=ublk --name memory 'ram:16MiB'
kill -9 "$("$raidloom" --json array status memory | sed -n 's/^ *"process": \([0-9]*\).*/\1/p')"
until_so "$raidloom" --quiet array stop memory
gone "memory"

start --read-only
echo "read-only $(blockdev --getro $drive)"
dd if=/dev/zero of="$drive" bs=4k count=1 oflag=direct status=none 2>/dev/null || echo "a write is refused"
must "$raidloom" --quiet array stop tank
start --policy quick
echo "quick: cache $(cat $queue/write_cache)"
must "$raidloom" --quiet array stop tank
gone "at the end"
echo done
