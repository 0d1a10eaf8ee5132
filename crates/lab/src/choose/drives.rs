//! What there is to choose with: modelled drives, drives of this machine, files to try it.
//!
//! ```text
//!   4 x wd-red-plus-8tb        a number of a model: a name of `model show`, or a path of a model
//!   8 x wd-red-plus-8tb@180    the same with the price of one, in its user's money
//!   /dev/disk/by-id/ata-…      a drive, or a file that is there
//!   4 x .                      a folder: files that the run makes in it, and removes
//! ```

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use host::Error;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use words::statement;

use super::layout::{Member, decimal_size};
use crate::catalogue;
use crate::stacks;

/// The size of a file that stands for a drive, in bytes.
const MADE_BYTES: u64 = 32 << 20;
/// How many files there are in a folder that no number stands before.
const MADE_COUNT: usize = 4;
/// More drives than a chassis of four units holds are a slip.
const DRIVES_MAX: usize = 36;

/// A drive to choose with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// What it is.
    pub member: Member,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Maker and product, or what kind of thing it is and its size.
    pub title: String,
    /// The model that is run; none where the drive itself is.
    pub model: Option<String>,
    /// What one costs, in whatever money its user counts in; none where that was not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
}

impl Drive {
    /// What is known of the model that is run; none where the drive itself is.
    pub(super) fn facts(&self) -> Option<stack::DriveFacts> {
        // Options behind the name change a drive and not what it is.
        stack::drive_facts(self.model.as_deref()?.split('?').next()?).ok()
    }
}

/// All of them, the largest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drives {
    /// The drives, the largest first.
    pub all: Vec<Drive>,
    /// The folder in which files are made that stand for drives.
    pub folder: Option<PathBuf>,
    /// What they may cost, where as many were taken as that buys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// What drives may cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// All of them, in the money of their prices.
    pub most: f64,
    /// Of so many drives as many are taken as it buys.
    pub offered: usize,
}

/// A word of the command line and how often it counts.
struct CountedWord<'a> {
    count: Option<usize>,
    word: &'a str,
}

/// Reads `4 x NAME`, `NAME`, and several of either.
fn counted(words: &[String]) -> Result<Vec<CountedWord<'_>>, Error> {
    let mut all = Vec::new();
    let mut rest = words.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        let is_times = rest.peek() == Some(&"x");
        let glued = word.strip_suffix('x').and_then(|number| number.parse::<usize>().ok());
        let count = match (word.parse::<usize>(), is_times) {
            (Ok(count), true) => {
                rest.next();
                Some(count)
            }
            _ => glued,
        };
        let Some(count) = count else {
            all.push(CountedWord { count: None, word });
            continue;
        };
        let Some(word) = rest.next() else {
            let said = statement!(catalogue::DRIVES_AFTER_COUNT, count = count, example = EXAMPLE);
            return Err(Error::usage(said));
        };
        if count == 0 {
            return Err(Error::usage(statement!(catalogue::NO_DRIVE_OF_NONE, name = word)));
        }
        all.push(CountedWord { count: Some(count), word });
    }
    Ok(all)
}

/// What examples name.
const EXAMPLE: &str = "wd-red-plus-8tb";

impl Drives {
    /// What the words of the command line name. Drives that are there are measured, or run by
    /// models that stand for them.
    ///
    /// # Errors
    /// What is no drive, and what cannot be chosen with.
    pub fn read(words: &[String], measure: bool) -> Result<Drives, Error> {
        let mut drives = Drives::default();
        for CountedWord { count, word } in counted(words)? {
            let path = Path::new(word);
            if path.is_dir() {
                drives.make_in(path, count.unwrap_or(MADE_COUNT))?;
            } else if path.exists() && !word.ends_with(".toml") {
                if count.is_some_and(|count| count > 1) {
                    return Err(Error::usage(catalogue::ONE_OF_IT).at(word));
                }
                drives.all.push(own(path, measure)?);
            } else {
                let (word, price) = priced(word)?;
                let drive = Drive { price, ..modelled(word)? };
                drives.all.extend(std::iter::repeat_n(drive, count.unwrap_or(1)));
            }
            if drives.all.len() > DRIVES_MAX {
                let count = drives.all.len();
                let said = statement!(catalogue::DRIVES_MAX, count = count, most = DRIVES_MAX);
                return Err(Error::usage(said));
            }
        }
        drives.check()?;
        drives.all.sort_by_key(|drive| std::cmp::Reverse(drive.size_bytes));
        Ok(drives)
    }

