//! The models that are part of the binary: those of `models/`, and the drives of today in
//! `models/catalogue/`, each made from a data sheet.

/// Name and text of a file of the catalogue.
macro_rules! entry {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../models/catalogue/", $name, ".toml")))
    };
}

/// Models of single drives that were measured, and of stated values: name and text.
const MODELS: [(&str, &str); 6] = [
    ("disk-2008", include_str!("../../../../models/disk-2008.toml")),
    ("dvd-ram-5x", include_str!("../../../../models/dvd-ram-5x.toml")),
    ("maxtor-6y200p0", include_str!("../../../../models/maxtor-6y200p0.toml")),
    ("ssd-2008", include_str!("../../../../models/ssd-2008.toml")),
    ("st340015a", include_str!("../../../../models/st340015a.toml")),
    ("stick-2008", include_str!("../../../../models/stick-2008.toml")),
];

/// Drives that may be bought, or could be in the last years.
const CATALOGUE: [(&str, &str); 17] = [
    entry!("hgst-travelstar-100gb"),
    entry!("seagate-barracuda-1tb"),
    entry!("seagate-barracuda-mobile-5tb-smr"),
    entry!("seagate-constellation-es3-4tb"),
    entry!("seagate-exos-m-30tb"),
    entry!("seagate-exos-x24-24tb"),
    entry!("seagate-ironwolf-12tb"),
    entry!("seagate-ironwolf-pro-30tb"),
    entry!("toshiba-mg10-22tb"),
    entry!("toshiba-n300-16tb"),
    entry!("toshiba-p300-2tb-smr"),
    entry!("wd-blue-6tb-smr"),
    entry!("wd-raptor-74gb"),
    entry!("wd-red-plus-8tb"),
    entry!("wd-red-pro-22tb"),
    entry!("wd-ultrastar-hc310-4tb"),
    entry!("wd-ultrastar-hc590-26tb"),
];

/// Every model that is part of the binary: name and text.
pub(super) fn built_in() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    MODELS.iter().chain(&CATALOGUE)
}
