//! What the program that makes a file system is told of the device: the stripes of an array, which
//! a loop device cannot show.
//!
//! ```text
//!   array's geometry ── block::Stripe ──> the maker's own words ──> array mount --fs, runs, pull
//!                                    └─> virtio's topology ──> a guest's maker asks its kernel
//! ```

use block::Stripe;

/// Below this `mke2fs` takes the short blocks of its `small` file systems (mke2fs.conf).
const EXT_SMALL_BYTES: u64 = 512 << 20;
/// The block of XFS unless it is told otherwise; a stripe unit is whole blocks.
const XFS_BLOCK_BYTES: u32 = 4096;

/// The words for the program that makes a file system on a device of `size_bytes` with sectors of
/// `sector_bytes`: those given, with the stripes of the device unless they speak of them
/// themselves.
pub(crate) fn words(
    file_system: &str,
    given: &str,
    stripe: Option<Stripe>,
    (size_bytes, sector_bytes): (u64, u32),
) -> Vec<String> {
    let given: Vec<&str> = given.split_ascii_whitespace().collect();
    let plain = || given.iter().map(|&word| word.to_owned()).collect();
    let Some(stripe) = stripe else { return plain() };
    match file_system {
        "ext4" | "ext3" | "ext2" => {
            ext(&given, stripe, (size_bytes, sector_bytes)).unwrap_or_else(plain)
        }
        "xfs" => xfs(&given, stripe).unwrap_or_else(plain),
        // btrfs takes its own chunks of 64 KiB whatever is below; F2FS its sections; the others
        // know no stripes.
        _ => plain(),
    }
}

/// `-E stride=N,stripe_width=N`, in blocks of the file system, in the one text of extended options
/// that counts: of several, mke2fs takes the last.
fn ext(
    given: &[&str],
    stripe: Stripe,
    (size_bytes, sector_bytes): (u64, u32),
) -> Option<Vec<String>> {
    let (extended, rest) = split_option(given, "-E");
    let (block, _) = split_option(given, "-b");
    let (usage, _) = split_option(given, "-T");
    let mut extended: Vec<String> =
        extended.iter().flat_map(|text| text.split(',')).map(str::to_owned).collect();
    if extended.iter().any(|word| word.starts_with("stride=") || word.starts_with("stripe")) {
        return None;
    }
    let block_bytes = match block.last() {
        Some(text) => text.parse().ok()?,
        // Another kind of usage has blocks of its own.
        None if !usage.is_empty() => return None,
        None if size_bytes < EXT_SMALL_BYTES => 1024.max(sector_bytes),
        None => 4096,
    };
    let stride = whole(stripe.chunk_bytes, block_bytes)?;
    let mut words: Vec<String> = rest.iter().map(|&word| word.to_owned()).collect();
    if block.is_empty() {
        // What the numbers are of.
        words.extend(["-b".to_owned(), block_bytes.to_string()]);
    }
    let width = stride.checked_mul(stripe.width_chunks)?;
    extended.extend([format!("stride={stride}"), format!("stripe_width={width}")]);
    words.extend(["-E".to_owned(), extended.join(",")]);
    Some(words)
}

/// `-d su=N,sw=N`, in bytes and in chunks.
fn xfs(given: &[&str], stripe: Stripe) -> Option<Vec<String>> {
    let (data, _) = split_option(given, "-d");
    const KEYS: [&str; 5] = ["su=", "sw=", "sunit=", "swidth=", "noalign"];
    let own = |word: &str| KEYS.iter().any(|key| word.starts_with(key));
    if data.iter().any(|text| text.split(',').any(own)) {
        return None;
    }
    whole(stripe.chunk_bytes, XFS_BLOCK_BYTES)?;
    let stripes = format!("su={},sw={}", stripe.chunk_bytes, stripe.width_chunks);
    let given = given.iter().map(|&word| word.to_owned());
    Some(given.chain(["-d".to_owned(), stripes]).collect())
}

fn whole(bytes: u32, unit: u32) -> Option<u32> {
    (unit > 0 && bytes.is_multiple_of(unit)).then(|| bytes / unit).filter(|count| *count > 0)
}

/// The values of an option, as `-E value` and `-Evalue`, and the words that are left.
fn split_option<'a>(words: &[&'a str], option: &str) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut values, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix(option) {
            Some("") => values.extend(words.next()),
            Some(value) => values.push(value),
            None => rest.push(*word),
        }
    }
    (values, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: (u64, u32) = (1 << 30, 512);

    fn told(name: &str, given: &str, size: (u64, u32)) -> String {
        let stripe = Stripe::new(64 << 10, 3);
        words(name, given, stripe, size).join(" ")
    }

    /// "`mount --fs`, plans and exports tell mkfs chunk and width".
    #[test]
    fn makers_are_told_of_stripes_in_their_own_units() {
        assert_eq!(told("ext4", "", LARGE), "-b 4096 -E stride=16,stripe_width=48");
        assert_eq!(told("xfs", "", LARGE), "-d su=65536,sw=3");
        assert_eq!(told("ext4", "", (256 << 20, 512)), "-b 1024 -E stride=64,stripe_width=192");
        assert_eq!(told("ext2", "", (256 << 20, 4096)), "-b 4096 -E stride=16,stripe_width=48");
        assert_eq!(
            told("ext4", "-b 2048 -m 0", LARGE),
            "-b 2048 -m 0 -E stride=32,stripe_width=96"
        );
        for name in ["btrfs", "f2fs", "vfat", "exfat", "ntfs", "udf", "jfs", "nilfs2"] {
            assert_eq!(told(name, "-L x", LARGE), "-L x", "{name}");
        }
    }

    #[test]
    fn extended_options_of_ext_stand_in_one_text() {
        assert_eq!(
            told("ext4", "-Elazy_itable_init=0 -m 0 -E nodiscard", LARGE),
            "-m 0 -b 4096 -E lazy_itable_init=0,nodiscard,stride=16,stripe_width=48"
        );
    }

    #[test]
    fn who_speaks_of_stripes_has_their_own() {
        for (name, given) in [
            ("ext4", "-E stride=8"),
            ("ext4", "-Enodiscard,stripe_width=8"),
            ("ext4", "-T news"),
            ("xfs", "-d su=4k,sw=2"),
            ("xfs", "-dnoalign"),
        ] {
            assert_eq!(told(name, given, LARGE), given);
        }
        let plain = words("xfs", "-K", None, LARGE);
        assert_eq!(plain, ["-K"], "no stripes, no hints");
        let odd = words("xfs", "", Stripe::new(512, 3), LARGE);
        assert_eq!(odd, [""; 0], "less than a block");
    }
}
