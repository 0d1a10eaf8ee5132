//! Which consents several paths take together, so that they are asked for in one line and not one
//! after the other.

use std::fs;
use std::path::{Path, PathBuf};

use block::{Error, ErrorKind};
use words::{Text, statement};

use super::{Access, BY_ID, Consent, Findings, Guard, Kind, catalogue};

impl Consent {
    /// What is consented to here and not there, as flags of the command line: the shortest that
    /// makes up for it.
    fn flags_beyond(&self, other: &Consent) -> Vec<String> {
        let serials = self.erase_serials.iter().filter(|one| !other.erase_serials.contains(one));
        let devices = self.devices.iter().filter(|one| !other.devices.contains(one));
        let signature = self.erase_signature && !other.erase_signature;
        let serials = serials.map(|serial| format!("--erase {serial}"));
        let devices = devices.map(|path| format!("--allow-device {}", path.display()));
        let signature = signature.then(|| "--erase-signature".to_owned());
        serials.chain(devices).chain(signature).collect()
    }

    /// The same and what this path takes beside it, as far as any consent does.
    fn add_what_takes(&mut self, found: &Findings) {
        if !self.in_place {
            self.erase_signature |= found.signature.is_some() || found.partitions > 0;
        }
        if !matches!(found.kind, Kind::Device(_)) {
            return;
        }
        let has_identity = found.named.parent() == Some(Path::new(BY_ID));
        if found.by_id.is_none() && !has_identity {
            if !self.devices.contains(&found.named) {
                self.devices.push(found.named.clone());
            }
        } else if let Some(serial) = found.serial.as_ref().filter(|_| !self.in_place)
            && !self.erase_serials.contains(serial)
        {
            self.erase_serials.push(serial.clone());
        }
    }
}

impl Guard {
    /// Whether `open` would refuse to write to any of the paths, without opening one for writing.
    /// Where consents are all that is missing, one line names all of them.
    ///
    /// # Errors
    /// As [`Guard::open`]: for what no consent helps against, that.
    pub fn check_all(&self, paths: &[PathBuf]) -> Result<(), Error> {
        let found: Vec<Findings> =
            paths.iter().map(|path| self.findings(path)).collect::<Result<_, _>>()?;
        self.judge_all(&found)
    }

    /// Whether all of what was found may be written to. Pure.
    fn judge_all(&self, all: &[Findings]) -> Result<(), Error> {
        let mut consent = self.consent.clone();
        let mut kept_back = Vec::new();
        for found in all {
            if let Err(error) = self.judge(found, Access::Write) {
                consent.add_what_takes(found);
                kept_back.push((found, error));
            }
        }
        let consenting = Guard::new(consent.clone());
        kept_back.iter().try_for_each(|(found, _)| consenting.judge(found, Access::Write))?;
        let flags = consent.flags_beyond(&self.consent);
        if kept_back.len() < 2 && flags.len() < 2 {
            // One thing is in the way, which its own line says best.
            return kept_back.pop().map_or(Ok(()), |(_, error)| Err(error));
        }
        let names = kept_back.iter().map(|(found, _)| found.name_and_mark());
        let why = statement!(catalogue::CONSENTS_NEEDED, flags = flags.join(" "));
        Err(Error::new(ErrorKind::Refused, why).at(Text::joined(names, ", ")))
    }

    /// What is known of a path that is to be written to.
    pub(super) fn findings(&self, path: &Path) -> Result<Findings, Error> {
        let failed = |error| Error::from_io(catalogue::LOOKING, error).at(path.display());
        let real = fs::canonicalize(path).map_err(failed)?;
        self.look(path, &real, Access::Write).map_err(failed)
    }
}

impl Findings {
    fn name_and_mark(&self) -> Text {
        let name = self.named.display();
        match (self.signature, self.partitions) {
            (Some(signature), _) => format_args!("{name} ({signature})").into(),
            (None, 0) => name.into(),
            (None, count) => {
                statement!(catalogue::PARTITIONS_SHORT, name = name, count = count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DeviceNumber;
    use super::*;

    /// Every kind of thing that can be named: files and devices, with and without a mark,
    /// partitions, an identity.
    fn things() -> Vec<Findings> {
        let mut all = Vec::new();
        for place in 0..24_u32 {
            let is_device = place % 3 > 0;
            let (has_identity, has_mark) = (place % 3 == 2, place / 3 % 2 == 1);
            let name = format!("thing{place}");
            all.push(Findings {
                named: match has_identity {
                    true => Path::new(BY_ID).join(&name),
                    false => PathBuf::from(format!("/dev/{name}")),
                },
                kind: match is_device {
                    true => Kind::Device(DeviceNumber { major: 7, minor: place }),
                    false => Kind::File,
                },
                by_id: has_identity.then(|| Path::new(BY_ID).join(&name)),
                serial: has_identity.then(|| format!("SERIAL{place}")),
                signature: has_mark.then_some("XFS"),
                partitions: usize::from(is_device && place / 6 % 2 == 1),
                ..Findings::default()
            });
        }
        all
    }

    fn consent_of(flags: &[&str]) -> Consent {
        let mut consent = Consent::default();
        for flag in flags {
            match flag.split_once(' ') {
                Some(("--erase", serial)) => consent.erase_serials.push(serial.to_owned()),
                Some(("--allow-device", path)) => consent.devices.push(path.into()),
                _ => consent.erase_signature = true,
            }
        }
        consent
    }

    /// "The consent line is the shortest that works and is printed whole when refused": of every
    /// three things, whatever was consented to of it already.
    #[test]
    fn what_is_asked_for_is_enough_and_nothing_of_it_can_be_left_out() {
        let things = things();
        let mut refusals = 0;
        for first in 0..things.len() {
            for second in 0..things.len() {
                let all =
                    [&things[first], &things[second], &things[(first + second) % things.len()]]
                        .map(Clone::clone);
                let Err(error) = Guard::default().judge_all(&all) else { continue };
                let text = error.to_string();
                let Some((_, said)) = text.split_once("To consent to that, add ") else {
                    continue;
                };
                refusals += 1;
                let words = said.replace(" --", "\n--");
                let flags: Vec<&str> = words.lines().collect();
                let judge = |flags: &[&str]| Guard::new(consent_of(flags)).judge_all(&all);
                judge(&flags).unwrap();
                for left_out in 0..flags.len() {
                    let mut fewer = flags.clone();
                    fewer.remove(left_out);
                    let error = judge(&fewer).unwrap_err().to_string();
                    let missing = flags[left_out].split(' ').next().unwrap_or_default();
                    assert!(error.contains(missing), "{said}: {error}");
                }
            }
        }
        assert!(refusals > 300, "{refusals}");
    }

    #[test]
    fn what_no_consent_helps_against_is_said_alone() {
        let things = things();
        let mounted = Findings { mounted_at: vec!["/home".into()], ..things[5].clone() };
        let all = [things[1].clone(), things[4].clone(), mounted];
        let error = Guard::default().judge_all(&all).unwrap_err().to_string();
        assert!(error.contains("it is mounted at /home"), "{error}");
        assert!(!error.contains("--allow-device"), "{error}");
    }
}