    /// As many of them as a budget buys: the others are left out.
    ///
    /// # Errors
    /// Where a price is not known, drives are of several prices, or fewer than two are left.
    pub fn within(mut self, most: f64) -> Result<Drives, Error> {
        let unknown = self.all.iter().find(|drive| drive.price.is_none());
        if let Some(unknown) = unknown {
            return Err(Error::usage(catalogue::PRICE_NEEDED).at(&unknown.title));
        }
        let offered = self.all.len();
        let prices: Vec<f64> = self.all.iter().filter_map(|drive| drive.price).collect();
        let Some(&each) = prices.first().filter(|first| prices.iter().all(|one| one == *first))
        else {
            return Err(Error::usage(catalogue::ONE_PRICE));
        };
        // Half of the smallest coin makes no drive too dear.
        let bought = ((most + 0.005) / each) as usize;
        if bought < 2 {
            let (budget, cost) = (price_text(most), price_text(2.0 * each));
            let said = statement!(catalogue::BUDGET_TOO_SMALL, budget = budget, cost = cost);
            return Err(Error::usage(said));
        }
        self.all.truncate(bought);
        self.budget = Some(Budget { most, offered });
        Ok(self)
    }

    fn make_in(&mut self, folder: &Path, count: usize) -> Result<(), Error> {
        if self.folder.is_some() {
            return Err(Error::usage(catalogue::ONE_FOLDER).at(folder.display()));
        }
        let folder = host::files::absolute(folder)?;
        self.all.extend((0..count).map(|number| Drive {
            member: Member::Made(number),
            size_bytes: MADE_BYTES,
            title: format!("file in {}", folder.display()),
            model: None,
            price: None,
        }));
        self.folder = Some(folder);
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        let is_made = |drive: &&Drive| matches!(drive.member, Member::Made(_));
        let made = self.all.iter().filter(is_made).count();
        if made > 0 && made < self.all.len() {
            return Err(Error::usage(catalogue::FILES_ALONE));
        }
        let runs_model = |drive: &Drive| drive.model.is_some();
        let models = self.all.iter().filter(|drive| runs_model(drive)).count();
        if models > 0 && models < self.all.len() {
            return Err(Error::usage(catalogue::OTHER_CLOCKS));
        }
        let mut paths: Vec<&PathBuf> = Vec::new();
        for drive in &self.all {
            if let Member::Path(path) = &drive.member {
                paths.push(path);
            }
        }
        if let Some((earlier, later)) =
            stack::Identity::same_twice(paths.iter().map(|path| path.as_path()))
        {
            return Err(Error::usage(stack::twice_text(earlier, later)));
        }
        match self.all.len() {
            0 => Err(Error::usage(statement!(catalogue::NAME_DRIVES, example = EXAMPLE))),
            1 => Err(Error::usage(statement!(catalogue::ONE_DRIVE, example = EXAMPLE))),
            _ => Ok(()),
        }
    }

    /// Whether models are run.
    #[must_use]
    pub fn are_modelled(&self) -> bool {
        self.all.iter().all(|drive| drive.model.is_some())
    }

    /// Whether the files are made by the run.
    #[must_use]
    pub fn are_made(&self) -> bool {
        self.folder.is_some()
    }

    /// Whether any of the modelled ones turns.
    pub(super) fn any_rotates(&self) -> bool {
        self.facts().any(|facts| facts.rotates)
    }

