#!/bin/bash
# Runs a script as root under another real Linux kernel, emulated by QEMU, on programs of the host.
#
#   qemu.sh [-t SECONDS] KERNEL SCRIPT FILE...
#
# KERNEL is a folder into which Debian's package of a kernel (linux-image-…) was unpacked with `dpkg-deb -x`. SCRIPT runs from /, where each
# FILE lies too, under its own name; programs among them, and those that are named below, are in the PATH with their libraries. Nothing else is
# there but the modules that are named below, and nothing of the machine outlives it.
#
# The script's output is this script's own, and so is its exit code; 124 where the time was up, 125 where the machine died, then the
# kernel's last messages are shown.
set -u

programs='bash sh mount umount mkdir rm cp ls ln cat dd cmp touch head tail tr wc stat seq sleep sync env dirname chmod chown grep sed dmesg
    modprobe mkfs.ext4 fsck.ext4 fstrim blkdiscard blockdev setpriv udevadm'
modules=ublk_drv
seconds=300
while getopts t: option; do
    case $option in
        t) seconds=$OPTARG ;;
        *) exit 126 ;;
    esac
done
shift $((OPTIND - 1))
kernel=$1 script=$2
shift
version=$(ls "$kernel/usr/lib/modules")
room=$(mktemp -d "${TMPDIR:-/tmp}/qemu.XXXXXXXX") || exit 126
trap 'rm -rf -- "$room"' EXIT
tree=$room/tree
mkdir -p "$tree"/{bin,proc,sys,dev,run,tmp,mnt,root,etc/udev/rules.d,lib/udev/rules.d,"lib/modules/$version"}

# A program with its libraries.
take() {
    local library
    cp -L -- "$1" "$tree/bin/"
    ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$tree$(dirname "$library")"
        cp -nL -- "$library" "$tree$library"
    done
}
for program in $programs; do
    path=$(command -v "$program") || { echo "qemu.sh: $program is missing" >&2; exit 126; }
    take "$path"
done
for file in "$@"; do
    if head -c 4 -- "$file" | grep -q ELF; then take "$file"; else cp -- "$file" "$tree/"; fi
done
for module in $modules; do
    find "$kernel/usr/lib/modules/$version" -name "$module.ko*" -exec cp -t "$tree/lib/modules/$version" {} +
done
cp "$kernel/usr/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} "$tree/lib/modules/$version/"
depmod -b "$tree" "$version"
echo 'root:x:0:0::/root:/bin/bash' >"$tree/etc/passwd"
cat >"$tree/init" <<END
#!/bin/bash
export PATH=/bin HOME=/root TMPDIR=/run/tmp
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
for place in /run /tmp /mnt; do mount -t tmpfs none \$place; done
mkdir -p -m 1777 /run/tmp
chmod 1777 /tmp
ln -s /proc/self/fd /dev/fd
for module in $modules; do modprobe \$module; done
bash /${script##*/} </dev/null >/dev/ttyS1 2>/dev/ttyS2
printf %s \$? >/dev/ttyS3
sync
echo o >/proc/sysrq-trigger
sleep 60
END
chmod 755 "$tree/init"

# An archive as the kernel unpacks it: `newc` of cpio.
number=0
pad() { head -c $(((4 - $1 % 4) % 4)) /dev/zero; }
entry() {
    local name=$1 mode=$2 content=$3 size=0
    [ -z "$content" ] || size=$(stat -c %s -- "$content")
    number=$((number + 1))
    printf 070701
    printf %08x "$number" "$mode" 0 0 1 0 "$size" 0 0 0 0 $((${#name} + 1)) 0
    printf '%s\0' "$name"
    pad $((110 + ${#name} + 1))
    [ -z "$content" ] || { cat -- "$content"; pad "$size"; }
}
(
    cd "$tree" || exit 1
    find . -mindepth 1 -printf '%P\n' | sort | while read -r name; do
        mode=0x$(stat -c %f -- "$name")
        if [ -d "$name" ]; then entry "$name" "$mode" ''; else entry "$name" "$mode" "$name"; fi
    done
    entry 'TRAILER!!!' 0 ''
) >"$room/archive"
rm -rf -- "$tree"

: >"$room/code"
# Bytes as they are: the terminals of the machine mangle no line ends.
timeout "$seconds" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 2G -nodefaults -display none -no-reboot \
    -kernel "$kernel"/boot/vmlinuz-* -initrd "$room/archive" -append 'console=ttyS0 panic=-1 quiet' \
    -serial "file:$room/console" -serial "file:$room/stdout" -serial "file:$room/stderr" -serial "file:$room/code" </dev/null
ended=$?
tr -d '\r' <"$room/stdout"
tr -d '\r' <"$room/stderr" >&2
code=$(cat "$room/code")
[ $ended != 124 ] || exit 124
[ -n "$code" ] || { tail -n 40 "$room/console" >&2; exit 125; }
exit "$code"
