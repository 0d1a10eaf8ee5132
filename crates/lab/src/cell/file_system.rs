//! The file system of a configuration, and the image that carries it where it is not on the device
//! itself.
//!
//! ```text
//!   file_system          suites work here
//!   image                a file, as a loop device
//!   outer_file_system    on the device
//! ```

use export::RemovalPolicy;
use export::image::Image;
use host::Error;
use host::mount::FileSystem;
use serve::ImageSettings;

use super::axes::Axes;
use super::names::{FILE_SYSTEM, IMAGE, IMAGE_SIZE, OUTER_FILE_SYSTEM};
use super::values::{Choice, ImageIo};
use crate::catalogue;
use crate::stacks;
use words::{Message, Text, statement};

/// FAT keeps the size of a file in 32 bits.
const FAT_FILE_BYTES_MAX: u64 = (4 << 30) - 1;

/// The file system that suites work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellFileSystem {
    pub(crate) kind: FileSystem,
    make_options: Option<String>,
    pub(crate) mount_options: Option<String>,
    pub(crate) policy: RemovalPolicy,
    /// The image that carries it, where it is not on the device itself.
    pub(crate) nested: Option<NestedImage>,
}

/// An image and its outer file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NestedImage {
    pub(crate) image: Image,
    pub(crate) outer: FileSystem,
    make_options: Option<String>,
    pub(crate) mount_options: Option<String>,
}

impl Axes {
    /// The file system that they mean; `None` where there is none.
    ///
    /// # Errors
    /// An image without a size, without something that it lies in, or with nothing in it.
    pub(crate) fn file_system(&self) -> Result<Option<CellFileSystem>, Error> {
        let nested = self.nested()?;
        Ok(self.file_system.value().map(|kind| CellFileSystem {
            kind: *kind,
            make_options: self.make_options.value().cloned(),
            mount_options: self.mount_options.value().cloned(),
            policy: self.policy.unwrap_or_default(),
            nested,
        }))
    }

    fn nested(&self) -> Result<Option<NestedImage>, Error> {
        let Choice::With(kind) = self.image else { return Ok(None) };
        let needs = |axis: &str, what: Message| {
            Error::usage(statement!(
                catalogue::IMAGE_NEEDS_AXIS,
                image = IMAGE,
                kind = kind.to_string(),
                axis = axis,
                what = what
            ))
        };
        if self.file_system.value().is_none() {
            return Err(needs(FILE_SYSTEM, catalogue::MADE_IN_IMAGE));
        }
        let size_bytes =
            self.image_bytes.ok_or_else(|| needs(IMAGE_SIZE, catalogue::DISK_IN_IMAGE))?;
        let outer = self
            .outer_file_system
            .ok_or_else(|| needs(OUTER_FILE_SYSTEM, catalogue::FILE_OF_IMAGE))?;
        let image = Image { kind, size_bytes, direct: self.image_io == Some(ImageIo::Direct) };
        image.check()?;
        Ok(Some(NestedImage {
            image,
            outer,
            make_options: self.outer_make_options.value().cloned(),
            mount_options: self.outer_mount_options.value().cloned(),
        }))
    }
}

impl CellFileSystem {
    /// What the plan itself says to the program that makes it.
    pub(crate) fn own_make_options(&self) -> Option<&str> {
        self.make_options.as_deref()
    }

    /// What the program that makes it is told ([`options_to_make`]). An image written whole stays
    /// so.
    pub(crate) fn options_to_make(&self) -> Option<String> {
        let own = self.own_make_options().unwrap_or_default();
        let whole = self.nested.as_ref().and_then(|_| self.kind.without_discard());
        let Some(whole) = whole else { return options_to_make(&self.kind, own) };
        // Of several texts of extended options an ext file system is made by the last.
        let told = options_to_make(&self.kind, own).unwrap_or_default();
        let told = match whole.strip_prefix("-E").zip(told.split_once("-E")) {
            Some((whole, (before, after))) => format!("{before}-E{whole},{}", after.trim_start()),
            None => format!("{whole} {told}"),
        };
        Some(told.trim_end().to_owned())
    }

    /// What it is mounted with.
    pub(crate) fn options_to_mount(&self) -> Option<String> {
        serve::mount_options(self.policy, false, self.mount_options.as_deref())
    }

    /// Bytes that making its image writes, if it has one.
    pub(crate) fn image_bytes(&self) -> u64 {
        self.nested.as_ref().map_or(0, |nested| nested.image.file_bytes())
    }
}

/// What the program that makes a file system is told: nothing of an ext file system is left for the
/// kernel to write later, beside the measurement, unless the plan has its own say about that.
fn options_to_make(file_system: &FileSystem, own: &str) -> Option<String> {
    let lazy = file_system.name.starts_with("ext")
        && !own.split_ascii_whitespace().any(|word| word.starts_with("-E"));
    let all = if lazy {
        format!("-Elazy_itable_init=0,lazy_journal_init=0 {own}")
    } else {
        own.to_owned()
    };
    Some(all).filter(|all| !all.trim().is_empty())
}

