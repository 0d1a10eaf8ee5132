#!/bin/bash
# What a machine does once it has started, by systemd; see reboot-uml.sh and tests/it/reboot.rs.
#
#   reboot-task.sh FOLDER FILES
#
# FOLDER/todo has what is to be done, a word a line; FILES is a folder that is copied. The array `tank` is raidloom's, on the drives b to
# e; `vault` is the kernel's, on f to i.
set -u
folder=$1 files=$2
cd "$folder" || exit 1

. "$(dirname "$0")/uml-must.sh"

# Started is a machine that has nothing left to start. What waits for a drive is left to do until systemd gives it up. What failed and is
# tried again in a moment has no job meanwhile: it is "activating".
for ((tries = 0; tries < 1500; tries++)); do
    left=$(systemctl --no-legend list-jobs && systemctl --no-legend --plain list-units --state=activating,reloading)
    [ -n "$left" ] || break
    sleep 0.2
done
[ -z "$left" ] || echo "still to be done: $left" >&2
case $(systemctl show --property=NRestarts --value raidloom@tank.service) in
    0 | '') ;;
    *) echo "raidloom@tank was tried again:" >&2 && journalctl --boot --no-pager --unit='raidloom*' >&2 ;;
esac

drives() { printf '/dev/disk/by-id/ubd-DRIVE-%s\n' "$@"; }

choose_for() {
    local name=$1
    shift
    # shellcheck disable=SC2046 # names without blanks
    must raidloom choose $(drives "$@") --work own.toml --survive 0 --file-system ext4 -o "run-$name"
}

vault=(--do=mdadm --name vault --mount /srv/vault --erase-signature --erase=DRIVE-{f,g,h,i})

# What is in a mounted file system, and what of the array.
look() {
    local name=$1
    if ! mountpoint -q "/srv/$name"; then
        echo "$name: not mounted"
        journalctl --boot --no-pager --lines=200 >&2
        systemctl --no-pager --full status "srv-$name.mount" >&2
        cat /etc/fstab >&2
        return
    fi
    [ "$(findmnt -n -o FSTYPE "/srv/$name")" = ext4 ] || echo "$name: no ext4"
    diff -r "$files" "/srv/$name/files" >&2 && echo "$name: the files are there"
}

while read -r what <&3; do
    case $what in
        choose)
            choose_for tank b c d e
            choose_for vault f g h i
            ;;
        # The last of md's commands fails, and all of them are taken back.
        fail)
            cp /etc/fstab /etc/mdadm/mdadm.conf /run
            mkdir -p /run/broken
            printf '#!/bin/sh\necho no luck >&2\nexit 1\n' >/run/broken/mount
            chmod 755 /run/broken/mount
            PATH=/run/broken:$PATH raidloom choose --from run-vault "${vault[@]}" 2>&1 >/dev/null | tee /dev/stderr |
                grep -o 'no luck; what was made is taken back'
            cmp /etc/fstab /run/fstab && cmp /etc/mdadm/mdadm.conf /run/mdadm.conf && [ ! -e /srv/vault ] && [ ! -e /dev/md/vault ] &&
                ! mdadm --examine $(drives f g h i) >&2 && echo "nothing of it is left"
            ;;
        make | make-by-script)
            must raidloom choose --from run-tank --do --mount /srv/tank --erase-signature --erase=DRIVE-{b,c,d,e}
            case $what in
                make) must raidloom choose --from run-vault "${vault[@]}" ;;
                *) must bash -e vault.sh ;;
            esac
            for name in tank vault; do must cp -r "$files" "/srv/$name/files"; done
            ;;
        look)
            look tank
            look vault
            raidloom array status --test tank >/run/status && echo "tank: every member is there"
            echo "md has: $(sed -n 's/^md[0-9_a-z]* : active \(([a-z-]*) \)\{0,1\}\(raid[0-9]*\) .*/\2/p' /proc/mdstat)," \
                "of $(grep -o 'ubd[a-z]\[' /proc/mdstat | sort | tr -d '\n[')"
            # Others' units are as the host's packages have them.
            echo "failed: $(systemctl --no-legend --plain --failed 'raidloom*' '*.mount' '*.device' 'mdadm*' 'mdmon*')"
            ;;
        take-down)
            must systemctl disable --now raidloom@tank.service
            must rm /etc/raidloom/tank.toml
            must umount /srv/vault
            must mdadm --stop /dev/md/vault
            sed -i /vault/d /etc/fstab /etc/mdadm/mdadm.conf
            ;;
        forget)
            must systemctl disable raidloom@tank.service
            sed -i /vault/d /etc/fstab
            ;;
    esac
done 3<todo
# A machine that is switched off in order writes down what it has; this one may be off before.
sync
echo done
