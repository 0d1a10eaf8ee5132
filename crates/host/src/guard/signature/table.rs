//! The marks that formats leave at fixed places, as data. Places and bytes are facts of the
//! formats, from their documents and headers; what libblkid knows is all among them.
//!
//! Marks of less than four bytes are in `weak.rs`, with what else has to fit.

/// Bytes that tell a format, wherever they stand at one of some places.
pub(super) struct Mark {
    /// What carries it.
    pub(super) name: &'static str,
    /// Where it stands, in bytes from the start, or before the end (see [`FROM_END`]).
    pub(super) places: &'static [u64],
    /// The bytes, in each form that there is: byte orders, versions.
    pub(super) forms: &'static [&'static [u8]],
}

const fn mark(name: &'static str, places: &'static [u64], forms: &'static [&'static [u8]]) -> Mark {
    Mark { name, places, forms }
}

/// The stores that raidloom keeps between two uses of them.
pub(super) const CACHE: &str = "cache of raidloom";
pub(super) const OVERLAY: &str = "overlay of raidloom";
pub(super) const TRACE: &str = "trace of raidloom";
/// 0xa92b4efc, little-endian.
pub(super) const MD_MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
/// Where swap's mark ends: the first page, whatever the page size of the machine that made it.
const PAGES: &[u64] = &[4096 - 10, 8192 - 10, 16384 - 10, 32768 - 10, 65536 - 10];
/// Where UFS has its superblock, and in it its mark.
const UFS: &[u64] = &[0x55c, 0x255c, 0x1_055c, 0x4_055c];

