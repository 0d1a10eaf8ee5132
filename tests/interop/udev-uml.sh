#!/bin/bash
# Inside user-mode Linux: drives come one after the other, and the machine's udev, md's own rules and ours say what happens; started by
# tests/attach/udev.rs.
#
#   udev-uml.sh RAIDLOOM PACKAGING TANK_UUID IDLE_UUID
#
# RAIDLOOM is the program, PACKAGING the folder with the rule and the units. The drives are three members of `tank`, two of `other`, two
# of `idle`. Both `tank` and `other` are configured; mdadm.conf leaves `tank` and `idle` alone. Prints what happened, line by line.
set -u
raidloom=$1 packaging=$2 tank=$3 idle=$4
export RAIDLOOM_RUNTIME_DIR=/run/raidloom

. "$(dirname "$0")/uml-must.sh"

# /etc of its own.
must cp -a /etc /run/etc
must mount --bind /run/etc /etc
mkdir -p /etc/raidloom /etc/mdadm /etc/udev/rules.d /run/bin
printf 'HOMEHOST <ignore>\nARRAY <ignore> UUID=%s\nARRAY <ignore> UUID=%s\n' "$tank" "$idle" >/etc/mdadm/mdadm.conf

by_id=/dev/disk/by-id/drive-ubd
printf "assemble = true\nnbd = ['unix']\nstack = 'raid5(metadata=1.2, ${by_id}a, ${by_id}b, ${by_id}c)'\n" >/etc/raidloom/tank.toml
printf "assemble = true\nnbd = ['unix']\nstack = 'raid1(metadata=1.2, ${by_id}d, ${by_id}e)'\n" >/etc/raidloom/other.toml

# These drives have no serial numbers, from which udev makes such links elsewhere.
echo 'SUBSYSTEM=="block", KERNEL=="ubd*", SYMLINK+="disk/by-id/drive-%k"' >/etc/udev/rules.d/61-drives.rules
must cp "$packaging/90-raidloom.rules" /etc/udev/rules.d

# What systemd does when it is asked to: the server of a unit, once.
cat >/run/bin/systemctl <<END
#!/bin/sh
echo "systemctl \$*" >>/run/asked
[ "\$1" != reset-failed ] || exit 0
name=\${3#raidloom@}
exec $raidloom --quiet array start "\${name%.service}"
END
chmod 755 /run/bin/systemctl

/lib/systemd/systemd-udevd --daemon >/run/udevd.log 2>&1 || { cat /run/udevd.log >&2; exit 1; }

# A drive comes. The rest is what systemd does with what the rules say, when they are through.
comes() {
    local drive=$1 unit instance line
    must udevadm trigger --action=add --settle "/sys/block/$drive"
    for unit in $(udevadm info --query=property --name="/dev/$drive" | sed -n 's/^SYSTEMD_WANTS=//p'); do
        case $unit in raidloom-*) ;; *) continue ;; esac
        instance=${unit#*@}
        instance=${instance%.service}
        line=$(sed -n "s|^ExecStart=/usr/local/bin/raidloom|$raidloom|p" "$packaging/${unit%%@*}@.service")
        PATH=/run/bin:$PATH ${line//%i/$instance} 2>&1 | sed "s|^|$drive: |"
    done
}

for drive in ubda ubdb ubdc ubda ubdd ubde ubdf ubdg; do
    comes "$drive"
done
cat /run/asked
"$raidloom" array status --test tank >/run/status && echo "tank $(grep -o '\[U*\]' /run/status)"
echo "md has: $(sed -n 's/^md[0-9_a-z]* : [a-z]* \(([a-z-]*) \)\{0,1\}//p' /proc/mdstat)"
echo "servers: $("$raidloom" --json array status | sed -n 's/^    "name": "\(.*\)".*/\1/p')"

# What md's rule does with a drive, were there no line for it in mdadm.conf, while raidloom has it.
: >/etc/mdadm/mdadm.conf
for drive in ubda ubdb ubdc; do
    mdadm --incremental "/dev/$drive" >/dev/null 2>&1 && echo "md took $drive"
done
"$raidloom" array status --test tank >/run/status && echo "tank is left alone"
must "$raidloom" array stop tank
grep raidloom /run/udevd.log
echo end
