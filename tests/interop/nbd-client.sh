#!/bin/bash
# Inside user-mode Linux: the kernel's nbd client on exports of raidloom; started by tests/nbd.rs.
#
#   nbd-client.sh SERVER FOLDER
#
# SERVER is the test program that serves; FOLDER has the data. Prints what it found, line by line, `done` at the end.
set -u
server=$1 folder=$2 socket=/run/nbd.sock

. "$(dirname "$0")/uml-must.sh"

coproc server { NBD_FOLDER=/run "$server" --exact nbd::child_serves_the_kernel --ignored --nocapture 2>&1; }
# The shell closes its own ends when the server has gone: what the server said last is read from a copy. What it hears ends with
# the shell's only end of it.
exec {answers}<&"${server[0]}"
questions=${server[1]}
while read -r -u "$answers" line && [[ $line != *ready ]]; do
    printf '%s\n' "$line" >&2
done

must modprobe -d /run/modules nbd nbds_max=4
attach() { must nbd-client -unix "$socket" "$1" -N "$2" "${@:3}"; }

attach /dev/nbd0 drive -connections 2
echo "drive size $(blockdev --getsize64 /dev/nbd0)"
echo "drive cache $(cat /sys/block/nbd0/queue/write_cache), read-only $(cat /sys/block/nbd0/ro)"
must mkfs.ext4 -q /dev/nbd0
mkdir /mnt/drive
must mount -t ext4 -o discard /dev/nbd0 /mnt/drive
must cp -a /usr/bin/gcc "$folder/data" /mnt/drive/
must sync
must rm /mnt/drive/gcc
must fstrim /mnt/drive
must umount /mnt/drive
must mount -t ext4 /dev/nbd0 /mnt/drive
cmp "$folder/data" /mnt/drive/data && echo "drive files equal"
must umount /mnt/drive
fsck.ext4 -fn /dev/nbd0 >/dev/null 2>&1 && echo "drive fsck clean"
must nbd-client -d /dev/nbd0

attach /dev/nbd1 quick
echo "quick size $(blockdev --getsize64 /dev/nbd1)"
echo "quick cache $(cat /sys/block/nbd1/queue/write_cache)"
must dd if="$folder/data" of=/dev/nbd1 bs=1M oflag=direct status=none
cmp -n "$(stat -c %s "$folder/data")" "$folder/data" /dev/nbd1 && echo "quick data equal"
must nbd-client -d /dev/nbd1

attach /dev/nbd2 read-only
echo "read-only $(cat /sys/block/nbd2/ro)"
dd if="$folder/data" of=/dev/nbd2 bs=4096 count=1 oflag=direct 2>/dev/null || echo "read-only writes refused"
must nbd-client -d /dev/nbd2

exec {questions}>&-
while read -r -u "$answers" line; do
    [[ $line == server\ * ]] && echo "$line"
done
echo done
