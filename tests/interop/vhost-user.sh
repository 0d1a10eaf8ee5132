#!/bin/bash
# Inside user-mode Linux: the kernel's virtio_blk on a vhost-user disk of raidloom; started by tests/vhost_user.rs.
#
#   vhost-user.sh FOLDER
#
# The disk is /dev/vda; FOLDER has the data. Prints what it found, line by line, `done` at the end.
set -u
folder=$1

. "$(dirname "$0")/uml-must.sh"

must modprobe -d /run/modules virtio_blk
echo "size $(blockdev --getsize64 /dev/vda), cache $(cat /sys/block/vda/queue/write_cache), serial $(cat /sys/block/vda/serial)"
echo "blocks $(blockdev --getss /dev/vda) $(cat /sys/block/vda/queue/optimal_io_size)"
must mkfs.ext4 -q /dev/vda
mkdir /mnt/drive
must mount -t ext4 -o discard /dev/vda /mnt/drive
must cp -a /usr/bin/bash "$folder/data" /mnt/drive/
must sync
must rm /mnt/drive/bash
must fstrim /mnt/drive
must umount /mnt/drive
# Past the page cache, with requests of every size.
must mount -t ext4 /dev/vda /mnt/drive
for size in 512 3584 65536 1048576; do
    dd if=/mnt/drive/data bs="$size" iflag=direct status=none | cmp - "$folder/data" && echo "equal in pieces of $size"
done
must umount /mnt/drive
fsck.ext4 -fn /dev/vda >/dev/null 2>&1 && echo "fsck clean"
must blkdiscard -z -o 1048576 -l 1048576 /dev/vda
cmp -n 1048576 -i 1048576:0 /dev/vda /dev/zero && echo "zeroes"
dd if=/dev/vda of=/dev/null bs=512 skip=131071 count=2 status=none && echo "read to the end"
echo done
