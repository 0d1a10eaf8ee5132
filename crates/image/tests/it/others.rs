//! What qemu writes in every format and with every option is read as the disk that it was made of.

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use block::{Blocking, Device, ErrorKind, Extents, Reactor};
use image::{ImageDevice, ImageOptions, ImageUse};

use crate::support::{disk, file, has_qemu, holding, open, open_file, read_all, shell};

const SIZE: usize = (5 << 20) + 3 * 512;

/// Formats as `qemu-img convert` takes them, with their options.
const WAYS: &[&str] = &[
    "-O qcow2",
    "-O qcow2 -o compat=0.10",
    "-O qcow2 -o compat=1.1,lazy_refcounts=on",
    "-O qcow2 -o cluster_size=512",
    "-O qcow2 -o cluster_size=4k",
    "-O qcow2 -o cluster_size=2M",
    "-O qcow2 -o refcount_bits=1",
    "-O qcow2 -o refcount_bits=64",
    "-O qcow2 -o preallocation=metadata",
    "-O qcow2 -o preallocation=falloc",
    "-O qcow2 -o preallocation=full",
    "-O qcow2 -o extended_l2=on",
    "-O qcow2 -o extended_l2=on,cluster_size=16k",
    "-O qcow2 -o extended_l2=on,cluster_size=128k,preallocation=metadata",
    "-c -O qcow2",
    "-c -O qcow2 -o compat=0.10",
    "-c -O qcow2 -o cluster_size=512",
    "-c -O qcow2 -o cluster_size=2M",
    "-c -O qcow2 -o compression_type=zstd",
    "-c -O qcow2 -o compression_type=zstd,cluster_size=4k",
    "-c -O qcow2 -o extended_l2=on",
    "-O qcow2 -o extended_l2=on,cluster_size=2M",
    "-S 0 -O qcow2",
    "-O vmdk",
    "-O vmdk -o subformat=monolithicSparse,adapter_type=lsilogic",
    "-O vmdk -o subformat=monolithicSparse,zeroed_grain=on",
    "-O vmdk -o compat6",
    "-S 0 -O vmdk",
    "-O vmdk -o subformat=streamOptimized",
    "-O vpc -o force_size=on",
    "-O vpc -o subformat=dynamic,force_size=on",
    "-O vpc -o subformat=fixed,force_size=on",
    "-O vhdx",
    "-O vhdx -o subformat=fixed",
    "-O vhdx -o block_size=1M",
    "-O vhdx -o block_size=2M,block_state_zero=off",
    "-O vhdx -o block_size=16M,log_size=2M",
    "-S 0 -O vhdx -o block_size=32M",
    "-O vdi",
    "-O vdi -o static=on",
];

#[test]
fn what_qemu_writes_is_read_as_the_disk_that_it_was() {
    if !has_qemu() {
        return;
    }
    for (seed, way) in (0..).zip(WAYS) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let plain = disk(SIZE, seed);
        fs::write(folder.join("disk"), &plain).unwrap();
        shell(folder, &format!("qemu-img convert -f raw {way} disk image"));
        let image =
            open_file(folder, "image", None, None).unwrap_or_else(|error| panic!("{way}: {error}"));
        let found = read_all(&image);
        assert_eq!(found.len(), plain.len(), "{way}");
        let wrong = found.iter().zip(&plain).position(|(one, two)| one != two);
        assert_eq!(wrong, None, "{way}");
        assert!(image.info().read_only, "{way}");
        holes_are_zero(&image, &plain, way);
    }
}

fn holes_are_zero(image: &ImageDevice, plain: &[u8], way: &str) {
    let mut at = 0;
    while at < plain.len() {
        let mut found = Extents::new();
        image.extents(at as u64, (plain.len() - at) as u64, &mut found);
        let before = at;
        for extent in found.runs() {
            let end = at + extent.length as usize;
            let is_zero = plain[at..end].iter().all(|&byte| byte == 0);
            assert!(!extent.is_hole || is_zero, "{way}: no hole at {at}");
            at = end;
        }
        assert!(at > before);
    }
}

