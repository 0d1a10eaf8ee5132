//! What hundreds of thousands of trials have in common is there once: the settings of their
//! configurations, and the names of their metrics.
//!
//! ```text
//!   trial ── Settings ──┐
//!   trial ── Settings ──┴─> {"chunk": "64KiB"}
//!   trial ── Metrics [figure, …] ──┐
//!   trial ── Metrics [figure, …] ──┴─> ["io_per_second", …]
//! ```
//!
//! Both are read and written as the maps that they stand for, and look like them.

use std::borrow::{Borrow, Cow};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Deref, DerefMut, Index};
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The one that is known already of what equals it, or this one from now on. Known are a thread's
/// own, as long as anything else has them.
fn known<K, V: Clone, Q>(
    all: &RefCell<HashMap<K, V>>,
    wanted: &Q,
    is_used: impl Fn(&V) -> bool,
    make: impl FnOnce() -> (K, V),
) -> V
where
    K: Eq + Hash + Borrow<Q>,
    Q: Eq + Hash + ?Sized,
{
    let mut all = all.borrow_mut();
    if let Some(known) = all.get(wanted) {
        return known.clone();
    }
    // Now and then those that nobody has any more go.
    if all.len() == all.capacity() {
        all.retain(|_, one| is_used(one));
    }
    let (key, made) = make();
    all.insert(key, made.clone());
    made
}

/// Names of metrics, in their order.
type Names = Arc<[Box<str>]>;

thread_local! {
    static NAMES: RefCell<HashMap<Box<str>, Names>> = RefCell::default();
    static SETTINGS: RefCell<HashMap<Settings, Settings>> = RefCell::default();
}

/// Settings, and what they hash to as long as they are as they were read.
#[derive(Clone, Debug, Default)]
struct HashedSettings {
    settings: BTreeMap<String, String>,
    hash: Option<u64>,
}

/// Settings of a configuration, axis name to value.
#[derive(Clone, Debug, Default)]
pub struct Settings(Arc<HashedSettings>);

fn hash_of(settings: &BTreeMap<String, String>) -> u64 {
    let mut hasher = DefaultHasher::new();
    settings.hash(&mut hasher);
    hasher.finish()
}

impl Hash for Settings {
    fn hash<H: Hasher>(&self, to: &mut H) {
        to.write_u64(self.0.hash.unwrap_or_else(|| hash_of(self)));
    }
}

/// Those that were read are the same where they are equal.
impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

impl Eq for Settings {}

impl Deref for Settings {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0.settings
    }
}

/// Changes are the owner's alone.
impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut Self::Target {
        let own = Arc::make_mut(&mut self.0);
        own.hash = None;
        &mut own.settings
    }
}

impl From<BTreeMap<String, String>> for Settings {
    fn from(settings: BTreeMap<String, String>) -> Self {
        let hash = Some(hash_of(&settings));
        let made = Self(Arc::new(HashedSettings { settings, hash }));
        let is_used = |one: &Settings| Arc::strong_count(&one.0) > 2;
        SETTINGS.with(|all| known(all, &made, is_used, || (made.clone(), made.clone())))
    }
}

impl PartialEq<BTreeMap<String, String>> for Settings {
    fn eq(&self, other: &BTreeMap<String, String>) -> bool {
        **self == *other
    }
}

impl PartialEq<Settings> for BTreeMap<String, String> {
    fn eq(&self, other: &Settings) -> bool {
        *self == **other
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(from).map(Self::from)
    }
}

/// Name of a metric -> its figure, in the order of the names.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    names: Names,
    /// Of each name.
    figures: Box<[f64]>,
}

/// Where one metric stands in a list of names, if it does.
#[derive(Default)]
pub(crate) struct LastPlace(Option<(Names, Option<usize>)>);

impl Default for Metrics {
    fn default() -> Self {
        Self::of(Vec::<(&str, f64)>::new())
    }
}

impl Metrics {
    /// Of two figures of one name the later counts.
    fn of<N: AsRef<str>>(mut all: Vec<(N, f64)>) -> Self {
        all.sort_by(|(one, _), (other, _)| one.as_ref().cmp(other.as_ref()));
        all.dedup_by(|later, earlier| {
            let is_same = later.0.as_ref() == earlier.0.as_ref();
            if is_same {
                earlier.1 = later.1;
            }
            is_same
        });
        Self { names: names(&all), figures: all.into_iter().map(|(_, figure)| figure).collect() }
    }

    /// Where a metric is.
    fn place(&self, name: &str) -> Option<usize> {
        // There are some ten of them, and most differ in length.
        self.names.iter().position(|known| **known == *name)
    }

    /// The figure of a metric.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&f64> {
        self.place(name).map(|place| &self.figures[place])
    }

    /// The same, with the place where it was found last: trials of one workload have the same
    /// metrics, so that it is there again.
    pub(crate) fn get_near(&self, name: &str, last: &mut LastPlace) -> Option<f64> {
        let place = match &last.0 {
            Some((names, place)) if Arc::ptr_eq(names, &self.names) => *place,
            _ => {
                let place = self.place(name);
                last.0 = Some((self.names.clone(), place));
                place
            }
        };
        place.map(|place| self.figures[place])
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut f64> {
        self.place(name).map(|place| &mut self.figures[place])
    }

    /// Whether the others have the same names and are known to; where not, they may all the same.
    pub(crate) fn shares_names(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.names, &other.names)
    }

    /// Whether there is one.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// Puts a figure in, in the place of an earlier one.
    pub fn insert(&mut self, name: impl AsRef<str>, figure: f64) {
        self.extend([(name, figure)]);
    }

    /// Takes a metric out.
    pub fn remove(&mut self, name: &str) -> Option<f64> {
        let figure = self.get(name).copied();
        self.retain(|known, _| known != name);
        figure
    }

    /// Keeps those of which this is so.
    pub fn retain(&mut self, mut keeps: impl FnMut(&str, f64) -> bool) {
        let kept: Vec<(&str, f64)> =
            self.iter().filter(|(name, figure)| keeps(name, *figure)).collect();
        if kept.len() < self.len() {
            *self = Self::of(kept);
        }
    }

    /// Takes all of them out.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.figures.len()
    }

    /// Names and figures, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.keys().zip(self.figures.iter().copied())
    }

    /// The names, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The figures, to be changed, in the order of the names.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.figures.iter_mut()
    }
}