impl NestedImage {
    /// Why an image cannot lie in a file system on a device of so many bytes, if it cannot.
    pub(crate) fn refuse_unfit(&self, device_bytes: u64) -> Result<(), Text> {
        let shown = |bytes| stacks::size_text(bytes);
        let (image, outer) = (shown(self.image.size_bytes), self.outer.name);
        if self.image.file_bytes() >= device_bytes {
            return Err(statement!(
                catalogue::IMAGE_DOES_NOT_FIT,
                image = image,
                outer = outer,
                size = shown(device_bytes)
            ));
        }
        if outer == "vfat" && self.image.file_bytes() > FAT_FILE_BYTES_MAX {
            return Err(statement!(catalogue::IMAGE_TOO_LARGE_FOR, image = image, outer = outer));
        }
        Ok(())
    }

    /// What the plan says to the program that makes the outer file system.
    pub(crate) fn own_make_options(&self) -> &str {
        self.make_options.as_deref().unwrap_or_default()
    }

    /// What that program is told in all ([`options_to_make`]).
    pub(crate) fn options_to_make(&self) -> Option<String> {
        options_to_make(&self.outer, self.own_make_options())
    }

    /// What the outer file system is mounted with.
    pub(crate) fn options_to_mount(&self, policy: RemovalPolicy) -> Option<String> {
        serve::mount_options(policy, false, self.mount_options.as_deref())
    }

    /// The same for a server.
    pub(crate) fn settings(&self) -> ImageSettings {
        ImageSettings {
            kind: self.image.kind.to_string(),
            size: stacks::size_text(self.image.size_bytes),
            direct: self.image.direct,
            outer_fs: self.outer.name.to_owned(),
            outer_options: self.mount_options.clone(),
            outer_make_options: self.options_to_make(),
        }
    }
}

#[cfg(test)]
mod tests {
    use export::image::ImageKind;

    use super::*;

    fn good() -> Axes {
        let named = |name| FileSystem::named(name).unwrap();
        Axes {
            file_system: Choice::With(named("vfat")),
            image: Choice::With(ImageKind::Vhd),
            image_bytes: Some(8 << 20),
            outer_file_system: Some(named("ext4")),
            ..Axes::default()
        }
    }

    fn nested(axes: &Axes) -> NestedImage {
        axes.file_system().unwrap().unwrap().nested.unwrap()
    }

    #[test]
    fn what_an_image_needs_is_named() {
        let none = Axes { image: Choice::Without, ..Axes::default() };
        assert_eq!(none.file_system().unwrap(), None);
        let nested = nested(&good());
        assert_eq!((nested.image.size_bytes, nested.outer.name), (8 << 20, "ext4"));
        assert!(!nested.image.direct);
        for (axis, lacking) in [
            (FILE_SYSTEM, Axes { file_system: Choice::Without, ..good() }),
            (IMAGE_SIZE, Axes { image_bytes: None, ..good() }),
            (OUTER_FILE_SYSTEM, Axes { outer_file_system: None, ..good() }),
        ] {
            let error = lacking.file_system().unwrap_err().to_string();
            assert!(error.contains(&format!("needs the axis {axis}: ")), "{error}");
        }
        let odd = Axes { image_bytes: Some(1000), ..good() };
        let error = odd.file_system().unwrap_err().to_string();
        assert!(error.contains("a multiple of 4096 bytes"), "{error}");
    }

    #[test]
    fn an_image_is_smaller_than_what_it_lies_in() {
        let nested = nested(&good());
        assert!(nested.refuse_unfit(16 << 20).is_ok());
        // With its footer it is larger than the disk in it.
        let error = nested.refuse_unfit((8 << 20) + 512).unwrap_err().english();
        assert!(error.contains("does not fit into ext4"), "{error}");
        let large = Image { size_bytes: 4 << 30, ..nested.image };
        let fat = NestedImage {
            outer: FileSystem::named("vfat").unwrap(),
            image: large,
            ..nested.clone()
        };
        let error = fat.refuse_unfit(1 << 40).unwrap_err().english();
        assert!(error.contains("less than 4GiB"), "{error}");
        assert!(NestedImage { outer: nested.outer, ..fat }.refuse_unfit(1 << 40).is_ok());
    }

    #[test]
    fn nothing_of_an_outer_ext_file_system_is_left_for_later() {
        let nested = nested(&good());
        let told = nested.settings().outer_make_options.unwrap();
        assert!(told.contains("lazy_itable_init=0"), "{told}");
        assert_eq!(nested.options_to_mount(RemovalPolicy::Quick).as_deref(), Some("sync"));
        assert_eq!(nested.options_to_mount(RemovalPolicy::Performance), None);
    }
}
