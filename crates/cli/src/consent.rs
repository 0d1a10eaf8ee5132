//! What the user consents to: the flags of verbs that write where data may be, or use a device as
//! it is.

use std::path::PathBuf;

use clap::Args;

/// Consent to write where data may be.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct Consent {
    /// Consent to erase the disk with this serial number (once for each disk)
    #[arg(long, value_name = "SERIAL", help_heading = "Consent")]
    pub erase: Vec<String>,

    /// Consent to overwrite a file or disk that carries a signature (a file system, md, LVM, ...)
    #[arg(long, help_heading = "Consent")]
    pub erase_signature: bool,

    /// Consent to erase a block device that has no serial number, such as a loop device (once for
    /// each)
    #[arg(long, value_name = "PATH", help_heading = "Consent")]
    pub allow_device: Vec<PathBuf>,
}

impl Consent {
    /// The flags that say it again.
    pub(crate) fn flags(&self) -> Vec<String> {
        let erase = self.erase.iter().map(|serial| format!("--erase={serial}"));
        let devices =
            self.allow_device.iter().map(|path| format!("--allow-device={}", path.display()));
        let signature = self.erase_signature.then(|| "--erase-signature".to_owned());
        erase.chain(devices).chain(signature).collect()
    }
}

impl Consent {
    /// Whether anything was consented to.
    pub(crate) fn is_given(&self) -> bool {
        !self.flags().is_empty()
    }

    /// The flags by which a run goes on, each with a space before it: what its drives held when it
    /// began is erased by then.
    pub(crate) fn flags_to_go_on(&self) -> String {
        let again = Consent { erase_signature: false, ..self.clone() };
        again.flags().iter().map(|flag| format!(" {}", escape::shell(flag))).collect()
    }
}

impl From<host::guard::Consent> for Consent {
    fn from(given: host::guard::Consent) -> Consent {
        Consent {
            erase: given.erase_serials,
            erase_signature: given.erase_signature,
            allow_device: given.devices,
        }
    }
}

impl From<Consent> for host::guard::Consent {
    fn from(said: Consent) -> host::guard::Consent {
        host::guard::Consent {
            erase_serials: said.erase,
            erase_signature: said.erase_signature,
            devices: said.allow_device,
            ..host::guard::Consent::default()
        }
    }
}

/// Consent to write over a range of a disk that holds nothing.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct ScratchConsent {
    /// Consent to write over a range of the disk with this serial number
    #[arg(long, value_name = "SERIAL", help_heading = "Consent")]
    pub erase: Vec<String>,

    /// Consent to write over a range of a block device that has no serial number, such as a loop
    /// device
    #[arg(long, value_name = "PATH", help_heading = "Consent")]
    pub allow_device: Vec<PathBuf>,
}

impl From<ScratchConsent> for host::guard::Consent {
    fn from(said: ScratchConsent) -> host::guard::Consent {
        host::guard::Consent {
            erase_serials: said.erase,
            devices: said.allow_device,
            ..host::guard::Consent::default()
        }
    }
}

/// Consent to use a device as it is.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct UseConsent {
    /// Consent to use a block device that has no serial number, such as a loop device (once for
    /// each)
    #[arg(long, value_name = "PATH", help_heading = "Consent")]
    pub allow_device: Vec<PathBuf>,

    /// Take disk images (VHD, VHDX, qcow2, VDI, VMDK) for the bytes that they are made of
    #[arg(long, help_heading = "Consent")]
    pub raw: bool,
}

impl From<UseConsent> for host::guard::Consent {
    fn from(said: UseConsent) -> host::guard::Consent {
        host::guard::Consent {
            devices: said.allow_device,
            raw: said.raw,
            in_place: true,
            ..host::guard::Consent::default()
        }
    }
}
