//! A TOML document as plain data in which every key and every value knows its place, so that
//! whatever is wrong with a plan is told with line and column; and a reader that refuses keys
//! that are not asked for.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use host::Error;
use words::{Message, Text, statement};

use super::catalogue;

/// Where something stands: in a file at a line and column (both from 1), or in a setting given on
/// the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceLocation {
    origin: Arc<str>,
    line_column: Option<(usize, usize)>,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line_column {
            Some((line, column)) => write!(f, "{}:{line}:{column}", self.origin),
            None => f.write_str(&self.origin),
        }
    }
}

impl SourceLocation {
    /// A usage error at this place, in which a value of the plan is within its line and not longer
    /// than a line.
    pub(crate) fn error(&self, text: impl Into<Text>) -> Error {
        let place = match self.line_column {
            // The file's name.
            Some(_) => self.to_string(),
            None => escape::echo(&self.origin).into_owned(),
        };
        let shown = |value: &str| escape::echo(value).into_owned();
        Error::usage(text.into().with_values(&shown)).at(place)
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) place: SourceLocation,
    pub(crate) value: Value,
}

/// A TOML value. Dates are refused while reading: no setting is one.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    List(Vec<Item>),
    Table(Table),
}

/// Keys and their values, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: String,
    place: SourceLocation,
    item: Item,
}

/// What messages call a text's lines.
struct Source<'a> {
    origin: Arc<str>,
    /// `None` for a text that is one setting: its line and column would mean nothing to a reader.
    text: Option<&'a str>,
}

impl Source<'_> {
    fn place(&self, span: &Range<usize>) -> SourceLocation {
        let line_column = self.text.map(|text| {
            let before = &text[..text.floor_char_boundary(span.start)];
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
        });
        SourceLocation { origin: Arc::clone(&self.origin), line_column }
    }

    fn table(&self, table: &DeTable<'_>) -> Result<Table, Error> {
        let mut keys: Vec<_> = table.iter().collect();
        // The parser sorts by name; the order of the file is the order of axes and of messages.
        keys.sort_by_key(|(key, _)| key.span().start);
        let entries = keys.into_iter().map(|(key, value)| {
            Ok(Entry {
                key: key.get_ref().to_string(),
                place: self.place(&key.span()),
                item: self.item(value.get_ref(), &value.span())?,
            })
        });
        Ok(Table { entries: entries.collect::<Result<_, Error>>()? })
    }

    fn item(&self, value: &DeValue<'_>, span: &Range<usize>) -> Result<Item, Error> {
        let place = self.place(span);
        let value = match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                let parsed = i64::from_str_radix(number.as_str(), number.radix());
                Value::Integer(parsed.map_err(|_| place.error(catalogue::NUMBER_TOO_LARGE))?)
            }
            DeValue::Float(number) => {
                let parsed = number.as_str().parse();
                Value::Float(parsed.map_err(|_| place.error(catalogue::NOT_A_NUMBER))?)
            }
            DeValue::Boolean(truth) => Value::Boolean(*truth),
            DeValue::Datetime(_) => return Err(place.error(catalogue::NO_DATE)),
            DeValue::Array(list) => {
                let items = list.iter().map(|item| self.item(item.get_ref(), &item.span()));
                Value::List(items.collect::<Result<_, Error>>()?)
            }
            DeValue::Table(table) => Value::Table(self.table(table)?),
        };
        Ok(Item { place, value })
    }
}

/// Reads a TOML text; `origin` is what messages call it.
pub(crate) fn parse(origin: &str, text: &str) -> Result<Table, Error> {
    let source = Source { origin: Arc::from(origin), text: Some(text) };
    match DeTable::parse(text) {
        Ok(table) => source.table(table.get_ref()),
        Err(error) => {
            let message = error.message().replace('\n', ", ");
            Err(source.place(&error.span().unwrap_or(0..0)).error(message))
        }
    }
}

/// A key of a plan with the value that the command line gives it.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    /// What was typed.
    pub(crate) said: String,
    /// The key, with dots between tables.
    pub(crate) key: String,
    /// Its value as TOML; what is not TOML is a plain text, so that `matrix.level=raid0` needs no
    /// quotes.
    pub(crate) value: String,
}

