#!/bin/bash
# Inside user-mode Linux: FAT and UDF on what raidloom attaches; started by tests/attach/uml.rs.
#
#   attach-uml.sh RAIDLOOM FSX SOURCE
#
# RAIDLOOM and FSX are programs, SOURCE is a folder to copy. Prints what it found, line by line.
set -u
raidloom=$1 fsx=$2 source=$3
export RAIDLOOM_RUNTIME_DIR=/run/raidloom

. "$(dirname "$0")/uml-must.sh"

for module in fuse loop vfat udf; do
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
echo "left $(losetup -n -l | wc -l) loops, $(grep -c raidloom /proc/mounts) mounts"
