#!/bin/bash
# Inside qemu.sh with a kernel that lets others than root make ublk devices: what they may do, and what a rule of udev is for; started by
# tests/attach/ublk.rs. Prints what it found, line by line, `done` at the end.
set -u
. /uml-must.sh

as() { setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/run/ann RAIDLOOM_RUNTIME_DIR=/run/ann/servers "$@"; }
gone() { [ ! -e /dev/ublkb0 ] && [ ! -e /dev/ublkc0 ] && [ ! -e /dev/ublkc1 ] && echo "$1: gone"; }
process() { as raidloom --json array status tank | sed -n 's/^ *"process": \([0-9]*\).*/\1/p'; }

mkdir -p /run/ann
chown 1000:1000 /run/ann
cd /run/ann || exit 1
(exec -a systemd-udevd udevadm --daemon) 2>/dev/null
stack='raid5(metadata=1.2, a.img, b.img, c.img)'
must as raidloom --quiet array create tank --level 5 --size 64MiB --chunk 64KiB --assume-clean --member a.img b.img c.img

echo "control is root's: $(as raidloom array start --attach=ublk --name tank "$stack" 2>&1 | grep -o 'Permission denied')"
chmod 666 /dev/ublk-control
echo "no rule: $(as raidloom array start --attach=ublk --name tank "$stack" 2>&1 | grep -o '/dev/ublkc0: it is root.*')"
[ -e /dev/ublkc0 ] && echo "left: $(as raidloom array status 2>&1 | grep -o 'root.s: a rule of udev' | head -1)"

printf '%s\n' 'KERNEL=="ublk-control", OWNER="1000"' 'KERNEL=="ublk[bc][0-9]*", OWNER="1000"' >/etc/udev/rules.d/99-ublk.rules
must udevadm control --reload
must udevadm trigger --settle
must as raidloom array status
gone "with a rule"

must as raidloom --quiet array start --attach=ublk --name tank "$stack"
echo "owner $(stat -c %u /dev/ublkb0), cache $(cat /sys/block/ublkb0/queue/write_cache)"
must as mkfs.ext4 -q /dev/ublkb0
as fsck.ext4 -fn /dev/ublkb0 >/dev/null 2>&1 && echo "fsck clean"
head -c 8000000 /dev/urandom >/run/data
must as dd if=/run/data of=/dev/ublkb0 bs=64k seek=16 oflag=direct iflag=fullblock conv=fsync status=none
cmp -n 8000000 -i 1048576:0 /dev/ublkb0 /run/data && echo "equal"
must as blkdiscard -o 1048576 -l 1048576 /dev/ublkb0
cmp -n 1048576 -i 1048576:0 /dev/ublkb0 /dev/zero && echo "discarded"
exec 5</dev/ublkb0
as raidloom array stop tank 2>&1 | grep -o 'still has it open'
exec 5<&-
must as raidloom --quiet array stop tank
gone "stopped"

# It waits for no other server.
must as raidloom --quiet array start --attach=ublk --name tank "$stack"
kill -9 "$(process)"
sleep 1
as dd if=/dev/ublkb0 of=/dev/null bs=4k count=1 iflag=direct status=none 2>/dev/null || echo "killed: an error"
must as raidloom --quiet array start --attach=ublk --name tank "$stack"
cmp -n 5000000 -i 3145728:2097152 /dev/ublkb0 /run/data 2>/dev/null && echo "equal after a kill"
must as raidloom --quiet array stop tank
gone "at the end"
echo done
