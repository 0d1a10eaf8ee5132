//! Sizes as stack text writes them.

/// The shortest exact text for a size: `100MiB`, `1536KiB`, `512`.
pub(crate) fn size_text(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = UNITS.iter().find(|(_, shift)| bytes != 0 && bytes.is_multiple_of(1 << shift));
    match unit {
        Some((name, shift)) => format!("{}{name}", bytes >> shift),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::size_text;

    #[test]
    fn names_the_largest_unit_that_divides() {
        let texts: Vec<String> = [0, 512, 1024, 1536 << 10, 100 << 20, 3 << 30, 1 << 40, 1000].map(size_text).into();
        assert_eq!(texts, ["0", "512", "1KiB", "1536KiB", "100MiB", "3GiB", "1TiB", "1000"]);
    }
}
