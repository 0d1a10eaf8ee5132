# For scripts inside user-mode Linux.

# Runs a command that has to work; what it says is of interest when it does not, and what the kernel and the servers said too.
must() {
    local said
    said=$("$@" 2>&1 </dev/null) && return
    echo "$*: $said" >&2
    cat /run/raidloom/*/log >&2 2>/dev/null
    dmesg | tail -20 >&2
    exit 1
}
