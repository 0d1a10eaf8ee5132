//! `array set`: how a running array's server works from now on.

use block::size_text;
use clap::Args;
use serde_json::{Map, Value, json};
use serve::{Boot, Client, Command, Runtime, Status};
use words::Text;

use super::start::serve_with;
use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::output::Output;

/// `array set`.
#[derive(Args, Debug)]
pub(crate) struct SetArguments {
    /// The name of a running array
    pub name: String,

    /// What is set; without any, how it is set now is shown
    #[arg(value_name = "KEY=VALUE")]
    pub settings: Vec<String>,

    /// Which array, where the stack has several
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,
}

/// What was typed, read.
#[derive(Default)]
struct Settings {
    least_bytes_per_second: Option<u64>,
    most_bytes_per_second: Option<u64>,
    log: Option<String>,
    cache_bytes: Option<u64>,
    /// Which cache, where several are in memory.
    cache: Option<usize>,
    /// Whether it is started with the machine.
    starts_at_boot: Option<bool>,
    /// Whether its members are compared once a month.
    is_scrubbed: Option<bool>,
}

impl Settings {
    fn parse(output: &Output, words: &[String]) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let size = || output.size(&format!("{key}="), value).map(Some);
            match key {
                _ if value.is_empty() => return Err(unknown(word)),
                "sync_speed_min" => settings.least_bytes_per_second = size()?,
                "sync_speed_max" => settings.most_bytes_per_second = size()?,
                "log" => settings.log = Some(value.to_owned()),
                "cache_size" => settings.cache_bytes = size()?,
                "cache" => {
                    let number = value.parse();
                    settings.cache =
                        Some(number.map_err(|_| Failure::usage(catalogue::CACHE_NUMBER).at(word))?);
                }
                "start_at_boot" => {
                    settings.starts_at_boot = Some(one_of(word, value, ["no", "yes"])?);
                }
                "scrub" => settings.is_scrubbed = Some(one_of(word, value, ["never", "monthly"])?),
                _ => return Err(unknown(word)),
            }
        }
        if settings.cache.is_some() && settings.cache_bytes.is_none() {
            return Err(Failure::usage(catalogue::CACHE_FOR_SIZE));
        }
        Ok(settings)
    }
}

fn unknown(word: &str) -> Failure {
    Failure::usage(catalogue::SET_KEYS).at(word)
}

/// Whether a value is the second of two words.
fn one_of(word: &str, value: &str, words: [&str; 2]) -> Result<bool, Failure> {
    let place = words.iter().position(|known| *known == value);
    let said = || {
        let either = statement!(EITHER_WORD, one = words[1], other = words[0]);
        Failure::usage(either).at(word)
    };
    place.map(|place| place == 1).ok_or_else(said)
}

/// Sets what is named, or shows all of it.
pub(super) fn set(output: &Output, arguments: &SetArguments) -> Result<(), Failure> {
    let settings = Settings::parse(output, &arguments.settings)?;
    let mut client = Client::connect(&Runtime::find()?, &arguments.name)?;
    let shows = arguments.settings.is_empty();
    let (mut document, mut lines) = (Map::new(), Vec::new());
    let status = if shows { Some(client.status()?) } else { None };
    let sets_speed =
        settings.least_bytes_per_second.is_some() || settings.most_bytes_per_second.is_some();
    let arrays: Vec<Option<String>> = match (&status, &arguments.array) {
        (Some(status), None) => {
            status.arrays.iter().map(|array| Some(array.name.clone())).collect()
        }
        (None, _) if !sets_speed => Vec::new(),
        (_, array) => vec![array.clone()],
    };
    let several = arrays.len() > 1;
    let mut speeds = Vec::new();
    for array in arrays {
        let mut limits = client.ask(Command::Speed {
            array: array.clone(),
            least_bytes_per_second: settings.least_bytes_per_second,
            most_bytes_per_second: settings.most_bytes_per_second,
        })?;
        let which = array.as_ref().filter(|_| several || arguments.array.is_some());
        lines.push(speed(which, &limits));
        limits["array"] = json!(array);
        speeds.push(limits);
    }
    if !speeds.is_empty() {
        document.insert("speeds".to_owned(), Value::Array(speeds));
    }
    if shows || settings.log.is_some() {
        let done = client.ask(Command::Log { filter: settings.log.clone() })?;
        lines.push(say!(IT_LOGS, filter = done["filter"].as_str().unwrap_or_default()));
        document.insert("log".to_owned(), done["filter"].clone());
    }
    if let Some(size_bytes) = settings.cache_bytes {
        let done = client.ask(Command::ResizeCache { cache: settings.cache, size_bytes })?;
        let bytes = done["size_bytes"].as_u64().unwrap_or(size_bytes);
        lines.push(say!(CACHE_RESIZED, size = size_text(bytes)));
        document.insert("cache".to_owned(), done);
    }
    at_boot(&mut client, &settings, status.as_ref(), (&mut document, &mut lines))?;
    if let Some(status) = &status {
        caches(status, &mut document, &mut lines);
    }
    if output.json {
        return output.document(&document);
    }
    let lines: Vec<String> =
        lines.iter().map(|line| format!("{}: {line}", arguments.name)).collect();
    output.result(&lines.join("\n"))
}

