//! What hundreds of thousands of trials have in common is there once: the settings of their
//! configurations, and the names of their metrics.
//!
//! ```text
//!   trial ── Settings ──┐                        trial ── Metrics [(name, figure), …]
//!   trial ── Settings ──┴─> {"chunk": "64KiB"}   trial ── Metrics [(name, figure), …]
//!                                                                    └──> "io_per_second"
//! ```
//!
//! Both are read and written as the maps that they stand for, and look like them.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::ops::{Deref, DerefMut, Index};
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The one that is known already of what equals it, or this one from now on. Known are a thread's
/// own, as long as anything else has them.
fn known<T, Q>(all: &RefCell<HashSet<Arc<T>>>, wanted: &Q, make: impl FnOnce() -> Arc<T>) -> Arc<T>
where
    T: Eq + Hash + ?Sized,
    Q: Eq + Hash + ?Sized,
    Arc<T>: Borrow<Q>,
{
    let mut all = all.borrow_mut();
    if let Some(known) = all.get(wanted) {
        return known.clone();
    }
    // Now and then those that nobody has any more go.
    if all.len() == all.capacity() {
        all.retain(|one| Arc::strong_count(one) > 1);
    }
    let made = make();
    all.insert(made.clone());
    made
}

thread_local! {
    static NAMES: RefCell<HashSet<Arc<str>>> = RefCell::default();
    static SETTINGS: RefCell<HashSet<Arc<BTreeMap<String, String>>>> = RefCell::default();
}

/// Settings of a configuration, axis name to value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Settings(Arc<BTreeMap<String, String>>);

impl Deref for Settings {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// Changes are the owner's alone.
impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl From<BTreeMap<String, String>> for Settings {
    fn from(settings: BTreeMap<String, String>) -> Self {
        let made = Arc::new(settings);
        Self(SETTINGS.with(|all| known(all, &made.clone(), || made)))
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics(Vec<(Arc<str>, f64)>);

impl Metrics {
    /// Where a metric is, or would be.
    fn place(&self, name: &str) -> Result<usize, usize> {
        // There are some ten of them, and most differ in length.
        let found = self.0.iter().position(|(known, _)| **known == *name);
        found.ok_or_else(|| self.0.partition_point(|(known, _)| **known < *name))
    }

    /// The figure of a metric.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&f64> {
        self.place(name).ok().map(|place| &self.0[place].1)
    }

    /// The same, with the place where one was found last: trials of one workload have the same
    /// metrics, so that it is there again.
    pub(crate) fn get_near(&self, name: &str, place: &mut usize) -> Option<f64> {
        match self.0.get(*place) {
            Some((known, figure)) if **known == *name => Some(*figure),
            _ => {
                *place = self.place(name).ok()?;
                Some(self.0[*place].1)
            }
        }
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut f64> {
        self.place(name).ok().map(|place| &mut self.0[place].1)
    }

    /// Whether there is one.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Puts a figure in, in the place of an earlier one.
    pub fn insert(&mut self, name: impl AsRef<str>, figure: f64) {
        let name = name.as_ref();
        match self.place(name) {
            Ok(place) => self.0[place].1 = figure,
            Err(place) => {
                let name = NAMES.with(|all| known(all, name, || Arc::from(name)));
                self.0.insert(place, (name, figure));
            }
        }
    }

    /// Takes a metric out.
    pub fn remove(&mut self, name: &str) -> Option<f64> {
        self.place(name).ok().map(|place| self.0.remove(place).1)
    }

    /// Keeps those of which this is so.
    pub fn retain(&mut self, mut keeps: impl FnMut(&str, f64) -> bool) {
        self.0.retain(|(name, figure)| keeps(name, *figure));
    }

    /// Takes all of them out.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Names and figures, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, figure)| (&**name, *figure))
    }

    /// The names, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// The figures, to be changed, in the order of the names.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.0.iter_mut().map(|(_, figure)| figure)
    }
}

impl Index<&str> for Metrics {
    type Output = f64;

    /// # Panics
    /// Where there is none of this name.
    fn index(&self, name: &str) -> &f64 {
        self.get(name).unwrap_or_else(|| panic!("no metric is called {name}"))
    }
}

impl IntoIterator for Metrics {
    type Item = (Arc<str>, f64);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<N: AsRef<str>> Extend<(N, f64)> for Metrics {
    fn extend<I: IntoIterator<Item = (N, f64)>>(&mut self, more: I) {
        more.into_iter().for_each(|(name, figure)| self.insert(name, figure));
    }
}

impl<N: AsRef<str>> FromIterator<(N, f64)> for Metrics {
    fn from_iter<I: IntoIterator<Item = (N, f64)>>(all: I) -> Self {
        let mut metrics = Self::default();
        metrics.extend(all);
        metrics.0.shrink_to_fit();
        metrics
    }
}

impl From<BTreeMap<String, f64>> for Metrics {
    fn from(all: BTreeMap<String, f64>) -> Self {
        all.into_iter().collect()
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, figure) in self.iter() {
            map.serialize_entry(name, &figure)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Metrics;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("a map of metrics")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metrics, A::Error> {
                let mut metrics = Metrics::default();
                while let Some((name, figure)) =
                    map.next_entry::<std::borrow::Cow<'de, str>, f64>()?
                {
                    metrics.insert(name, figure);
                }
                metrics.0.shrink_to_fit();
                Ok(metrics)
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