    /// Whether any of the modelled ones does not.
    pub(super) fn any_of_flash(&self) -> bool {
        self.facts().any(|facts| !facts.rotates)
    }

    /// Whether the models of all that are modelled say how they write.
    pub(super) fn writes_are_modelled(&self) -> bool {
        self.facts().all(|facts| facts.writes_are_modelled)
    }

    /// Whether sets of any model's parameters can be drawn.
    pub(super) fn any_interval(&self) -> bool {
        self.facts().any(|facts| facts.has_intervals)
    }

    fn facts(&self) -> impl Iterator<Item = stack::DriveFacts> {
        self.all.iter().filter_map(Drive::facts)
    }
}

/// A modelled drive.
fn modelled(word: &str) -> Result<Drive, Error> {
    let name = word.strip_prefix("model:").unwrap_or(word);
    let bare = name.split('?').next().unwrap_or(name);
    let facts = stack::drive_facts(bare).map_err(|error| {
        match word.starts_with('/') || word.starts_with('.') {
            true => Error::usage(catalogue::NO_SUCH_DRIVE).at(word),
            false => Error::usage(error),
        }
    })?;
    let member = Member::Model(name.to_owned());
    let size_bytes = stacks::dry(&member.node(), None)?.size_bytes;
    Ok(Drive { member, size_bytes, title: facts.title, model: Some(name.to_owned()), price: None })
}

/// `NAME@180`: a model, and the price of one. Nothing here has prices of its own: they change, and
/// nobody could look up where they are from.
fn priced(word: &str) -> Result<(&str, Option<f64>), Error> {
    let Some((name, price)) = word.rsplit_once('@') else { return Ok((word, None)) };
    price_of(price).map(|price| (name, Some(price))).map_err(|error| error.at(word))
}

/// A price, in whatever money its user counts in.
///
/// # Errors
/// What is no number above zero.
pub fn price_of(text: &str) -> Result<f64, Error> {
    let price = text.parse::<f64>().ok().filter(|price| price.is_finite() && *price > 0.0);
    price.ok_or_else(|| Error::usage(statement!(catalogue::NO_PRICE, text = text)))
}

/// A drive or file of this machine.
fn own(path: &Path, measure: bool) -> Result<Drive, Error> {
    let wrong = |error: &std::io::Error| Error::from_io(path.display(), error);
    let metadata = fs::metadata(path).map_err(|error| wrong(&error))?;
    let is_device = metadata.file_type().is_block_device();
    if !is_device && !metadata.is_file() {
        return Err(Error::usage(catalogue::NO_DRIVE).at(path.display()));
    }
    let to_write = Access::READ_OK | Access::WRITE_OK;
    if measure && access(path, to_write) == Err(Errno::ACCESS) {
        return Err(Error::refused(catalogue::NOT_MAY_WRITE).at(path.display()));
    }
    let absolute = std::path::absolute(path).map_err(|error| wrong(&error))?;
    let member = Member::Path(absolute);
    let known = is_device.then(|| host::guard::look_at(path)).flatten();
    let size_bytes = match &known {
        Some(drive) => drive.size_bytes,
        None => {
            stacks::dry(&member.node(), None)
                .map_err(|error| match is_device {
                    true => {
                        let error = error.text();
                        Error::refused(statement!(catalogue::UNUSABLE_DRIVE, error = error))
                            .at(path.display())
                    }
                    false => error,
                })?
                .size_bytes
        }
    };
    let own_name = known.as_ref().and_then(|drive| drive.model.clone());
    // A path says where it is and not what: drives without a product's name are alike by size.
    let title = own_name.clone().unwrap_or_else(|| {
        let kind = if is_device { "drive" } else { "file" };
        format!("{kind} of {}", decimal_size(size_bytes))
    });
    // Nothing that is there is written to unless it is to be measured: a model stands for it.
    let model = match measure {
        true => None,
        false => {
            let rotates = known.as_ref().is_some_and(|drive| drive.rotational);
            let is_nvme = known.as_ref().is_some_and(|drive| drive.name.starts_with("nvme"));
            let nearest = stack::nearest_model(own_name.as_deref(), rotates, is_nvme, size_bytes);
            Some(nearest.ok_or_else(|| Error::usage(catalogue::NO_MODEL).at(path.display()))?)
        }
    };
    Ok(Drive { member, size_bytes, title, model, price: None })
}

