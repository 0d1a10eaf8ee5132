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
const CATALOGUE: [(&str, &str); 41] = [
    entry!("adata-atom-50-1tb"),
    entry!("crucial-mx500-500gb"),
    entry!("crucial-p1-1tb"),
    entry!("crucial-t700-2tb"),
    entry!("hgst-travelstar-100gb"),
    entry!("hp-fx700-2tb"),
    entry!("intel-d3-s4610-480gb"),
    entry!("lexar-jumpdrive-s75-128gb"),
    entry!("lexar-nm710-1tb"),
    entry!("lexar-nm790-2tb"),
    entry!("lexar-nm800-pro-2tb"),
    entry!("micron-7450-pro-3-84tb"),
    entry!("msi-m480-play-2tb"),
    entry!("samsung-860-pro-512gb"),
    entry!("samsung-870-evo-1tb"),
    entry!("samsung-870-qvo-4tb"),
    entry!("samsung-970-evo-500gb"),
    entry!("samsung-980-1tb"),
    entry!("samsung-980-pro-1tb"),
    entry!("samsung-990-pro-2tb"),
    entry!("samsung-mzvlb-256gb"),
    entry!("sandisk-extreme-go-64gb"),
    entry!("seagate-barracuda-1tb"),
    entry!("seagate-barracuda-mobile-5tb-smr"),
    entry!("seagate-constellation-es3-4tb"),
    entry!("seagate-exos-m-30tb"),
    entry!("seagate-exos-x24-24tb"),
    entry!("seagate-ironwolf-12tb"),
    entry!("seagate-ironwolf-pro-30tb"),
    entry!("team-mp44s-1tb"),
    entry!("toshiba-mg10-22tb"),
    entry!("toshiba-n300-16tb"),
    entry!("toshiba-p300-2tb-smr"),
    entry!("wd-blue-6tb-smr"),
    entry!("wd-blue-sn550-1tb"),
    entry!("wd-blue-sn580-1tb"),
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
