//! Every trial as Parquet, for programs that ask many runs at once: one row a trial, each column of
//! one type.
//!
//! ```text
//!   run plan started | configuration is_baseline, each axis | suite workload work block … | each metric | flags, members, host
//! ```

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{Type, TypePtr};
use results::types::{Clock, Configuration, Run, Trial};

use crate::numbers;
use crate::words::{self, Language};

/// The trials of a run, in the order in which they were finished; `name` is what the run is called.
///
/// Metrics are in base units, as in `trials.jsonl`. What a trial lacks is null: an axis that does
/// not apply, a metric that its suite does not measure.
#[must_use]
pub fn parquet(run: &Run, name: &str) -> Vec<u8> {
    // Programs read the same whatever the language.
    let columns = words::in_language(Language::English, || columns(run, name));
    written(&columns).expect("columns of one length, written into memory")
}

/// A column's name and its values, one a trial.
struct Column {
    name: String,
    values: Values,
}

enum Values {
    Text(Vec<Option<String>>),
    /// Microseconds after 1970.
    Moment(Vec<Option<i64>>),
    Is(Vec<bool>),
    Number(Vec<i32>),
    Figure(Vec<Option<f64>>),
    Texts(Vec<Vec<String>>),
    Bytes(Vec<Vec<i64>>),
    /// Names and what each says.
    Facts(Vec<Vec<(String, String)>>),
}

fn columns(run: &Run, name: &str) -> Vec<Column> {
    let plan = &run.plan;
    let mut columns: Vec<Column> = Vec::new();
    let mut add = |name: &str, values: Values| {
        // Names of axes and metrics come from outside; a file has each name once.
        let mut name = shown(name);
        while columns.iter().any(|known| known.name == name) {
            name.push('_');
        }
        columns.push(Column { name, values });
    };
    let every = |text: &dyn Fn(&Trial) -> Option<String>| {
        Values::Text(run.trials.iter().map(text).collect())
    };
    let configuration = |trial: &Trial| -> Option<&Configuration> {
        plan.configurations.iter().find(|known| known.settings == trial.settings)
    };
    let workload = |trial: &Trial| plan.workloads.iter().find(|known| known.name == trial.workload);
    let started = moment(&run.host.started);
    let facts: Vec<(String, String)> =
        run.host.facts.iter().map(|fact| (shown(&fact.name), shown(&fact.value))).collect();

    add("run", every(&|_| Some(shown(name))));
    add("plan", every(&|_| Some(shown(&plan.name))));
    add("started", Values::Moment(vec![started; run.trials.len()]));
    add("configuration", every(&|trial| Some(shown(&plan.label(&trial.settings)))));
    let is_baseline = |trial| configuration(trial).is_some_and(|known| known.id == known.baseline);
    add("is_baseline", Values::Is(run.trials.iter().map(is_baseline).collect()));
    for axis in &plan.axes {
        add(&axis.name, every(&|trial| trial.settings.get(&axis.name).map(|value| shown(value))));
    }
    add("suite", every(&|trial| workload(trial).map(|known| shown(&known.suite))));
    add("workload", every(&|trial| Some(shown(&trial.workload))));
    add(
        "work",
        every(&|trial| workload(trial).map(|known| numbers::kind(Some(known.group)).to_string())),
    );
    add(
        "modelled",
        Values::Is(run.trials.iter().map(|trial| trial.clock == Clock::Virtual).collect()),
    );
    let number = |number: fn(&Trial) -> u32| {
        let number = |trial| i32::try_from(number(trial)).unwrap_or(i32::MAX);
        Values::Number(run.trials.iter().map(number).collect())
    };
    add("block", number(|trial| trial.block));
    add("position", number(|trial| trial.order));
    let metrics: BTreeSet<&str> =
        run.trials.iter().flat_map(|trial| trial.metrics.keys()).collect();
    for metric in metrics {
        let figures = run.trials.iter().map(|trial| trial.metrics.get(metric).copied());
        add(metric, Values::Figure(figures.collect()));
    }
    let flags = |trial: &Trial| trial.flags.iter().map(|doubt| doubt.code().to_owned()).collect();
    add("flags", Values::Texts(run.trials.iter().map(flags).collect()));
    let bytes = |of: fn(&results::MemberTraffic) -> u64| {
        let bytes = |trial: &Trial| {
            trial
                .members
                .iter()
                .map(|member| i64::try_from(of(member)).unwrap_or(i64::MAX))
                .collect()
        };
        Values::Bytes(run.trials.iter().map(bytes).collect())
    };
    add("members_read_bytes", bytes(|member| member.read_bytes));
    add("members_written_bytes", bytes(|member| member.written_bytes));
    add("host", Values::Facts(vec![facts; run.trials.len()]));
    columns
}

/// Text from strangers, as it may stand before a terminal.
fn shown(text: &str) -> String {
    escape::text(text).into_owned()
}

/// Microseconds after 1970 of an RFC 3339 time in UTC; none for anything else.
fn moment(started: &str) -> Option<i64> {
    started.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_microsecond)
}