/// What the service manager does about it: set as was said, and shown where nothing is set.
fn at_boot(
    client: &mut Client,
    settings: &Settings,
    shown: Option<&Status>,
    (document, lines): (&mut Map<String, Value>, &mut Vec<String>),
) -> Result<(), Failure> {
    if shown.is_none() && settings.starts_at_boot.is_none() && settings.is_scrubbed.is_none() {
        return Ok(());
    }
    let boot = Boot::here(&serve_with()?.program);
    let name = match shown {
        // Without a service manager there is nothing to show.
        Some(_) if !boot.has_service_manager() => return Ok(()),
        Some(status) => status.name.clone(),
        None => {
            boot.need_service_manager()?;
            set_at_boot(client, settings, &boot)?
        }
    };
    if shown.is_some() || settings.starts_at_boot.is_some() {
        let starts = boot.starts_at_boot(&name);
        lines.push(if starts { say!(STARTS_AT_BOOT) } else { say!(STARTS_NOT_AT_BOOT) });
        document.insert("start_at_boot".to_owned(), json!(starts));
    }
    if shown.is_some() || settings.is_scrubbed.is_some() {
        let calendar = boot.scrub_calendar(&name);
        lines.push(if calendar.is_monthly { say!(SCRUBBED_MONTHLY) } else { say!(SCRUBBED_NEVER) });
        document.insert("scrub".to_owned(), json!(calendar));
    }
    Ok(())
}

/// The array's name, once the service manager was told.
fn set_at_boot(client: &mut Client, settings: &Settings, boot: &Boot) -> Result<String, Failure> {
    let status = client.status()?;
    if status.is_measured {
        return Err(Failure::refused(catalogue::ARRAY_OF_A_RUN).at(&status.name));
    }
    match settings.starts_at_boot {
        Some(true) => {
            let started_with = client.ask(Command::Settings)?;
            let started_with = serde_json::from_value(started_with).map_err(|error| {
                Failure::failed(Text::verbatim(&error)).at(catalogue::STARTED_WITH)
            })?;
            boot.take_on(&status, &started_with)?;
        }
        Some(false) => boot.start_no_more(&status.name)?,
        None => (),
    }
    if let Some(is_monthly) = settings.is_scrubbed {
        boot.set_scrub_calendar(&status.name, is_monthly)?;
    }
    Ok(status.name)
}

/// The caches whose size can be set: those in memory.
fn caches(status: &Status, document: &mut Map<String, Value>, lines: &mut Vec<String>) {
    let in_memory = || status.caches.iter().enumerate().filter(|(_, cache)| !cache.kept);
    lines.extend(in_memory().map(|(number, cache)| {
        say!(CACHE_HAS, number = number, size = size_text(cache.size_bytes))
    }));
    let documents = in_memory()
        .map(|(number, cache)| json!({ "cache": number, "size_bytes": cache.size_bytes }));
    document.insert("caches".to_owned(), documents.collect());
}

/// How fast members are brought up to date and compared.
fn speed(array: Option<&String>, limits: &Value) -> String {
    let rate = |key: &str| size_text(limits[key].as_u64().unwrap_or(0));
    let (least, most) = (rate("least_bytes_per_second"), rate("most_bytes_per_second"));
    let which = array.map_or(String::new(), |array| format!("{array}: "));
    which + &say!(SPEED_OF_MEMBERS, least = least, most = most)
}