#[test]
fn a_vhd_without_force_size_is_as_large_as_its_geometry() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let plain = disk(SIZE, 7);
    fs::write(folder.join("disk"), &plain).unwrap();
    for way in ["", "-o subformat=fixed"] {
        shell(
            folder,
            &format!(
                "qemu-img convert -f raw -O vpc {way} disk image; \
                qemu-img convert -f vpc -O raw image back"
            ),
        );
        let image = open_file(folder, "image", None, None).expect("a VHD");
        assert!(read_all(&image) == fs::read(folder.join("back")).unwrap(), "{way}");
    }
}

#[test]
fn an_image_over_others_is_read_through_all_of_them() {
    if !has_qemu() {
        return;
    }
    for options in ["", "-o extended_l2=on", "-o compat=0.10", "-o cluster_size=4k"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("base"), disk(2 << 20, 3)).unwrap();
        // Longer than what it lies over, and written in parts of clusters.
        shell(
            folder,
            &format!(
                "qemu-img create -q -f qcow2 {options} -b base -F raw middle 3M; \
                qemu-io -f qcow2 -c 'write -P 7 5k 3k' -c 'write -z 1M 256k' middle; \
                qemu-img create -q -f qcow2 {options} -b middle -F qcow2 top 4M; \
                qemu-img create -q -f qcow2 alone 1M; \
                qemu-io -f qcow2 -c 'write -P 9 6k 1k' -c 'write -P 1 2047k 70k' \
                -c 'write -P 3 3071k 2k' top; qemu-img convert -f qcow2 -O raw top all"
            ),
        );
        let middle = open_file(folder, "middle", Some(file(folder, "base")), None);
        let middle = Arc::new(middle.expect("over a raw disk"));
        let top = open_file(folder, "top", Some(middle), None).expect("over both");
        assert!(read_all(&top) == fs::read(folder.join("all")).unwrap(), "{options}");

        let error = open_file(folder, "top", None, None).map(drop).expect_err("unnamed");
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("it lies over `middle`"), "{error}");
        let error = open_file(folder, "alone", Some(file(folder, "base")), None);
        assert_eq!(error.map(drop).expect_err("over none").kind(), ErrorKind::Invalid);
    }
}

#[test]
fn snapshots_are_read_by_name_and_number() {
    if !has_qemu() {
        return;
    }
    for options in ["", "-o compat=0.10", "-o extended_l2=on"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("disk"), disk(2 << 20, 4)).unwrap();
        shell(
            folder,
            &format!(
                "qemu-img convert -f raw -O qcow2 {options} disk image; \
                qemu-img snapshot -c first image; \
                qemu-io -f qcow2 -c 'write -P 5 100k 300k' image; \
                qemu-img snapshot -c 'the second' image; \
                qemu-io -f qcow2 -c 'write -P 6 1M 300k' image; \
                qemu-img convert -f qcow2 -O raw image now; \
                qemu-img convert -f qcow2 -l first -O raw image one; \
                qemu-img convert -f qcow2 -l 'the second' -O raw image two"
            ),
        );
        for (snapshot, raw) in [
            (None, "now"),
            (Some("first"), "one"),
            (Some("1"), "one"),
            (Some("the second"), "two"),
            (Some("2"), "two"),
        ] {
            let image = open_file(folder, "image", None, snapshot).expect(raw);
            assert!(read_all(&image) == fs::read(folder.join(raw)).unwrap(), "{snapshot:?}");
        }
        let none = open_file(folder, "image", None, Some("third")).map(drop);
        assert!(none.expect_err("none").to_string().contains("it has no snapshot `third`"));
    }
}

