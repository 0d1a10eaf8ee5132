#!/bin/bash
# The first process inside user-mode Linux; started by uml.sh, which see. $ROOM is its folder on the host.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Terminals mangle line ends unless told not to.
for terminal in /dev/tty1 /dev/tty2 /dev/tty3; do
    stty -F "$terminal" raw -echo
done
exec </dev/null >/dev/tty1 2>/dev/tty2

. "$ROOM/settings"

mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /run
mount -t tmpfs none /mnt
mkdir -p /run/tmp /run/mdadm /run/modules/lib
ln -s "$modules" /run/modules/lib/modules
printf '#!/bin/sh\nexec modprobe -q -d /run/modules "$@"\n' >/run/modprobe
chmod 755 /run/modprobe
echo /run/modprobe >/proc/sys/kernel/modprobe

for place in "${writable[@]}"; do
    mount -t hostfs -o "$place" none "$place"
done

# Resync as fast as it goes: nothing else wants these disks.
/run/modprobe md-mod
echo 1000000 >/proc/sys/dev/raid/speed_limit_min
echo 2000000 >/proc/sys/dev/raid/speed_limit_max

MEMBERS=
for ((index = 0; index < member_count; index++)); do
    MEMBERS+=${MEMBERS:+ }/dev/ubd$(printf "\\x$(printf %x $((97 + index)))")
done
export MEMBERS TMPDIR=/run/tmp HOME=/run/tmp
cd "$folder" || cd /

# shellcheck disable=SC1090 # the test's own
[ -z "$first" ] || . "$script" "${arguments[@]}"
"$script" "${arguments[@]}"
status=$?

# A cut must find everything as the script left it, so nothing more is done here: uml.sh ends the machine.
if [ -z "$cut" ]; then
    sync
fi
echo "$status" >/dev/tty3
# Powering off is what tells the kernel to mark arrays clean.
[ -n "$cut" ] || echo o >/proc/sysrq-trigger
while :; do sleep 1; done
