#!/bin/bash
# Runs a script under the real Linux kernel, with md and file systems, on image files, without root and without /dev.
#
#   uml.sh [OPTION]... SCRIPT [IMAGE]... [-- ARGUMENT...]
#
#   -t SECONDS  how long the script may take, boot included (60)
#   -m SIZE     memory of the machine (256M)
#   -w FOLDER   a folder that the script may write; may be given several times
#   -d SOCKET   a vhost-user-blk disk, /dev/vda and so on; may be given several times
#   -c          cut the power when the script ends: nothing is synced, no array is stopped
#   -i          SCRIPT is read by the machine's first process, and takes its place: its end is that `echo CODE >/dev/tty3` and then the
#               machine is switched off. What it writes to is /dev/tty1 and /dev/tty2, and disks have serial numbers: DRIVE-a and so on
#   -v          the kernel's messages on stderr
#
# The kernel is user-mode Linux: an ordinary process that boots in a few seconds and ends with this script.
# Inside, SCRIPT runs as root from its own folder, with the arguments given after `--`. The images are /dev/ubda, /dev/ubdb, … in the
# order given and stand as a list in $MEMBERS; what is written to them is in the files afterwards. An image named `ro:FILE` takes no
# writes. The file tree is the host's own, read-only except for the folders of -w; /dev, /run and /mnt are the machine's own, and
# TMPDIR is /run/tmp. Kernel modules are loaded as they are asked for, so `mdadm --create` and `mount -t ext4` just work.
#
# The script's stdout, stderr and exit code are this script's own. Three codes are raidloom's:
#   124  the time was up; what was printed until then is shown
#   125  the machine could not start, or died before the script ended; the kernel's last messages are shown
#   126  wrong use: nothing was started
#
# UML_KERNEL and UML_MODULES name the kernel and its modules where Debian's package user-mode-linux is not in its usual place.
set -u

here=$(cd "$(dirname "$0")" && pwd)
kernel=${UML_KERNEL:-$(command -v linux.uml || echo /usr/bin/linux.uml)}
modules=${UML_MODULES:-/usr/lib/uml/modules}

refuse() {
    echo "uml.sh: $*" >&2
    exit 126
}

seconds=60 memory=256M verbose= cut= first= writable=() disks=()
while getopts t:m:w:d:civ option; do
    case $option in
        t) seconds=$OPTARG ;;
        m) memory=$OPTARG ;;
        w) writable+=("$(realpath -e -- "$OPTARG")") || refuse "$OPTARG is no folder" ;;
        d) disks+=("virtio_uml.device=$(realpath -- "$OPTARG"):2") ;;
        c) cut=1 ;;
        i) first=1 ;;
        v) verbose=1 ;;
        *) refuse "see the head of $0 for its options" ;;
    esac
done
shift $((OPTIND - 1))

[ $# -ge 1 ] || refuse "which script? see the head of $0"
[[ $seconds =~ ^[1-9][0-9]*$ ]] || refuse "-t takes whole seconds, not '$seconds'"
[[ $memory =~ ^[1-9][0-9]*[MG]$ ]] || refuse "-m takes a size like 256M, not '$memory'"
[ -x "$kernel" ] || refuse "$kernel is missing: apt-get install user-mode-linux"
[ -d "$modules" ] || refuse "$modules is missing: apt-get install user-mode-linux"
script=$(realpath -e -- "$1") || refuse "there is no script $1"
shift

images=() modes=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    file=${1#ro:} mode=
    [ "$file" = "$1" ] || mode=r
    image=$(realpath -e -- "$file") || refuse "there is no image $file"
    size=$(stat -c %s -- "$image")
    # The driver would round down without a word.
    [ $((size % 512)) = 0 ] || refuse "$file has $size bytes, which is no multiple of 512"
    images+=("$image") modes+=("$mode")
    shift
done
[ $# -gt 0 ] && shift
[ ${#images[@]} -le 16 ] || refuse "at most 16 images, not ${#images[@]}"

room=$(mktemp -d "${TMPDIR:-/tmp}/uml.XXXXXXXX") || refuse "no temporary folder"
# The guard outlives everything: whichever way this script ends, kill -9 included, it then ends the machine and removes the folder.
# It learns of the end by its pipe, and of the machine by what is said on it.
exec 4> >(exec setsid bash -c 'read -r machine; read -r; kill -KILL -- "-$machine"; rm -rf -- "$1"' guard "$room" >/dev/null 2>&1)
guard=$!
finish() {
    exec 4>&-
    wait "$guard"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# What the init inside has to know. Names with blanks or commas would not pass through the kernel's command line.
{
    printf 'script=%q folder=%q\n' "$script" "$PWD"
    printf 'modules=%q\n' "$modules"
    printf 'arguments=('
    [ $# = 0 ] || printf '%q ' "$@"
    printf ')\nwritable=('
    [ ${#writable[@]} = 0 ] || printf '%q ' "${writable[@]}"
    printf ')\n'
    printf 'member_count=%d cut=%s first=%s\n' "${#images[@]}" "$cut" "$first"
} >"$room/settings"
cp -- "$here/uml-init.sh" "$room/init"
chmod 755 "$room/init"

for index in "${!images[@]}"; do
    letter=$(printf "\\x$(printf %x $((97 + index)))")
    ln -s -- "${images[index]}" "$room/$letter"
    disks+=("ubd$letter${modes[index]}=$room/$letter${first:+,,DRIVE-$letter}")
done

: >"$room/stdout" >"$room/stderr" >"$room/console"
mkfifo "$room/status"

# A kernel that was built before there were registers that large needs help with them.
preload=
if grep -q -w amx_tile /proc/cpuinfo; then
    preload=$room/registers.so
    registers=$here/../../crates/guest/src/inside/registers.c
    cc -shared -fPIC -O2 -o "$preload" "$registers" || refuse "$registers does not compile"
fi

# Descriptors 6 to 9 are the machine's four terminals: kernel, stdout, stderr, exit code. A process group of its own is what it is
# killed by: it consists of many processes.
LD_PRELOAD=$preload setsid "$kernel" "mem=$memory" rootfstype=hostfs rootflags=/ ro \
    "init=$room/init" "uml_dir=$room/" "ROOM=$room" "${disks[@]}" \
    con=null con0=null,fd:6 con1=null,fd:7 con2=null,fd:8 con3=null,fd:9 \
    </dev/null >"$room/boot" 2>&1 4>&- 6>>"$room/console" 7>>"$room/stdout" 8>>"$room/stderr" 9>"$room/status" &
machine=$!
echo "$machine" >&4
disown "$machine"
exec 3<"$room/status"

status=
read -r -t "$seconds" -u 3 status
answered=$?

if [[ $status =~ ^[0-9]+$ ]]; then
    # Powering off stops the arrays and writes what is cached. The pipe ends with the last process that has it.
    if [ -z "$cut" ]; then
        read -r -t 60 -u 3
        [ $? -le 128 ] || { echo "uml.sh: the machine did not halt within 60 s after its script ended" >&2; status=125; }
    fi
elif [ $answered -gt 128 ]; then
    echo "uml.sh: $script did not end within $seconds s" >&2
    status=124
else
    echo "uml.sh: the machine died before $script ended; its last messages:" >&2
    tail -q -n 60 -- "$room/boot" "$room/console" >&2
    status=125
fi
kill -KILL -- "-$machine" 2>/dev/null
# Nothing writes to the images once the pipe has ended.
while read -r -u 3; do :; done

cat -- "$room/stdout"
cat -- "$room/stderr" >&2
[ -z "$verbose" ] || cat -- "$room/console" >&2
exit "$status"
