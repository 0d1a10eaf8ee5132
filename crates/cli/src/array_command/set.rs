//! `array set`: how a running array's server works from now on.

use block::size_text;
use clap::Args;
use serde_json::{Map, Value, json};
use serve::{Client, Command, Runtime, Status};

use crate::catalogue;
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
        let done = client.ask(Command::Log { filter: settings.log })?;
        lines.push(format!("logs {}", done["filter"].as_str().unwrap_or_default()));
        document.insert("log".to_owned(), done["filter"].clone());
    }
    if let Some(size_bytes) = settings.cache_bytes {
        let done = client.ask(Command::ResizeCache { cache: settings.cache, size_bytes })?;
        let bytes = done["size_bytes"].as_u64().unwrap_or(size_bytes);
        lines.push(format!("cache resized to {}", size_text(bytes)));
        document.insert("cache".to_owned(), done);
    }
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

/// The caches whose size can be set: those in memory.
fn caches(status: &Status, document: &mut Map<String, Value>, lines: &mut Vec<String>) {
    let in_memory = || status.caches.iter().enumerate().filter(|(_, cache)| !cache.kept);
    lines.extend(
        in_memory()
            .map(|(number, cache)| format!("cache {number} has {}", size_text(cache.size_bytes))),
    );
    let documents = in_memory()
        .map(|(number, cache)| json!({ "cache": number, "size_bytes": cache.size_bytes }));
    document.insert("caches".to_owned(), documents.collect());
}

/// How fast members are brought up to date and compared.
fn speed(array: Option<&String>, limits: &Value) -> String {
    let rate = |key: &str| size_text(limits[key].as_u64().unwrap_or(0));
    let (least, most) = (rate("least_bytes_per_second"), rate("most_bytes_per_second"));
    let which = array.map_or(String::new(), |array| format!("{array}: "));
    format!("{which}{least} of each member a second while it is used, {most} while it is not")
}
