//! The names of the axes in plans and records.

pub(crate) const MEMBERS: &str = "members";
pub(crate) const LEVEL: &str = "level";
pub(crate) const CHUNK: &str = "chunk";
pub(crate) const CACHE: &str = "cache";
pub(crate) const FILE_SYSTEM: &str = "file_system";
pub(crate) const MAKE_OPTIONS: &str = "make_options";
pub(crate) const MOUNT_OPTIONS: &str = "mount_options";
pub(crate) const POLICY: &str = "policy";
/// What carries the file system instead of the device: an image, a file of an outer file system.
pub(crate) const IMAGE: &str = "image";
pub(crate) const IMAGE_SIZE: &str = "image_size";
/// Whether what goes to an image passes the page cache of the outer file system by.
pub(crate) const IMAGE_IO: &str = "image_io";
pub(crate) const OUTER_FILE_SYSTEM: &str = "outer_file_system";
pub(crate) const OUTER_MAKE_OPTIONS: &str = "outer_make_options";
pub(crate) const OUTER_MOUNT_OPTIONS: &str = "outer_mount_options";
/// What an array is by its members: superblocks of a version, or nothing.
pub(crate) const METADATA: &str = "metadata";
pub(crate) const LAYOUT: &str = "layout";
/// What brings the members to agree after a crash.
pub(crate) const CONSISTENCY: &str = "consistency";
/// What a bit of the write-intent bitmap covers.
pub(crate) const BITMAP: &str = "bitmap";
/// How long a member may take for an answer.
pub(crate) const MEMBER_TIMEOUT: &str = "member_timeout";
pub(crate) const UPKEEP: &str = "upkeep";
/// Where the work is done: on this machine, or in a guest on modelled disks.
pub(crate) const PLACE: &str = "place";
/// Whose array it is, in a guest: raidloom's, or the guest's own md.
pub(crate) const ARRAY: &str = "array";
/// How many processors the work may run on.
pub(crate) const PROCESSORS: &str = "processors";
/// A guest's kernel, by its name.
pub(crate) const KERNEL: &str = "kernel";
/// A guest's memory, its page cache included.
pub(crate) const MEMORY: &str = "memory";
pub(crate) const SCHEDULER: &str = "scheduler";
pub(crate) const READ_AHEAD: &str = "read_ahead";
/// The longest request that a guest's disk is given.
pub(crate) const MAX_REQUEST: &str = "max_request";
/// The most requests that a guest's disk is given at a time.
pub(crate) const QUEUE_DEPTH: &str = "queue_depth";
/// What a request and its bytes cost the processor of a guest, where its suite is one that loads
/// devices.
pub(crate) const PROCESSOR: &str = "processor";
/// Whether writes may stay in the cache of a guest's disk until they are flushed.
pub(crate) const WRITE_CACHE: &str = "write_cache";
/// A guest's disks are no larger than this.
pub(crate) const DISK_SIZE: &str = "disk_size";
/// Whether all members of a guest's array are there.
pub(crate) const STATE: &str = "state";
/// Every axis there is, in the order in which they are shown.
pub(crate) const AXES: [&str; 33] = [
    MEMBERS,
    LEVEL,
    CHUNK,
    PLACE,
    ARRAY,
    LAYOUT,
    METADATA,
    CONSISTENCY,
    BITMAP,
    MEMBER_TIMEOUT,
    CACHE,
    UPKEEP,
    FILE_SYSTEM,
    MAKE_OPTIONS,
    MOUNT_OPTIONS,
    POLICY,
    IMAGE,
    IMAGE_SIZE,
    IMAGE_IO,
    OUTER_FILE_SYSTEM,
    OUTER_MAKE_OPTIONS,
    OUTER_MOUNT_OPTIONS,
    PROCESSORS,
    KERNEL,
    MEMORY,
    PROCESSOR,
    SCHEDULER,
    READ_AHEAD,
    MAX_REQUEST,
    QUEUE_DEPTH,
    WRITE_CACHE,
    DISK_SIZE,
    STATE,
];

/// What the axis over a setting of a suite is called: as the setting, unless arrays have an axis of
/// that name.
pub(crate) fn axis_name(setting: &str) -> String {
    if AXES.contains(&setting) { format!("workload.{setting}") } else { setting.to_owned() }
}

/// Whether an axis is over a setting of suites.
pub(crate) fn is_of_suites(axis: &str) -> bool {
    !AXES.contains(&axis)
}
