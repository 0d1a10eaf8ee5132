#!/bin/bash
# Inside user-mode Linux: cryptsetup and the kernel's dm-crypt on containers; started by tests/encrypted.rs.
#
#   luks-uml.sh FOLDER BYTES first|second
#
# The disks: ubda is a container of ours, ubdb to ubdd are cryptsetup's, ubde to ubdg make an array of ours with a container in it.
# FOLDER has the passphrase in `key`. First: ours hold FOLDER/ours.NAME, which is compared, cryptsetup makes its own, and FOLDER/theirs.NAME
# is written to all. Second: all hold FOLDER/ours.NAME. Prints what it found, line by line, `done` at the end.
set -u
folder=$1 bytes=$2 step=$3

. "$(dirname "$0")/uml-must.sh"

# There is no udev, which makes the links to volumes elsewhere.
export DM_DISABLE_UDEV=1
for module in dm-mod dm-crypt xts; do must modprobe -d /run/modules "$module"; done
[ -e /dev/mapper/control ] || { mkdir -p /dev/mapper && mknod /dev/mapper/control c 10 236; }

declare -A devices=([plain]=/dev/ubda [argon]=/dev/ubdb [long]=/dev/ubdc [old]=/dev/ubdd [array]=/dev/md10)
format() { must cryptsetup luksFormat -q --key-file "$folder/key" --pbkdf-force-iterations "$@"; }
if [ "$step" = first ]; then
    format 4 --type luks2 --pbkdf argon2id --pbkdf-memory 64 --pbkdf-parallel 1 "${devices[argon]}"
    format 1000 --type luks2 --pbkdf pbkdf2 --sector-size 4096 --key-size 256 "${devices[long]}"
    format 1000 --type luks1 "${devices[old]}"
fi
must mdadm --assemble /dev/md10 /dev/ubde /dev/ubdf /dev/ubdg
for name in plain argon long old array; do
    must cryptsetup open --key-file "$folder/key" "${devices[$name]}" "$name"
    echo "$name: $(cryptsetup status "$name" | sed -n 's/^ *cipher: *//p') by dm-crypt"
    if [ "$step" = second ] || [ "$name" = plain ] || [ "$name" = array ]; then
        cmp -n "$bytes" "$folder/ours.$name" "/dev/mapper/$name" && echo "$name: what raidloom wrote is read"
    fi
    [ "$step" = second ] || must dd if="$folder/theirs.$name" of="/dev/mapper/$name" bs=64k conv=fsync status=none
    must cryptsetup close "$name"
done
must mdadm --stop /dev/md10
echo done