impl Override {
    /// Reads one `dotted.key=value` of `-s`.
    pub(crate) fn read(setting: &str) -> Result<Override, Error> {
        let said = format!("-s {setting}");
        let expected = || Error::usage(catalogue::KEY_AND_VALUE).at(&said);
        let (key, value) = setting.split_once('=').ok_or_else(expected)?;
        Ok(Override { said, key: key.trim().to_owned(), value: value.trim().to_owned() })
    }

    /// Changes a document. A key that leads through a list of tables (`workload.depth`) means each
    /// of them.
    pub(crate) fn apply(&self, document: &mut Table) -> Result<(), Error> {
        let source = Source { origin: Arc::from(self.said.as_str()), text: None };
        let place = source.place(&(0..0));
        let keys: Vec<&str> = self.key.split('.').map(str::trim).collect();
        if keys.iter().any(|key| key.is_empty()) {
            return Err(place.error(catalogue::KEY_OF_NAMES));
        }
        let item = match DeValue::parse(&self.value) {
            Ok(parsed) => source.item(parsed.get_ref(), &parsed.span())?,
            Err(_) => Item { place: place.clone(), value: Value::Text(self.value.clone()) },
        };
        set(document, &keys, &item, &place)
    }
}

/// Makes the plan that form of itself which its key `size` names: every key below `[sizes.NAME]`
/// replaces that key of the plan. Without the key, and as `full`, it is what it is.
pub(crate) fn choose_size(document: &mut Table) -> Result<Option<String>, Error> {
    let find = |table: &Table, key: &str| {
        table.entries.iter().find(|entry| entry.key == key).map(|entry| entry.item.clone())
    };
    let Some(chosen) = find(document, SIZE) else { return Ok(None) };
    let name = chosen.text()?;
    if name == FULL {
        return Ok(None);
    }
    let sizes = match find(document, SIZES) {
        Some(Item { value: Value::Table(sizes), .. }) => sizes,
        Some(other) => {
            let name = format!("[{SIZES}]");
            return Err(other.error(statement!(catalogue::TABLE_EXPECTED, name = name)));
        }
        None => Table::default(),
    };
    let Some(changes) = find(&sizes, name) else {
        let known = sizes.entries.iter().map(|entry| entry.key.as_str()).chain([FULL]);
        let known: Vec<&str> = known.collect();
        let hint = suggestion(name, known);
        return Err(chosen.error(statement!(catalogue::NO_PLAN_SIZE, name = name, hint = hint)));
    };
    let name = name.to_owned();
    set_below(document, &mut Vec::new(), &changes)?;
    Ok(Some(name))
}

/// The key that names a form of the plan, and the table with all of them.
pub(crate) const SIZE: &str = "size";
pub(crate) const SIZES: &str = "sizes";
/// The form that a plan has by itself.
const FULL: &str = "full";

fn set_below(document: &mut Table, path: &mut Vec<String>, item: &Item) -> Result<(), Error> {
    match &item.value {
        Value::Table(table) => table.entries.iter().try_for_each(|entry| {
            path.push(entry.key.clone());
            let set = set_below(document, path, &entry.item);
            path.pop();
            set
        }),
        _ => {
            let keys: Vec<&str> = path.iter().map(String::as_str).collect();
            match keys.first() {
                None => Err(item.error(catalogue::SIZE_HAS_KEYS)),
                Some(_) => set(document, &keys, item, &item.place),
            }
        }
    }
}

fn set(table: &mut Table, keys: &[&str], item: &Item, place: &SourceLocation) -> Result<(), Error> {
    let (key, rest) = keys.split_first().expect("a path has a first key");
    let entry = match table.entries.iter().position(|entry| entry.key == *key) {
        Some(index) => &mut table.entries[index],
        None => {
            let empty = Item { place: place.clone(), value: Value::Table(Table::default()) };
            table.entries.push(Entry { key: (*key).to_owned(), place: place.clone(), item: empty });
            table.entries.last_mut().expect("just pushed")
        }
    };
    if rest.is_empty() {
        entry.item = item.clone();
        return Ok(());
    }
    let nothing_below = || place.error(statement!(catalogue::NOTHING_BELOW, key = *key));
    match &mut entry.item.value {
        Value::Table(table) => set(table, rest, item, place),
        Value::List(items) if !items.is_empty() => {
            items.iter_mut().try_for_each(|below| match &mut below.value {
                Value::Table(table) => set(table, rest, item, place),
                _ => Err(nothing_below()),
            })
        }
        _ => Err(nothing_below()),
    }
}

