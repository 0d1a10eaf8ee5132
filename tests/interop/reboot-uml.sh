# Inside user-mode Linux: the first process becomes systemd, of the host's own files, on a tree that keeps what is changed in it; read by
# uml-init.sh for tests/it/reboot.rs.
#
#   reboot-uml.sh INSTALLED TASK ARGUMENT...
#
# INSTALLED is a folder that lies above the host's tree: what `make install` puts. What the machine writes to its tree is kept on its
# first drive (/dev/ubda, ext4), and is there when it is started again. TASK is a script that systemd runs when the machine has started;
# when it ends, the machine is switched off. Its output and its exit code are the machine's.
installed=$1 task=${*:2}
root=/mnt/root own=/run/own above=/run/installed

fail() {
    echo "reboot-uml.sh: $*" >&2
    echo 1 >/dev/tty3
    echo o >/proc/sysrq-trigger
    while :; do sleep 1; done
}

mkdir -p $own $root $above
# A mount of its own: layers of one tree may not overlap.
mount -t hostfs -o "$installed" none $above || fail "$installed"
/run/modprobe overlay && mount -t ext4 /dev/ubda $own && mkdir -p $own/upper $own/work || fail "no drive of the machine's own"
mount -t overlay -o "lowerdir=$above:/,upperdir=$own/upper,workdir=$own/work" root $root || fail "no tree"

# A machine as Debian's packages leave it, with none of the host's own configuration.
if [ ! -e $root/etc/machine-is-made ]; then
    units=$root/etc/systemd/system
    rm -rf "$units" $root/etc/rc?.d $root/etc/mdadm $root/etc/raidloom $root/etc/udev/rules.d $root/etc/modules-load.d $root/lib/modules
    mkdir -p "$units/multi-user.target.wants" "$units/systemd-udev-trigger.service.d" $root/etc/mdadm $root/etc/udev/rules.d
    ln -s "$modules" $root/lib/modules
    : >$root/etc/fstab
    printf 'HOMEHOST <system>\nMAILADDR root\n' >$root/etc/mdadm/mdadm.conf
    echo 0123456789abcdef0123456789abcdef >$root/etc/machine-id
    # What udev's own rules have for other kinds of drives.
    echo 'SUBSYSTEM=="block", KERNEL=="ubd*", ATTR{serial}=="?*", SYMLINK+="disk/by-id/ubd-$attr{serial}"' \
        >$root/etc/udev/rules.d/61-drives.rules
    # It starts from no initramfs.
    printf '#!/bin/sh\necho "update-initramfs $*" >>/run/asked\n' >$root/usr/sbin/update-initramfs
    chmod 755 $root/usr/sbin/update-initramfs
    # What costs time and is not about drives.
    for unit in dbus.service dbus.socket getty.target systemd-logind.service systemd-timesyncd.service systemd-journal-flush.service \
        systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-firstboot.service systemd-update-utmp.service \
        systemd-update-utmp-runlevel.service systemd-tmpfiles-clean.timer; do
        ln -s /dev/null "$units/$unit"
    done
    printf '[Service]\nExecStart=\nExecStart=udevadm trigger --type=all --subsystem-match=block --action=add\n' \
        >"$units/systemd-udev-trigger.service.d/block.conf"
    # On a busy host drives take longer to be found than systemd waits for them.
    mkdir -p $root/etc/systemd/system.conf.d
    printf '[Manager]\nDefaultDeviceTimeoutSec=500\nDefaultTimeoutStartSec=500\n' >$root/etc/systemd/system.conf.d/busy.conf
    ln -s /lib/systemd/system/multi-user.target "$units/default.target"
    cat >"$units/task.service" <<END
[Unit]
After=multi-user.target
[Service]
Type=exec
ExecStart=/bin/bash -c '/bin/bash $task; echo \$\$? >/dev/tty3; systemctl --no-block poweroff'
StandardOutput=file:/dev/tty1
StandardError=file:/dev/tty2
END
    ln -s ../task.service "$units/multi-user.target.wants/task.service"
    echo machine >$root/etc/hostname
    # It empties /tmp when it starts.
    mkdir -p $root/etc/tmpfiles.d
    ln -s /dev/null $root/etc/tmpfiles.d/tmp.conf
    : >$root/etc/machine-is-made
fi
# In the host's own, other tests mount what may not answer, or is unmounted only while nobody looks at it.
mount -t tmpfs none $root/tmp || fail "no /tmp"
for place in "${writable[@]}"; do
    mkdir -p "$root$place" && mount --bind "$place" "$root$place" || fail "$place"
done
mount -t devtmpfs none $root/dev || fail "no /dev"
echo /sbin/modprobe >/proc/sys/kernel/modprobe
umount /proc /sys
exec env -i PATH="$PATH" switch_root $root /lib/systemd/systemd