/// Marks at places from the start: file systems first, whose names say most.
pub(super) const FROM_START: &[Mark] = &[
    mark("XFS", &[0], &[b"XFSB"]),
    mark("btrfs", &[0x1_0040, 0x400_0040], &[b"_BHRfS_M"]),
    mark(
        "bcachefs or bcache",
        &[0x1018],
        &[
            &[
                0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba,
                0x6d, 0x81,
            ],
            &[
                0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d,
                0xf7, 0xef,
            ],
        ],
    ),
    mark("f2fs", &[0x400, 0x1400], &[&[0x10, 0x20, 0xf5, 0xf2]]),
    mark("JFS", &[0x8000], &[b"JFS1"]),
    mark("ReiserFS", &[0x1_0034, 0x2034], &[b"ReIsEr"]),
    mark("Reiser4", &[0x1_0000], &[b"ReIsEr4"]),
    mark("APFS", &[32], &[b"NXSB"]),
    mark("EROFS", &[0x400], &[&[0xe2, 0xe1, 0xf5, 0xe0]]),
    mark("squashfs", &[0], &[b"hsqs", b"sqsh", b"shsq", b"qshs"]),
    mark("NTFS", &[3], &[b"NTFS    "]),
    mark("exFAT", &[3], &[b"EXFAT   "]),
    mark("ReFS", &[3], &[b"ReFS\0\0\0\0"]),
    mark("FAT", &[0x36], &[b"FAT12   ", b"FAT16   ", b"FAT     "]),
    mark("FAT", &[0x52], &[b"FAT32   "]),
    mark("ISO 9660", &[0x8001], &[b"CD001"]),
    mark("ISO 9660 (High Sierra)", &[0x8009], &[b"CDROM"]),
    mark("UDF", &[0x8001], &[b"BEA01", b"NSR02", b"NSR03", b"BOOT2", b"CDW02"]),
    mark("HFS+", &[0x400], &[b"H+\0\x04", b"HX\0\x05"]),
    mark("UFS", UFS, &[&[0x54, 0x19, 0x01, 0x00], &[0x00, 0x01, 0x19, 0x54]]),
    mark("UFS", UFS, &[&[0x19, 0x01, 0x54, 0x19], &[0x19, 0x54, 0x01, 0x19]]),
    mark("UFS", UFS, &[&[0x14, 0x50, 0x09, 0x00], &[0x00, 0x09, 0x50, 0x14]]),
    mark("UFS", UFS, &[&[0x95, 0x21, 0x61, 0x00], &[0x00, 0x61, 0x21, 0x95]]),
    mark("UFS", UFS, &[&[0x12, 0x56, 0x19, 0x00], &[0x00, 0x19, 0x56, 0x12]]),
    mark("UFS", UFS, &[&[0x94, 0x19, 0x23, 0x05], &[0x05, 0x23, 0x19, 0x94]]),
    mark("HPFS", &[0x2000], &[&[0x49, 0xe8, 0x95, 0xf9]]),
    mark("BFS (SCO)", &[0], &[&[0xce, 0xfa, 0xad, 0x1b], &[0x1b, 0xad, 0xfa, 0xce]]),
    mark("BFS (BeOS)", &[0x20, 0x220], &[b"1SFB", b"BFS1"]),
    mark("VxFS", &[0x400, 0x2000], &[&[0xf5, 0xfc, 0x01, 0xa5], &[0xa5, 0x01, 0xfc, 0xf5]]),
    mark("romfs", &[0], &[b"-rom1fs-"]),
    mark("cramfs", &[0, 0x200], &[&[0x45, 0x3d, 0xcd, 0x28], &[0x28, 0xcd, 0x3d, 0x45]]),
    mark("cramfs", &[0x10], &[b"Compressed ROMFS"]),
    mark(
        "System V file system",
        &[0x3f8, 0x5f8, 0x27f8, 0x3ff8, 0x4bf8],
        &[&[0x20, 0x7e, 0x18, 0xfd], &[0xfd, 0x18, 0x7e, 0x20]],
    ),
    mark("Xenix", &[0x7f8], &[&[0x44, 0x55, 0x2b, 0], &[0, 0x2b, 0x55, 0x44]]),
    mark("Xenix", &[0x800], &[&[0x2b, 0x55, 0x44, 0], &[0x44, 0x55, 0x2b, 0]]),
    mark("GFS", &[0x1_0000], &[&[0x01, 0x16, 0x19, 0x70]]),
    mark("OCFS", &[8], &[b"OracleCFS"]),
    mark("OCFS2", &[0x400, 0x800, 0x1000, 0x2000], &[b"OCFSV2"]),
    mark("NetWare", &[0x1000], &[b"SPB5"]),
    mark("EXFS", &[0], &[b"EXFS"]),
    mark("mpool", &[8], &[b"mpoolDev"]),
    mark("zonefs", &[0], &[b"SFOZ"]),
    mark("UBI", &[0], &[b"UBI#"]),
    mark("UBIFS", &[0], &[&[0x31, 0x18, 0x10, 0x06]]),
    mark("JFFS2", &[0], &[&[0x85, 0x19, 0x03, 0x20], &[0x85, 0x19, 0x01, 0xe0]]),
    mark("JFFS2", &[0], &[&[0x85, 0x19, 0x02, 0xe0], &[0x19, 0x85, 0x20, 0x03]]),
    mark("JFFS2", &[0], &[&[0x19, 0x85, 0xe0, 0x01], &[0x19, 0x85, 0xe0, 0x02]]),
    mark("HAMMER", &[0], &[&[0x31, 0x30, 0x52, 0xc5, 0x4d, 0x4d, 0x41, 0xc8]]),
    mark("HAMMER2", &[0], &[&[0x11, 0x20, 0x17, 0x05, 0x32, 0x4d, 0x41, 0x48]]),
    mark("QNX6", &[0, 0x2000], &[&[0x22, 0x11, 0x19, 0x68], &[0x68, 0x19, 0x11, 0x22]]),
    mark("AFFS", &[0], &[b"DOS\0", b"DOS\x01", b"DOS\x02", b"DOS\x03", b"DOS\x04", b"DOS\x05"]),
    mark("AFFS", &[0], &[b"DOS\x06", b"DOS\x07", b"SFS\0", b"PFS\x01", b"PFS\x02", b"PFS\x03"]),
    mark("Minix (version 3)", &[0x418], &[b"ZM\0\0\0\x04", b"ZM\0\0\0\x10", b"MZ\0\0\x04\0"]),
    // Volumes: arrays, encryption, what lies between a disk and a file system.
    mark("LUKS", &[0], &[b"LUKS\xba\xbe"]),
    mark(
        "LUKS (second header)",
        &[0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000],
        &[b"SKUL\xba\xbe"],
    ),
    mark("BitLocker", &[3], &[b"-FVE-FS-"]),
    mark(
        "BitLocker",
        &[160, 424],
        &[&[
            0x3b, 0xd6, 0x76, 0x49, 0x29, 0x2e, 0xd8, 0x4a, 0x83, 0x99, 0xf6, 0xa3, 0x39, 0xe3,
            0xd0, 0x01,
        ]],
    ),
    mark("CoreStorage", &[88], &[b"CS\x01\0\0\0"]),
    mark("LVM physical volume", &[0, 0x200, 0x400, 0x600], &[b"LABELONE"]),
    mark("LVM physical volume (version 1)", &[0], &[b"HM\x01\0", b"HM\x02\0"]),
    mark("md array member (version 1.1)", &[0], &[&MD_MAGIC]),
    mark("md array member (version 1.2)", &[4096], &[&MD_MAGIC]),
    mark("Ceph BlueStore", &[0], &[b"bluestore block device"]),
    mark("Stratis", &[0x204, 0x1204], &[b"!Stra0tis\x86\xff\x02^\x41rh"]),
    mark("VDO", &[0], &[b"dmvdo001"]),
    mark("dm-verity", &[0], &[b"verity\0\0"]),
    mark("dm-integrity", &[0], &[b"integrt\0"]),
    mark("dm-snapshot", &[0], &[b"SnAp"]),
    mark("dm-thin", &[32], &[&[0xba, 0x52, 0x9c, 0x01, 0, 0, 0, 0]]),
    mark("dm-cache", &[32], &[&[0x03, 0xc4, 0x18, 0, 0, 0, 0, 0]]),
    mark("dm-era", &[32], &[&[0x7b, 0x07, 0xc1, 0x7e, 0, 0, 0, 0]]),
    mark("dm-writecache", &[0], &[&[0x21, 0x93, 0x48, 0x23]]),
    mark("dm-zoned", &[0], &[b"DBZD"]),
    mark("log of dm-log-writes", &[0], &[b"rhswfsj\0"]),
    mark("DRBD (management volume)", &[0x1000], &[b"$DRBDmgr=q"]),
    mark("DRBD (proxy log)", &[16], &[b"DRBDdlh*"]),
    mark("VMFS volume member", &[0x10_0000], &[&[0x0d, 0xd0, 0x01, 0xc0]]),
    mark("VMFS", &[0x20_0000], &[&[0x5e, 0xf1, 0xab, 0x2f]]),
    mark("Oracle ASM", &[32], &[b"ORCLDISK"]),
    mark("softraid of OpenBSD", &[0x2000], &[b"marcCRAM"]),
    mark("Storage Spaces", &[0x1000], &[b"SPACEDB "]),
    mark("dynamic disk of Windows", &[0xc00], &[b"PRIVHEAD"]),
    mark("firmware RAID member (HighPoint)", &[0x1220], &[&[0xf0, 0x16, 0x78, 0x5a]]),
    mark("firmware RAID member (HighPoint)", &[0x1220], &[&[0xfd, 0x16, 0x78, 0x5a]]),
    mark("swap space", PAGES, &[b"SWAPSPACE2", b"SWAP-SPACE"]),
    mark("hibernated system", PAGES, &[b"S1SUSPEND\0", b"S2SUSPEND\0", b"ULSUSPEND\0"]),
    mark("hibernated system", PAGES, &[&[0xed, 0xc3, 0x02, 0xe9, 0x98, 0x56, 0xe5, 0x0c]]),
    mark("hibernated system", PAGES, &[b"LINHIB0001"]),
    // Partition tables.
    mark("GPT partition table", &[512, 1024, 2048, 4096], &[b"EFI PART"]),
    mark("partition table (Apple)", &[512, 1024, 2048], &[b"PM\0\0"]),
    mark("partition table (BSD)", &[0, 0x40, 0x80, 0x200], &[&[0x57, 0x45, 0x56, 0x82]]),
    mark("partition table (BSD)", &[0, 0x40, 0x80, 0x200], &[&[0x82, 0x56, 0x45, 0x57]]),
    mark("partition table (DragonFly)", &[0, 0x200], &[&[0x59, 0x4c, 0x46, 0xc4]]),
    mark("partition table (SGI)", &[0], &[&[0x0b, 0xe5, 0xa9, 0x41]]),
    mark("partition table (Solaris)", &[0xbc, 0x20c], &[&[0xee, 0xde, 0x0d, 0x60]]),
    mark("partition table (Solaris)", &[0xbc, 0x20c], &[&[0x60, 0x0d, 0xde, 0xee]]),
    mark("partition table (UnixWare)", &[0x3a04], &[&[0x0d, 0x60, 0x5e, 0xca]]),
    mark("partition table (Ultrix)", &[0x3fb8], &[&[0x57, 0x29, 0x03, 0]]),
    mark("partition table (AIX)", &[0], &[&[0xc9, 0xc2, 0xd4, 0xc1]]),
    mark(
        "partition table (Amiga)",
        &[0, 0x200, 0x400, 0x600, 0x800, 0xa00, 0xc00, 0xe00],
        &[b"RDSK\0\0"],
    ),
    mark(
        "partition table (DASD)",
        &[0x400, 0x800, 0x1000, 0x2000],
        &[&[0xe5, 0xd6, 0xd3, 0xf1], &[0xd3, 0xd5, 0xe7, 0xf1], &[0xc3, 0xd4, 0xe2, 0xf1]],
    ),
    // What raidloom itself keeps.
    mark(CACHE, &[0], &[b"raidloom cache\0\0"]),
    mark(OVERLAY, &[0], &[b"raidloom overlay"]),
    mark(TRACE, &[0], &[b"raidloom trace\0\0"]),
    mark("pull log of raidloom", &[0], &[b"raidloom pulllog"]),
    // What people keep in files, and would not have back.
    mark("SQLite database", &[0], &[b"SQLite format 3\0"]),
    mark("tar archive", &[257], &[b"ustar\0", b"ustar "]),
    mark("zip archive", &[0], &[b"PK\x03\x04", b"PK\x05\x06"]),
    mark("7z archive", &[0], &[b"7z\xbc\xaf\x27\x1c"]),
    mark("RAR archive", &[0], &[b"Rar!\x1a\x07"]),
    mark("cpio archive", &[0], &[b"070701", b"070702", b"070707"]),
    mark("ar archive", &[0], &[b"!<arch>\n"]),
    mark("xz file", &[0], &[b"\xfd7zXZ\0"]),
    mark("zstd file", &[0], &[&[0x28, 0xb5, 0x2f, 0xfd]]),
    mark("lz4 file", &[0], &[&[0x04, 0x22, 0x4d, 0x18]]),
    mark("lzop file", &[0], &[b"\x89LZO\0\r\n\x1a\n"]),
    mark("bzip2 file", &[4], &[&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59]]),
    mark("image of a disk (EWF, E01)", &[0], &[b"EVF\x09\x0d\x0a\xff\0", b"EVF2\x0d\x0a\x81\0"]),
    mark("image of a disk (EWF, L01)", &[0], &[b"LVF\x09\x0d\x0a\xff\0", b"LEF2\x0d\x0a\x81\0"]),
    mark("image of a disk (AFF)", &[0], &[b"AFF10\r\n\0"]),
    mark("image of a disk (partclone)", &[0], &[b"partclone-image"]),
    mark("image of a disk (Partimage)", &[0], &[b"PaRtImAgE-VoLuMe"]),
    mark("image of a disk (ntfsclone)", &[0], &[b"\0ntfsclone-image"]),
    mark("image of a disk (FSArchiver)", &[0], &[b"FsA0", b"ArCh"]),
    mark("image of a disk (WIM)", &[0], &[b"MSWIM\0\0\0"]),
    mark("image of a disk (Acronis)", &[0], &[&[0xce, 0x24, 0xb9, 0xa2]]),
    mark("image of a disk (cloop)", &[0], &[b"#!/bin/sh\n#V2.0 Format\n"]),
    mark("backup of Proxmox", &[0], &[b"VMA\0"]),
];

