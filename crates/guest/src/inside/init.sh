#!/bin/sh
# The guest's first process: makes places to write to, does the job, says how it went, and switches
# the machine off. The host's tree is the root, and nothing in it can be written to.
export PATH=/mnt/own/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/mnt/tmp TMPDIR=/mnt/tmp LC_ALL=C OUT=/mnt/out DISK=/mnt/disk
here=/proc/self/cwd
# Before /proc is the guest's own.
if [ -d $here/before ]; then export BEFORE=/mnt/before; fi
mount -t tmpfs -o mode=755 none /mnt && mkdir /mnt/out /mnt/tmp /mnt/disk /mnt/own &&
    mount -t hostfs -o $here/out none /mnt/out &&
    mount -t hostfs -o $here/own none /mnt/own &&
    mount -t proc none /proc && mount -t sysfs none /sys &&
    mount -t devtmpfs none /dev && mount -t tmpfs -o mode=755 none /run ||
    echo 'the guest could not make itself at home' >/dev/console
if [ -n "$BEFORE" ]; then
    mkdir $BEFORE && mount -t hostfs -o $here/before,ro none $BEFORE ||
        echo 'the guest does not see what was before it' >/dev/console
fi
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/1 /dev/stdout
mkdir -p /dev/shm /run/lock
sh /mnt/own/job >/mnt/out/output 2>/mnt/out/errors </dev/null
status=$?
echo "$status $(date +%s%N)" >/mnt/own/status
/mnt/own/power-off
