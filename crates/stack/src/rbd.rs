//! `rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT]`: which image of which Ceph cluster.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How long a cluster may take until it has opened an image, where nothing is said.
pub(crate) const CONNECT_TIME: Duration = Duration::from_secs(30);

/// An image of a Ceph cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RbdImage {
    /// The pool that it is in.
    pub pool: String,
    /// The namespace within the pool.
    pub namespace: Option<String>,
    /// Its name.
    pub image: String,
    /// The snapshot of it, which is only read.
    pub snapshot: Option<String>,
    /// The cluster's configuration; where Ceph looks for it otherwise.
    pub conf: Option<PathBuf>,
    /// The user of the cluster, without `client.`; Ceph's own choice otherwise, which is `admin`.
    pub id: Option<String>,
    /// Refuse writes.
    pub read_only: bool,
    /// How long the cluster may take until it has opened the image.
    pub connect_time: Duration,
}

impl RbdImage {
    /// The image that `POOL[/NAMESPACE]/IMAGE[@SNAPSHOT]` names, as the `rbd` program has it.
    #[must_use]
    pub fn parse(address: &str) -> Option<RbdImage> {
        let (place, snapshot) = match address.split_once('@') {
            Some((place, snapshot)) => (place, Some(snapshot)),
            None => (address, None),
        };
        let parts: Vec<&str> = place.split('/').collect();
        let (pool, namespace, image) = match parts[..] {
            [pool, image] => (pool, None, image),
            [pool, namespace, image] => (pool, Some(namespace), image),
            _ => return None,
        };
        let said = [Some(pool), namespace, Some(image), snapshot];
        let is_name = |name: &str| !name.is_empty() && !name.contains('@');
        said.into_iter().flatten().all(is_name).then(|| RbdImage {
            pool: pool.to_owned(),
            namespace: namespace.map(str::to_owned),
            image: image.to_owned(),
            snapshot: snapshot.map(str::to_owned),
            conf: None,
            id: None,
            read_only: snapshot.is_some(),
            connect_time: CONNECT_TIME,
        })
    }
}

/// As in stack text, without options.
impl fmt::Display for RbdImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rbd:{}/", self.pool)?;
        self.namespace.iter().try_for_each(|name| write!(f, "{name}/"))?;
        f.write_str(&self.image)?;
        self.snapshot.iter().try_for_each(|name| write!(f, "@{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_named_as_the_rbd_program_names_them() {
        for text in ["p/a", "p/n/a", "p/a@s", "p/n/a@s"] {
            let image = RbdImage::parse(text).expect("an image");
            assert_eq!(image.to_string(), format!("rbd:{text}"));
            assert_eq!(image.read_only, text.contains('@'), "a snapshot is never written to");
        }
        for text in ["", "a", "/a", "p/", "p/a@", "p//a", "p/n/a/b", "p/a@s@t"] {
            assert_eq!(RbdImage::parse(text), None, "{text}");
        }
    }
}
