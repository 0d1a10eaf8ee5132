//! Values of options as the texts that people write for them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use words::Text;

fn read<'de, D: Deserializer<'de>, T>(
    from: D,
    parse: impl Fn(&str) -> Result<T, Text>,
) -> Result<T, D::Error> {
    parse(&String::deserialize(from)?).map_err(D::Error::custom)
}

pub(super) mod stack {
    use block::Node;
    use serde::{Deserializer, Serializer};
    use words::Text;

    use crate::pull::text::read;

    pub(crate) fn serialize<S: Serializer>(node: &Node, into: S) -> Result<S::Ok, S::Error> {
        into.collect_str(node)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Node, D::Error> {
        read(from, |text| crate::stacks::parse(text).map_err(Text::from))
    }
}

pub(super) mod file_system {
    use host::mount::FileSystem;
    use serde::{Deserializer, Serializer};
    use words::Text;

    use crate::pull::text::read;

    pub(crate) fn serialize<S: Serializer>(kind: &FileSystem, into: S) -> Result<S::Ok, S::Error> {
        into.serialize_str(kind.name)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<FileSystem, D::Error> {
        read(from, |text| FileSystem::named(text).map_err(Text::from))
    }
}

pub(super) mod removal {
    use export::RemovalPolicy;
    use serde::{Deserializer, Serializer};

    use crate::pull::text::read;

    pub(crate) fn serialize<S: Serializer>(
        policy: &RemovalPolicy,
        into: S,
    ) -> Result<S::Ok, S::Error> {
        into.collect_str(policy)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<RemovalPolicy, D::Error> {
        read(from, str::parse::<RemovalPolicy>)
    }
}

pub(super) mod state {
    use guest::ArrayCompleteness;
    use serde::{Deserializer, Serializer};

    use crate::pull::text::read;

    pub(crate) fn serialize<S: Serializer>(
        state: &ArrayCompleteness,
        into: S,
    ) -> Result<S::Ok, S::Error> {
        into.collect_str(state)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<ArrayCompleteness, D::Error> {
        read(from, str::parse)
    }
}