/// A price as people write it: without cents where there are none.
fn price_text(price: f64) -> String {
    let text = format!("{price:.2}");
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_number_and_a_name_are_so_many_drives() {
        let drives = Drives::read(&words("2 x wd-red-plus-8tb 1x seagate-ironwolf-12tb"), false);
        let drives = drives.unwrap();
        let titles: Vec<&str> = drives.all.iter().map(|drive| drive.title.as_str()).collect();
        assert_eq!(titles.len(), 3);
        assert!(titles[0].contains("IronWolf"), "the largest comes first: {titles:?}");
        assert!(drives.are_modelled() && drives.any_rotates());
        for (text, said) in [
            ("", "name the drives"),
            ("1 x wd-red-plus-8tb", "one drive is no array"),
            ("4 x", "name the drives"),
            ("0 x wd-red-plus-8tb", "no drive"),
            ("4 x wd-red-plus-9tb", "wd-red-plus-8tb"),
            ("99 x wd-red-plus-8tb", "at most 36"),
            ("2 x /nowhere/at-all", "no file, drive or folder"),
        ] {
            let error = Drives::read(&words(text), false).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn a_budget_buys_so_many_drives_at_the_users_price() {
        let read = |text: &str| Drives::read(&words(text), false);
        let eight = read("8 x wd-red-plus-8tb@179.90").unwrap();
        assert_eq!(eight.all[0].member, Member::Model("wd-red-plus-8tb".to_owned()));
        let bought = eight.clone().within(899.5).unwrap();
        assert_eq!(bought.all.len(), 5);
        assert_eq!(bought.budget, Some(Budget { most: 899.5, offered: 8 }));
        assert_eq!(eight.clone().within(1e6).unwrap().all.len(), 8);
        let refused = |drives: Drives, most: f64| drives.within(most).unwrap_err().to_string();
        let said = refused(eight, 300.0);
        assert!(said.contains("300 removes") && said.contains("359.80"), "{said}");
        let said = refused(read("4 x wd-red-plus-8tb").unwrap(), 900.0);
        assert!(said.contains("NAME@180"), "{said}");
        let two = "2 x wd-red-plus-8tb@180 2 x seagate-ironwolf-12tb@250";
        assert!(refused(read(two).unwrap(), 900.0).contains("one price"));
        for wrong in ["2 x wd-red-plus-8tb@", "2 x wd-red-plus-8tb@-1", "2 x wd-red-plus-8tb@NaN"] {
            let said = read(wrong).unwrap_err().to_string();
            assert!(said.contains("is no price") && !said.contains('\n'), "{said}");
        }
    }

    #[test]
    fn what_is_there_is_not_written_to_unless_it_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let named: Vec<String> = ["a", "b"]
            .map(|name| {
                let path = folder.path().join(name);
                fs::write(&path, vec![7; 1 << 20]).unwrap();
                path.display().to_string()
            })
            .into();
        let drives = Drives::read(&named, false).unwrap();
        assert!(drives.are_modelled());
        assert!(drives.all.iter().all(|drive| drive.title == "file of 1 MB"), "{:?}", drives.all);
        assert!(Drives::read(&named, true).unwrap().all.iter().all(|drive| drive.model.is_none()));
    }

    #[test]
    fn a_folder_is_files_that_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let drives = Drives::read(std::slice::from_ref(&path), false).unwrap();
        assert_eq!(drives.all.len(), 4);
        assert!(drives.are_made() && !drives.are_modelled());
        let mixed = ["2".into(), "x".into(), path, "wd-red-plus-8tb".into()];
        assert!(Drives::read(&mixed, false).unwrap_err().to_string().contains("by themselves"));
    }
}
