//! The image that carries a configuration's file system, and what that image lies in.
//!
//! ```text
//!   file_system          suites work here
//!   image                a file, as a loop device
//!   outer_file_system    on the device
//! ```

use std::collections::BTreeMap;

use export::RemovalPolicy;
use export::image::Image;
use host::Error;
use host::mount::FileSystem;
use results::Configuration;
use serve::ImageSettings;

use crate::plan::axes::{
    DEFAULTS, DIRECT, FILE_SYSTEM, IMAGE, IMAGE_IO, IMAGE_SIZE, NONE, OUTER_FILE_SYSTEM,
    OUTER_MAKE_OPTIONS, OUTER_MOUNT_OPTIONS,
};
use crate::run::attached::options_to_make;
use crate::stacks;

/// FAT keeps the size of a file in 32 bits.
const FAT_FILE_BYTES_MAX: u64 = (4 << 30) - 1;

/// An image and its outer file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nested<'a> {
    pub(crate) image: Image,
    pub(crate) outer: FileSystem,
    make_options: Option<&'a str>,
    pub(crate) mount_options: Option<&'a str>,
}

impl<'a> Nested<'a> {
    /// What a configuration's settings say; `None` where its file system is on the device itself.
    ///
    /// # Errors
    /// An image without a size, without something that it lies in, or with nothing in it.
    pub(crate) fn of(settings: &'a BTreeMap<String, String>) -> Result<Option<Nested<'a>>, Error> {
        let setting = |axis: &str| settings.get(axis).map(String::as_str);
        let options = |axis: &str| setting(axis).filter(|text| *text != DEFAULTS);
        let Some(kind) = setting(IMAGE).filter(|kind| *kind != NONE) else { return Ok(None) };
        let needs = |axis: &str, what: &str| {
            Error::usage(format!("{IMAGE} = \"{kind}\" needs the axis {axis}: {what}"))
        };
        let said = |text| Error::usage(format!("{IMAGE}: {text}"));
        if setting(FILE_SYSTEM).is_none_or(|name| name == NONE) {
            return Err(needs(FILE_SYSTEM, "what is made in the image"));
        }
        let size = setting(IMAGE_SIZE).ok_or_else(|| needs(IMAGE_SIZE, "the disk in the image"))?;
        let outer = setting(OUTER_FILE_SYSTEM)
            .ok_or_else(|| needs(OUTER_FILE_SYSTEM, "what the image is a file of"))?;
        let image = Image {
            kind: kind.parse().map_err(said)?,
            size_bytes: stacks::parse_size(size).map_err(said)?,
            direct: setting(IMAGE_IO) == Some(DIRECT),
        };
        image.check()?;
        Ok(Some(Nested {
            image,
            outer: FileSystem::named(outer)?,
            make_options: options(OUTER_MAKE_OPTIONS),
            mount_options: options(OUTER_MOUNT_OPTIONS),
        }))
    }

    /// Why an image cannot lie in a file system on a device of so many bytes, if it cannot.
    pub(crate) fn refuse_unfit(&self, device_bytes: u64) -> Result<(), String> {
        let shown = |bytes| stacks::size_text(bytes);
        let (image, outer) = (shown(self.image.size_bytes), self.outer.name);
        if self.image.file_bytes() >= device_bytes {
            return Err(format!(
                "an image of {image} does not fit into {outer} on a device of {}: make it smaller",
                shown(device_bytes)
            ));
        }
        if outer == "vfat" && self.image.file_bytes() > FAT_FILE_BYTES_MAX {
            return Err(format!(
                "an image of {image} is too large for a file of {outer}, which has less than 4GiB"
            ));
        }
        Ok(())
    }

    /// What the plan says to the program that makes the outer file system.
    pub(crate) fn own_make_options(&self) -> &'a str {
        self.make_options.unwrap_or_default()
    }

    /// What that program is told in all ([`options_to_make`]).
    pub(crate) fn options_to_make(&self) -> Option<String> {
        options_to_make(&self.outer, self.own_make_options())
    }

    /// What the outer file system is mounted with.
    pub(crate) fn options_to_mount(&self, policy: RemovalPolicy) -> Option<String> {
        serve::mount_options(policy, false, self.mount_options)
    }

    /// The same for a server.
    pub(crate) fn settings(&self) -> ImageSettings {
        ImageSettings {
            kind: self.image.kind.to_string(),
            size: stacks::size_text(self.image.size_bytes),
            direct: self.image.direct,
            outer_fs: self.outer.name.to_owned(),
            outer_options: self.mount_options.map(str::to_owned),
            outer_make_options: self.options_to_make(),
        }
    }
}

/// Bytes that making a configuration's image writes in a visit.
pub(crate) fn written_bytes(configuration: &Configuration) -> u64 {
    match Nested::of(&configuration.settings) {
        Ok(Some(nested)) => nested.image.file_bytes(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
    }

    const GOOD: [(&str, &str); 4] = [
        ("file_system", "vfat"),
        ("image", "vhd"),
        ("image_size", "8MiB"),
        ("outer_file_system", "ext4"),
    ];

    #[test]
    fn what_an_image_needs_is_named() {
        assert_eq!(Nested::of(&settings(&[("image", "none")])).unwrap(), None);
        let good = settings(&GOOD);
        let nested = Nested::of(&good).unwrap().unwrap();
        assert_eq!((nested.image.size_bytes, nested.outer.name), (8 << 20, "ext4"));
        assert!(!nested.image.direct);
        for (axis, _) in GOOD.iter().filter(|(axis, _)| *axis != "image") {
            let mut lacking = good.clone();
            lacking.remove(*axis);
            let error = Nested::of(&lacking).unwrap_err().to_string();
            assert!(error.contains(&format!("needs the axis {axis}: ")), "{error}");
        }
        let mut odd = good.clone();
        odd.insert("image_size".to_owned(), "1000".to_owned());
        let error = Nested::of(&odd).unwrap_err().to_string();
        assert!(error.contains("a multiple of 4096 bytes"), "{error}");
    }

    #[test]
    fn an_image_is_smaller_than_what_it_lies_in() {
        let good = settings(&GOOD);
        let nested = Nested::of(&good).unwrap().unwrap();
        assert!(nested.refuse_unfit(16 << 20).is_ok());
        // With its footer it is larger than the disk in it.
        let error = nested.refuse_unfit((8 << 20) + 512).unwrap_err();
        assert!(error.contains("does not fit into ext4"), "{error}");
        let large = Image { size_bytes: 4 << 30, ..nested.image };
        let fat = Nested { outer: FileSystem::named("vfat").unwrap(), image: large, ..nested };
        let error = fat.refuse_unfit(1 << 40).unwrap_err();
        assert!(error.contains("less than 4GiB"), "{error}");
        assert!(Nested { outer: nested.outer, ..fat }.refuse_unfit(1 << 40).is_ok());
    }

    #[test]
    fn nothing_of_an_outer_ext_file_system_is_left_for_later() {
        let good = settings(&GOOD);
        let nested = Nested::of(&good).unwrap().unwrap();
        let told = nested.settings().outer_make_options.unwrap();
        assert!(told.contains("lazy_itable_init=0"), "{told}");
        assert_eq!(nested.options_to_mount(RemovalPolicy::Quick).as_deref(), Some("sync"));
        assert_eq!(nested.options_to_mount(RemovalPolicy::Performance), None);
    }
}
