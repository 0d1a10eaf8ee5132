#!/bin/bash
# Inside user-mode Linux: fio on one disk, and then on md arrays over the disks.
#
#   bench-md.sh FOLDER
#
# FOLDER/arrays has a line for each array: NAME|options of mdadm --create, the devices among them
# FOLDER/loads has a line for each load: NAME|options of fio
# What fio says of a load goes to FOLDER/inside/NAME.LOAD, and FOLDER/inside/NAME-member.LOAD for the first disk just before.
set -u
folder=$1

measure() {
    local load options
    while IFS='|' read -r load options; do
        # shellcheck disable=SC2086
        fio --filename="$2" $options --output="$folder/inside/$1.$load" </dev/null || exit 1
    done <"$folder/loads"
}

while IFS='|' read -r name options; do
    measure "$name-member" /dev/ubda
    # shellcheck disable=SC2086
    mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --homehost=bench --name=bench $options </dev/null >/run/said 2>&1 || {
        cat /run/said >&2
        exit 1
    }
    measure "$name" /dev/md0
    # udev and fio may be slow to let go.
    for ((try = 0; try < 50; try++)); do
        mdadm --stop /dev/md0 </dev/null >/run/said 2>&1 && continue 2
        sleep 0.1
    done
    cat /run/said >&2
    exit 1
done <"$folder/arrays"