/// The list of these names, which are in order; one for all that have the same.
fn names<N: AsRef<str>>(all: &[(N, f64)]) -> Names {
    let mut joined = String::new();
    for (name, _) in all {
        joined.push_str(name.as_ref());
        joined.push('\0');
    }
    let list = || all.iter().map(|(name, _)| Box::from(name.as_ref())).collect::<Names>();
    let is_used = |one: &Names| Arc::strong_count(one) > 1;
    let known = NAMES
        .with(|known_names| known(known_names, &*joined, is_used, || ((&*joined).into(), list())));
    // A name with a zero in it may look like two.
    let is_it = known.len() == all.len()
        && known.iter().zip(all).all(|(known, (name, _))| **known == *name.as_ref());
    if is_it { known } else { list() }
}

impl Index<&str> for Metrics {
    type Output = f64;

    /// # Panics
    /// Where there is none of this name.
    fn index(&self, name: &str) -> &f64 {
        self.get(name).unwrap_or_else(|| panic!("no metric is called {name}"))
    }
}

impl<N: AsRef<str>> Extend<(N, f64)> for Metrics {
    fn extend<I: IntoIterator<Item = (N, f64)>>(&mut self, more: I) {
        let mut new = Vec::new();
        for (name, figure) in more {
            match self.get_mut(name.as_ref()) {
                Some(known) => *known = figure,
                None => new.push((name, figure)),
            }
        }
        if !new.is_empty() {
            let new = new.iter().map(|(name, figure)| (name.as_ref(), *figure));
            *self = Self::of(self.iter().chain(new).collect());
        }
    }
}

impl<N: AsRef<str>> FromIterator<(N, f64)> for Metrics {
    fn from_iter<I: IntoIterator<Item = (N, f64)>>(all: I) -> Self {
        Self::of(all.into_iter().collect())
    }
}

impl From<BTreeMap<String, f64>> for Metrics {
    fn from(all: BTreeMap<String, f64>) -> Self {
        all.into_iter().collect()
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.len()))?;
        for (name, figure) in self.iter() {
            map.serialize_entry(name, &figure)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Where there is nothing escaped in it, it is read where it stands.
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Metrics;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("a map of metrics")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metrics, A::Error> {
                let mut all = Vec::new();
                while let Some((name, figure)) = map.next_entry::<Name<'de>, f64>()? {
                    all.push((name.0, figure));
                }
                Ok(Metrics::of(all))
            }
        }
        from.deserialize_map(Map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Metrics are a map, whatever is done to them.
    #[test]
    fn metrics_are_a_map_in_the_order_of_names() {
        let mut random = crate::random::Random::new(42);
        let mut below = |count: usize| (random.uniform() * count as f64) as usize % count;
        let names = ["b", "a", "latency_p50_seconds", "latency_p90_seconds", ""];
        let (mut metrics, mut map) = (Metrics::default(), BTreeMap::new());
        for step in 0..200 {
            let (name, figure) = (names[below(names.len())], f64::from(step));
            match below(4) {
                0 => assert_eq!(metrics.remove(name), map.remove(name)),
                1 => {
                    let is_even = |figure: f64| figure % 2.0 == 0.0;
                    metrics.retain(|_, figure| is_even(figure));
                    map.retain(|_, figure| is_even(*figure));
                }
                _ => {
                    metrics.insert(name, figure);
                    map.insert(name.to_owned(), figure);
                }
            }
            for name in names {
                assert_eq!(metrics.get(name), map.get(name));
                assert_eq!(metrics.contains_key(name), map.contains_key(name));
            }
            assert!(metrics.keys().eq(map.keys().map(String::as_str)));
            let text = serde_json::to_string(&metrics).unwrap();
            assert_eq!(text, serde_json::to_string(&map).unwrap());
            assert_eq!(serde_json::from_str::<Metrics>(&text).unwrap(), metrics);
            assert_eq!(Metrics::from(map.clone()), metrics);
        }
    }

    #[test]
    fn what_is_read_twice_is_there_once_and_changed_alone() {
        let read = || serde_json::from_str::<Settings>(r#"{"chunk": "64KiB"}"#).unwrap();
        let (one, mut other) = (read(), read());
        assert!(Arc::ptr_eq(&one.0, &other.0));
        other.insert("level".to_owned(), "raid0".to_owned());
        assert_eq!((one.len(), other.len()), (1, 2));
        assert_eq!(one, BTreeMap::from([("chunk".to_owned(), "64KiB".to_owned())]));
        let escaped = serde_json::from_str::<Metrics>(r#"{"\u0061": 1.0}"#).unwrap();
        assert_eq!(escaped["a"], 1.0);
    }
}