fn written(columns: &[Column]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(Column::field).collect::<Result<_>>()?;
    let schema = Arc::new(Type::group_type_builder("trials").with_fields(fields).build()?);
    let own = KeyValue::new("schema".to_owned(), "raidloom/trials/1".to_owned());
    let properties = WriterProperties::builder()
        .set_created_by(concat!("raidloom ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![own]))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut rows = writer.next_row_group()?;
    for column in columns {
        column.values.write(&mut rows)?;
    }
    rows.close()?;
    writer.into_inner()
}

impl Column {
    fn field(&self) -> Result<TypePtr> {
        let (text, moment) =
            (Some(LogicalType::String), Some(LogicalType::timestamp(true, TimeUnit::MICROS)));
        let (required, optional) = (Repetition::REQUIRED, Repetition::OPTIONAL);
        let name = self.name.as_str();
        match &self.values {
            Values::Text(_) => leaf(name, Physical::BYTE_ARRAY, text, optional),
            Values::Moment(_) => leaf(name, Physical::INT64, moment, optional),
            Values::Is(_) => leaf(name, Physical::BOOLEAN, None, required),
            Values::Number(_) => leaf(name, Physical::INT32, None, required),
            Values::Figure(_) => leaf(name, Physical::DOUBLE, None, optional),
            Values::Texts(_) => {
                let element = leaf("element", Physical::BYTE_ARRAY, text, required)?;
                nested(name, LogicalType::List, "list", vec![element])
            }
            Values::Bytes(_) => {
                let element = leaf("element", Physical::INT64, None, required)?;
                nested(name, LogicalType::List, "list", vec![element])
            }
            Values::Facts(_) => {
                let key = leaf("key", Physical::BYTE_ARRAY, text.clone(), required)?;
                let value = leaf("value", Physical::BYTE_ARRAY, text, required)?;
                nested(name, LogicalType::Map, "key_value", vec![key, value])
            }
        }
    }
}

pub(crate) fn leaf(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
    repetition: Repetition,
) -> Result<TypePtr> {
    let builder = Type::primitive_type_builder(name, physical);
    Ok(Arc::new(builder.with_logical_type(logical).with_repetition(repetition).build()?))
}

/// A list or a map: a group around a repeated one.
fn nested(name: &str, logical: LogicalType, each: &str, fields: Vec<TypePtr>) -> Result<TypePtr> {
    let each = Type::group_type_builder(each)
        .with_repetition(Repetition::REPEATED)
        .with_fields(fields)
        .build()?;
    let whole = Type::group_type_builder(name)
        .with_logical_type(Some(logical))
        .with_repetition(Repetition::REQUIRED)
        .with_fields(vec![Arc::new(each)])
        .build()?;
    Ok(Arc::new(whole))
}

type RowGroup<'a, W> = SerializedRowGroupWriter<'a, W>;

impl Values {
    fn write(&self, into: &mut RowGroup<'_, Vec<u8>>) -> Result<()> {
        match self {
            Values::Text(texts) => {
                let texts = texts.iter().map(|text| text.as_deref().map(ByteArray::from));
                optional::<ByteArrayType, _>(into, texts)
            }
            Values::Moment(moments) => optional::<Int64Type, _>(into, moments.iter().copied()),
            Values::Is(these) => leaf_values::<BoolType, _>(into, these, None, None),
            Values::Number(numbers) => leaf_values::<Int32Type, _>(into, numbers, None, None),
            Values::Figure(figures) => optional::<DoubleType, _>(into, figures.iter().copied()),
            Values::Texts(rows) => {
                repeated::<ByteArrayType, _>(into, rows, |text| ByteArray::from(text.as_str()))
            }
            Values::Bytes(rows) => repeated::<Int64Type, _>(into, rows, |bytes| *bytes),
            Values::Facts(rows) => {
                repeated::<ByteArrayType, _>(into, rows, |fact| ByteArray::from(fact.0.as_str()))?;
                repeated::<ByteArrayType, _>(into, rows, |fact| ByteArray::from(fact.1.as_str()))
            }
        }
    }
}

pub(crate) fn optional<T: DataType, W: Write + Send>(
    into: &mut RowGroup<'_, W>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut there, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        there.extend(value);
    }
    leaf_values::<T, _>(into, &there, Some(&levels), None)
}

/// Rows of several values each. A level of repetition says whether a value goes on with its row,
/// one of definition whether there is any.
fn repeated<T: DataType, V>(
    into: &mut RowGroup<'_, Vec<u8>>,
    rows: &[Vec<V>],
    value: impl Fn(&V) -> T::T,
) -> Result<()> {
    let [mut defined, mut goes_on] = [const { Vec::new() }; 2];
    for row in rows {
        for place in 0..row.len().max(1) {
            defined.push(i16::from(!row.is_empty()));
            goes_on.push(i16::from(place > 0));
        }
    }
    let values: Vec<T::T> = rows.iter().flatten().map(value).collect();
    leaf_values::<T, _>(into, &values, Some(&defined), Some(&goes_on))
}

pub(crate) fn leaf_values<T: DataType, W: Write + Send>(
    into: &mut RowGroup<'_, W>,
    values: &[T::T],
    defined: Option<&[i16]>,
    goes_on: Option<&[i16]>,
) -> Result<()> {
    let column = into.next_column()?;
    let mut column = column.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(values, defined, goes_on)?;
    column.close()
}
