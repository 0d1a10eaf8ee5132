//! What a drive's model says of the drive without running it, and which model stands for a drive.

use device::model::data_sheet::Group;
use device::model::{Geometry, ModelError, Parameters};

/// What is known of a modelled drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveFacts {
    /// Maker and product.
    pub title: String,
    /// Whether its medium turns.
    pub rotates: bool,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Whether the model says how it writes.
    pub writes_are_modelled: bool,
    /// Whether any parameter is known only as between two values: then sets can be drawn.
    pub has_intervals: bool,
    /// How long its whole medium takes to be written from end to end at full speed, in seconds;
    /// none where that is not known: shingles, and NVMe drives of which no source states when
    /// their fast region is full.
    pub whole_seconds: Option<f64>,
}

/// What is known of the drive that a model is called after.
///
/// # Errors
/// When there is no such model: one line, with the nearest name.
pub fn drive_facts(model: &str) -> Result<DriveFacts, ModelError> {
    let parameters = Parameters::load(model)?;
    let writes_are_modelled = parameters.sheet.is_none_or(|sheet| sheet.not_modelled.is_none());
    Ok(DriveFacts {
        rotates: parameters.rotates(),
        size_bytes: Geometry::new(&parameters).capacity(),
        whole_seconds: whole_seconds(&parameters).filter(|_| writes_are_modelled),
        writes_are_modelled,
        has_intervals: parameters.has_intervals(),
        title: parameters.title,
    })
}

/// One turn a track of a disk; of flash what its dies program once there is no fast region left,
/// or the drive's link takes if that is less.
fn whole_seconds(parameters: &Parameters) -> Option<f64> {
    const NANOSECONDS: f64 = 1e9;
    if parameters.rotates() {
        let geometry = Geometry::new(parameters);
        return Some(geometry.total_revolutions() * geometry.period() / NANOSECONDS);
    }
    let flash = parameters.flash.as_ref()?;
    let is_nvme = parameters.sheet.is_some_and(|sheet| sheet.group == Group::Nvme);
    if is_nvme && flash.region.value <= 0.0 {
        return None;
    }
    let program_time = match flash.region.value > 0.0 {
        true => flash.folding_program_time.value,
        false => flash.program_time.value,
    };
    let programmed = flash.dies.value * flash.program_unit.value / (program_time / 1e6);
    let capacity = Geometry::new(parameters).capacity() as f64;
    Some(capacity / programmed.min(parameters.disk.link_rate_write.value))
}

/// The model of the catalogue that stands for a drive: its own where the drive's name has the
/// product's number in it, else the nearest in size of its kind whose writes are modelled.
#[must_use]
pub fn nearest_model(
    own_name: Option<&str>,
    rotates: bool,
    is_nvme: bool,
    size_bytes: u64,
) -> Option<String> {
    let all =
        || Parameters::built_in_names().into_iter().filter_map(|name| Parameters::load(name).ok());
    let is_own = |model: &Parameters| {
        // Titles have it in brackets: `WD Red Plus 8 TB (WD80EFPX, 5640 rpm), NAS`.
        let number =
            model.title.split_once('(').and_then(|(_, rest)| rest.split([',', ')']).next());
        own_name.zip(number).is_some_and(|(own, number)| {
            number.len() >= 6 && own.to_ascii_uppercase().contains(&number.to_ascii_uppercase())
        })
    };
    if let Some(own) = all().find(is_own) {
        return Some(own.name);
    }
    let group = match (rotates, is_nvme) {
        (true, _) => Group::Spinning,
        (false, true) => Group::Nvme,
        (false, false) => Group::SataSsd,
    };
    let is_of_kind = |model: &Parameters| {
        model.sheet.is_some_and(|sheet| sheet.group == group && sheet.not_modelled.is_none())
    };
    let distance = |model: &Parameters| {
        let capacity = Geometry::new(model).capacity().max(1) as f64;
        (capacity / size_bytes.max(1) as f64).ln().abs()
    };
    let models = all().filter(is_of_kind);
    let nearest = models.min_by(|one, other| distance(one).total_cmp(&distance(other)));
    nearest.map(|model| model.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_stood_for_by_its_own_model_or_the_nearest() {
        let nearest = |name: Option<&str>, rotates, is_nvme, terabytes: f64| {
            nearest_model(name, rotates, is_nvme, (terabytes * 1e12) as u64).unwrap()
        };
        assert_eq!(nearest(Some("WDC WD80EFPX-68C4ZN0"), true, false, 8.0), "wd-red-plus-8tb");
        for (rotates, is_nvme, terabytes) in
            [(true, false, 4.0), (false, false, 0.25), (false, true, 2.0)]
        {
            let name = nearest(Some("QEMU HARDDISK"), rotates, is_nvme, terabytes);
            let model = Parameters::load(&name).unwrap();
            assert_eq!(model.rotates(), rotates, "{name}");
        }
    }

    #[test]
    fn a_whole_drive_takes_as_long_as_its_rates_say() {
        // 8 TB, 215 MB/s outside and about half of it inside.
        let hours = drive_facts("wd-red-plus-8tb").unwrap().whole_seconds.unwrap() / 3600.0;
        assert!((10.0..20.0).contains(&hours), "{hours}");
        let smr = drive_facts("wd-blue-6tb-smr").unwrap();
        assert_eq!(smr.whole_seconds, None);
        let minutes = drive_facts("samsung-980-pro-1tb").unwrap().whole_seconds.unwrap() / 60.0;
        assert!((2.0..60.0).contains(&minutes), "{minutes}");
        assert!(
            drive_facts("wd-red-plus-9tb").unwrap_err().to_string().contains("wd-red-plus-8tb")
        );
    }
}