/// `; did you mean `chunk`?`, or all names when none is close.
pub(crate) fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> Text {
    match stack::nearest(word, names.clone()) {
        Some(name) => statement!(catalogue::DID_YOU_MEAN, name = name),
        None => {
            let names: Vec<&str> = names.into_iter().collect();
            statement!(catalogue::KNOWN_NAMES, names = names.join(", "))
        }
    }
}

/// Reads a table key by key and refuses those that are not asked for: the keys are defined by the
/// code that reads them.
pub(crate) struct Reader<'a> {
    table: &'a Table,
    /// What messages call the table, for example `[trials]`.
    pub(crate) name: Text,
    /// Where the table itself stands, for keys that are missing.
    pub(crate) place: SourceLocation,
    asked: RefCell<Vec<&'static str>>,
    unlisted: RefCell<Vec<&'static str>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        table: &'a Table,
        name: impl Into<Text>,
        place: SourceLocation,
    ) -> Reader<'a> {
        Reader {
            table,
            name: name.into(),
            place,
            asked: RefCell::default(),
            unlisted: RefCell::default(),
        }
    }

    /// The whole document, whose place is its first line.
    pub(crate) fn document(table: &'a Table, origin: &str) -> Reader<'a> {
        Reader::new(
            table,
            catalogue::THE_PLAN,
            SourceLocation { origin: Arc::from(origin), line_column: Some((1, 1)) },
        )
    }

    pub(crate) fn get(&self, key: &'static str) -> Option<&'a Item> {
        self.asked.borrow_mut().push(key);
        self.table.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.item)
    }

    /// The same for an older spelling of a key, which is read and not proposed.
    pub(crate) fn get_unlisted(&self, key: &'static str) -> Option<&'a Item> {
        self.unlisted.borrow_mut().push(key);
        self.table.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.item)
    }

    pub(crate) fn require(
        &self,
        key: &'static str,
        meaning: impl Into<Text>,
    ) -> Result<&'a Item, Error> {
        self.get(key).ok_or_else(|| {
            let (table, meaning) = (&self.name, meaning.into());
            let missing = catalogue::KEY_MISSING;
            self.place.error(statement!(missing, table = table, key = key, meaning = meaning))
        })
    }

    /// A table below this one.
    pub(crate) fn table(&self, key: &'static str) -> Result<Option<Reader<'a>>, Error> {
        self.get(key).map(|item| item.reader(format!("[{key}]"))).transpose()
    }

    /// The tables of `[[key]]`, in order.
    pub(crate) fn tables(&self, key: &'static str) -> Result<Vec<Reader<'a>>, Error> {
        let Some(item) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = || item.error(statement!(catalogue::LIST_OF_TABLES, key = key));
        let Value::List(items) = &item.value else { return Err(wrong()) };
        items.iter().map(|item| item.reader(format!("[[{key}]]")).map_err(|_| wrong())).collect()
    }

    /// Every key with its value and place, for tables whose keys are names (`[members.NAME]`).
    pub(crate) fn named(
        &self,
    ) -> impl Iterator<Item = (&'a str, &'a SourceLocation, &'a Item)> + use<'a> {
        self.table.entries.iter().map(|entry| (entry.key.as_str(), &entry.place, &entry.item))
    }

    /// Refuses the keys that were never asked for.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let (asked, unlisted) = (self.asked.borrow(), self.unlisted.borrow());
        let is_known = |key: &str| asked.contains(&key) || unlisted.contains(&key);
        match self.table.entries.iter().find(|entry| !is_known(&entry.key)) {
            None => Ok(()),
            Some(Entry { key, place, .. }) => {
                let hint = suggestion(key, asked.iter().copied());
                Err(place.error(unknown_key(key, &self.name, hint)))
            }
        }
    }
}

/// What is said of a value that is given twice.
pub(super) fn given_twice(value: &str) -> Text {
    statement!(catalogue::GIVEN_TWICE, value = value)
}

/// What is said of a key that a table does not have.
pub(super) fn unknown_key(key: &str, table: &Text, hint: Text) -> Text {
    statement!(catalogue::UNKNOWN_KEY, key = key, table = table, hint = hint)
}

impl Item {
    pub(crate) fn error(&self, text: impl Into<Text>) -> Error {
        self.place.error(text)
    }

    /// What kind of value it is, for messages.
    fn kind(&self) -> Message {
        match self.value {
            Value::Text(_) => catalogue::A_TEXT,
            Value::Integer(_) => catalogue::A_WHOLE_NUMBER,
            Value::Float(_) => catalogue::A_NUMBER,
            Value::Boolean(_) => catalogue::A_SWITCH,
            Value::List(_) => catalogue::A_LIST,
            Value::Table(_) => catalogue::A_TABLE,
        }
    }

    pub(crate) fn reader(&self, name: impl Into<Text>) -> Result<Reader<'_>, Error> {
        let name = name.into();
        match &self.value {
            Value::Table(table) => Ok(Reader::new(table, name, self.place.clone())),
            _ => {
                let kind = self.kind();
                Err(self.error(statement!(catalogue::TABLE_NOT_OTHER, name = name, kind = kind)))
            }
        }
    }

    pub(crate) fn text(&self) -> Result<&str, Error> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.error(statement!(catalogue::QUOTED_TEXT, kind = self.kind()))),
        }
    }

    /// A text, or a number or truth value as it would be written.
    pub(crate) fn scalar(&self) -> Result<String, Error> {
        match &self.value {
            Value::Text(text) => Ok(text.clone()),
            Value::Integer(number) => Ok(number.to_string()),
            Value::Float(number) => Ok(number.to_string()),
            Value::Boolean(truth) => Ok(truth.to_string()),
            Value::List(_) | Value::Table(_) => {
                Err(self.error(statement!(catalogue::SINGLE_VALUE, kind = self.kind())))
            }
        }
    }

    /// A list, or one value as a list of itself.
    pub(crate) fn list(&self) -> &[Item] {
        match &self.value {
            Value::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    pub(crate) fn texts(&self) -> Result<Vec<String>, Error> {
        self.list().iter().map(|item| item.text().map(str::to_owned)).collect()
    }

    /// A whole number of at least `least` and at most `most`.
    pub(crate) fn whole(&self, least: u64, most: u64) -> Result<u64, Error> {
        let number = match self.value {
            Value::Integer(number) => u64::try_from(number).ok(),
            _ => None,
        };
        number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            self.error(match most {
                u64::MAX => statement!(catalogue::WHOLE_AT_LEAST, least = least),
                most => statement!(catalogue::WHOLE_BETWEEN, least = least, most = most),
            })
        })
    }

    /// A number above 0.
    pub(crate) fn positive(&self) -> Result<f64, Error> {
        let number = match self.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) => number,
            _ => f64::NAN,
        };
        if number.is_finite() && number > 0.0 {
            Ok(number)
        } else {
            Err(self.error(catalogue::ABOVE_NONE))
        }
    }

    /// A share: `"2%"` or `0.02`.
    pub(crate) fn share(&self) -> Result<f64, Error> {
        let share = match &self.value {
            Value::Text(text) => text
                .trim()
                .strip_suffix('%')
                .and_then(|number| number.trim().parse::<f64>().ok())
                .map(|percent| percent / 100.0),
            Value::Float(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        };
        share
            .filter(|share| (0.0..1.0).contains(share))
            .ok_or_else(|| self.error(catalogue::SHARE_EXPECTED))
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct LocatedValue<T> {
    pub(super) value: T,
    pub(super) place: SourceLocation,
}

/// More configurations than this are a slip, not a plan.
pub(super) const CONFIGURATIONS_MAX: u64 = 10_000;

/// The values that an axis is given.
pub(super) fn values<'a>(item: &'a Item, axis: &str) -> Result<&'a [Item], Error> {
    let items = item.list();
    if items.is_empty() {
        return Err(item.error(statement!(catalogue::AXIS_IS_EMPTY, axis = axis)));
    }
    // Before one of them is read.
    if items.len() as u64 > CONFIGURATIONS_MAX {
        let (count, most) = (items.len(), CONFIGURATIONS_MAX);
        let text = statement!(catalogue::AXIS_IS_LONG, axis = axis, count = count, most = most);
        return Err(item.error(text));
    }
    Ok(items)
}
