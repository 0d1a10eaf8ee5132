#!/bin/bash
# Inside user-mode Linux: FAT, UDF and ISO 9660 on what raidloom attaches; started by tests/attach/uml.rs.
#
#   attach-uml.sh RAIDLOOM FSX SOURCE DISC
#
# RAIDLOOM and FSX are programs, SOURCE is a folder to copy, DISC the image of a disc that holds it. Prints what it found, line by line.
set -u
raidloom=$1 fsx=$2 source=$3 disc=$4
export RAIDLOOM_RUNTIME_DIR=/run/raidloom

. "$(dirname "$0")/uml-must.sh"

for module in fuse loop vfat udf isofs; do
    must modprobe -d /run/modules "$module"
done
# What devtmpfs has not made by itself.
[ -e /dev/fuse ] || mknod /dev/fuse c 10 229
[ -e /dev/loop-control ] || mknod /dev/loop-control c 10 237

drive() {
    local name=$1 stack=$2 point=/mnt/$1
    must "$raidloom" array start --attach --name "$name" "$stack"
    mkdir -p "$point"
    must "$raidloom" array mount "$name" "$point" --fs "$name"
    must cp -r "$source" "$point/copy"
    must "$fsx" "$point/fsx" --operations 200
    must "$raidloom" array umount "$name"
    if [ "$name" = vfat ]; then
        must fsck.vfat -n "$(losetup -n -O NAME -l | head -1)"
        echo "$name fsck clean"
    fi
    must "$raidloom" array mount "$name" "$point" --fs "$name"
    diff -r "$source" "$point/copy" >&2 && echo "$name equal"
    must "$raidloom" array umount "$name"
    must "$raidloom" array stop "$name"
}

drive vfat 'raid0(chunk=64KiB, ram:24MiB, ram:24MiB)'
# UDF as on a DVD-RAM.
drive udf 'linear(ram:24MiB?block=2048, ram:24MiB?block=2048)'

# A disc, which is there until it is unmounted and stopped; then another is in its place.
disc() {
    local name=$1 stack=$2
    must "$raidloom" array start --read-only --attach --name "$name" "$stack"
    must "$raidloom" array mount "$name" "/mnt/$name"
    echo "$name: $(sed -n "s|^/dev/[a-z0-9]* /mnt/$name \\([a-z0-9]*\\) \\(r[ow]\\),.*|\\1 \\2|p" /proc/mounts)"
    diff -r "$source" "/mnt/$name$3" >&2 && echo "$name equal"
    touch "/mnt/$name/new" 2>/dev/null || echo "$name takes no writes"
    "$raidloom" array stop "$name" >/dev/null 2>&1 || echo "$name stays while it is mounted"
    must "$raidloom" array umount "$name"
    must "$raidloom" array stop "$name"
}
mkdir -p /mnt/disc
disc disc "$disc?block=2048" ''
# The first MiB of it on a file of its own.
must dd if="$disc" of=/run/disc0 bs=1M count=1 status=none
must dd if="$disc" of=/run/disc1 bs=1M skip=1 status=none
disc disc 'linear(/run/disc0?block=2048, /run/disc1?block=2048)' ''
# One with UDF: written as a drive, and a disc from then on.
must truncate -s 32M /run/udf
must "$raidloom" array start --attach --name made '/run/udf?block=2048'
mkdir -p /mnt/made
must "$raidloom" array mount made /mnt/made --fs udf
must cp -r "$source" /mnt/made/copy
must "$raidloom" array umount made
must "$raidloom" array stop made
disc disc '/run/udf?block=2048' /copy
echo "left $(losetup -n -l | wc -l) loops, $(grep -c raidloom /proc/mounts) mounts"