#[test]
fn what_is_not_understood_is_refused_in_a_line() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("key"), "secret").unwrap();
    shell(
        folder,
        "truncate -s 1M raw; \
        qemu-img create -q -f qcow2 -o data_file=data external 1M; \
        qemu-img create -q -f qcow2 --object secret,id=s,file=key \
        -o encrypt.format=aes,encrypt.key-secret=s secret 1M; \
        qemu-img create -q -f vmdk -o subformat=monolithicFlat flat.vmdk 1M; mv flat.vmdk flat; \
        yes '#' | head -c 600 >> flat; \
        qemu-img create -q -f vmdk -o subformat=twoGbMaxExtentSparse split.vmdk 3G; mv split.vmdk split; \
        qemu-img create -q -f vmdk base 1M; qemu-img create -q -f vmdk -b base -F vmdk child; \
        qemu-img create -q -f qed old 1M",
    );
    for (name, words) in [
        ("raw", "it is no qcow2, VMDK, VHD, VHDX or VDI image"),
        ("external", "its data are in a file of their own"),
        ("secret", "encrypted"),
        ("flat", "name them: file:flat-flat.vmdk"),
        ("split", "linear(image(extent=yes, file:split-s001.vmdk), image(extent=yes, file:split-s"),
        ("split-s001.vmdk", "it is one of several files"),
        ("child", "differs from another VMDK"),
        ("old", "it is no qcow2"),
    ] {
        let error = open_file(folder, name, None, None).map(drop).expect_err(name).to_string();
        assert!(error.contains(words) && error.lines().count() == 1, "{name}: {error}");
    }
    assert!(open(holding(&[0; 512])).is_err());
}

/// A disk of 3 GiB in two files, with data on both sides of where the second begins.
#[test]
fn a_disk_in_several_files_is_read_part_by_part() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (border, size) = (2_u64 << 30, 3_u64 << 30);
    let disk = fs::File::create(folder.join("disk")).unwrap();
    disk.set_len(size).unwrap();
    let places = [0, 5 << 20, border - (1 << 20), border, size - (1 << 20)];
    let content = |place: u64| self::disk(1 << 20, place);
    for place in places {
        disk.write_all_at(&content(place), place).unwrap();
    }
    shell(folder, "qemu-img convert -f raw -O vmdk -o subformat=twoGbMaxExtentSparse disk d.vmdk");
    let parts: Vec<ImageDevice> = ["d-s001.vmdk", "d-s002.vmdk"]
        .iter()
        .map(|name| {
            let options = ImageOptions { image_use: ImageUse::Extent, ..ImageOptions::default() };
            ImageDevice::open(file(folder, name), None, options).expect("a part")
        })
        .collect();
    let sizes: Vec<u64> = parts.iter().map(|part| part.info().size_bytes).collect();
    assert_eq!(sizes.iter().sum::<u64>(), size);
    let reactor = Reactor::virtual_clock();
    for place in places {
        let mut left = content(place).len();
        let mut found = Vec::new();
        while left > 0 {
            let at = place + found.len() as u64;
            let (part, at) =
                if at < sizes[0] { (&parts[0], at) } else { (&parts[1], at - sizes[0]) };
            let now = left.min((part.info().size_bytes - at) as usize);
            let mut bytes = vec![0; now];
            Blocking::open(part, &reactor).unwrap().read_slice(at, &mut bytes).unwrap();
            found.extend(bytes);
            left -= now;
        }
        assert!(found == content(place), "at {place}");
    }
    // A whole disk is no part of one.
    shell(folder, "qemu-img create -q -f vmdk whole 1M; qemu-img create -q -f qcow2 other 1M");
    for name in ["whole", "other"] {
        let bytes = fs::read(folder.join(name)).unwrap();
        let tail = bytes[bytes.len() / 512 * 512..].to_vec();
        let options = ImageOptions { image_use: ImageUse::Extent, tail };
        let opened = ImageDevice::open(holding(&bytes), None, options);
        let error = opened.map(drop).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}: {error}");
    }
}
