//! A recording's requests as Parquet, one row each, written while they come.
//!
//! ```text
//!   time  latency | op fua | offset length | stream       nanoseconds, bytes; latency and stream may be null
//! ```

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;

use crate::parquet::{leaf, leaf_values, optional};

/// Rows that are kept back for one group.
const GROUP_ROWS: usize = 100_000;

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct RequestRow {
    /// Since the recording began.
    pub time_nanoseconds: u64,
    /// Where it is known.
    pub latency_nanoseconds: Option<u64>,
    /// Its name.
    pub op: &'static str,
    /// Whether it is durable when it completes.
    pub fua: bool,
    /// In bytes.
    pub offset: u64,
    /// In bytes.
    pub length: u64,
    /// 0 where it is not known.
    pub stream: u32,
}

/// Writes rows.
pub struct RequestsParquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    rows: Vec<RequestRow>,
}

impl<W: Write + Send> RequestsParquet<W> {
    /// A file of no rows yet.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(output: W) -> std::io::Result<RequestsParquet<W>> {
        let writer = begin(output).map_err(std::io::Error::other)?;
        Ok(RequestsParquet { writer, rows: Vec::with_capacity(GROUP_ROWS) })
    }

    /// One more row.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, row: &RequestRow) -> std::io::Result<()> {
        self.rows.push(*row);
        if self.rows.len() < GROUP_ROWS {
            return Ok(());
        }
        self.group().map_err(std::io::Error::other)
    }

    /// Writes the end.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.group().map_err(std::io::Error::other)?;
        let mut output = self.writer.into_inner().map_err(std::io::Error::other)?;
        output.flush()
    }

    fn group(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut into = self.writer.next_row_group()?;
        let rows = &self.rows;
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let numbers = |of: fn(&RequestRow) -> u64| -> Vec<i64> {
            rows.iter().map(|row| number(of(row))).collect()
        };
        leaf_values::<Int64Type, _>(&mut into, &numbers(|row| row.time_nanoseconds), None, None)?;
        let latencies = rows.iter().map(|row| row.latency_nanoseconds.map(number));
        optional::<Int64Type, _>(&mut into, latencies)?;
        let names: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(row.op)).collect();
        leaf_values::<ByteArrayType, _>(&mut into, &names, None, None)?;
        let fua: Vec<bool> = rows.iter().map(|row| row.fua).collect();
        leaf_values::<BoolType, _>(&mut into, &fua, None, None)?;
        leaf_values::<Int64Type, _>(&mut into, &numbers(|row| row.offset), None, None)?;
        leaf_values::<Int64Type, _>(&mut into, &numbers(|row| row.length), None, None)?;
        let streams = rows.iter().map(|row| (row.stream != 0).then_some(i64::from(row.stream)));
        optional::<Int64Type, _>(&mut into, streams)?;
        into.close()?;
        self.rows.clear();
        Ok(())
    }
}

fn begin<W: Write + Send>(output: W) -> Result<SerializedFileWriter<W>> {
    let (required, optional) = (Repetition::REQUIRED, Repetition::OPTIONAL);
    let fields = vec![
        leaf("time_ns", Physical::INT64, None, required)?,
        leaf("latency_ns", Physical::INT64, None, optional)?,
        leaf("op", Physical::BYTE_ARRAY, Some(LogicalType::String), required)?,
        leaf("fua", Physical::BOOLEAN, None, required)?,
        leaf("offset", Physical::INT64, None, required)?,
        leaf("length", Physical::INT64, None, required)?,
        leaf("stream", Physical::INT64, None, optional)?,
    ];
    let schema = Arc::new(Type::group_type_builder("requests").with_fields(fields).build()?);
    let own = KeyValue::new("schema".to_owned(), "raidloom/requests/1".to_owned());
    let properties = WriterProperties::builder()
        .set_created_by(concat!("raidloom ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![own]))
        .build();
    SerializedFileWriter::new(output, schema, Arc::new(properties))
}