/// Marks at places before the end, in bytes from where the last whole sector of 512 bytes ends.
pub(super) const FROM_END: &[Mark] = &[
    mark("GPT partition table (backup)", &[512, 1024, 2048, 4096], &[b"EFI PART"]),
    // The two formats of firmware that md assembles too: DDF's anchor is the last sector, or
    // before 128 KiB of a controller's own; Intel's is the last but one.
    mark("firmware RAID member (DDF)", &[512, 4096, 257 * 512], &[&[0xde, 0x11, 0xde, 0x11]]),
    mark("firmware RAID member (Intel)", &[1024, 8192], &[b"Intel Raid ISM Cfg Sig. "]),
    mark("firmware RAID member (LSI)", &[512], &[b"$XIDE$"]),
    mark("firmware RAID member (Silicon Image)", &[512 - 0x60], &[&[0, 0, 0, 0x2f]]),
    mark("firmware RAID member (NVIDIA)", &[1024], &[b"NVIDIA"]),
    mark(
        "firmware RAID member (Promise)",
        &[
            16 * 512,
            63 * 512,
            255 * 512,
            256 * 512,
            399 * 512,
            591 * 512,
            675 * 512,
            735 * 512,
            911 * 512,
            951 * 512,
            974 * 512,
            991 * 512,
            3087 * 512,
        ],
        &[b"Promise Technology, Inc."],
    ),
    mark("firmware RAID member (HighPoint)", &[11 * 512], &[&[0xf3, 0x16, 0x78, 0x5a]]),
    mark("firmware RAID member (HighPoint)", &[11 * 512], &[&[0xfd, 0x16, 0x78, 0x5a]]),
    mark("firmware RAID member (Adaptec)", &[512], &[&[0x37, 0xfc, 0x4d, 0x1e]]),
    mark("firmware RAID member (Adaptec)", &[512], &[&[0x90, 0x07, 0x65, 0xc4]]),
    mark("firmware RAID member (Adaptec)", &[512 - 456], &[b"DPTM"]),
    mark(
        "DRBD",
        &[4096 - 60],
        &[&[0x83, 0x74, 0x02, 0x6b], &[0x83, 0x74, 0x02, 0x6c], &[0x83, 0x74, 0x02, 0x6d]],
    ),
    mark("GEOM of FreeBSD", &[512, 4096], &[b"GEOM::"]),
    mark("dynamic disk of Windows", &[512], &[b"PRIVHEAD"]),
];

/// Marks of disk images: files whose bytes are not those of the disk that they stand for, or not
/// only.
pub(super) const IMAGES: &[Mark] = &[
    mark("qcow2 image", &[0], &[b"QFI\xfb"]),
    mark("QED image", &[0], &[b"QED\0"]),
    mark("VMDK image", &[0], &[b"KDMV", b"COWD"]),
    mark("VMDK description", &[0], &[b"# Disk DescriptorFile"]),
    mark("VHDX image", &[0], &[b"vhdxfile"]),
    mark("VHD set", &[0], &[b"rtsvtsvh"]),
    // A dynamic or differencing VHD begins with a copy of its footer.
    mark("VHD image", &[0], &[super::VHD]),
    mark("VDI image", &[0x40], &[&[0x7f, 0x10, 0xda, 0xbe]]),
    mark("Parallels image", &[0], &[b"WithoutFreeSpace", b"WithouFreSpacExt"]),
    mark("Bochs image", &[0], &[b"Bochs Virtual HD Image\0"]),
    mark("sparse image of macOS", &[0], &[b"sprs"]),
];
