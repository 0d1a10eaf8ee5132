//! `array rescue` by what members hold: candidates for an array whose superblocks are lost.

use std::path::Path;
use std::time::Instant;

use array::md::Layout;
use escape::{Lines, add};
use host::guard::{Consent, Guard};
use mdtools::MemberSource;
use mdtools::guess::{Evidence, Guess, Guesses, Images, SearchLimits, WHOLE, guess as search};
use serde_json::{Value, json};

use super::create::level;
use super::rescue_arguments::RescueArguments;
use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::output::{Output, said};
use crate::progress::Line;

/// How many candidates are shown where nothing is said.
const SHOWN: usize = 5;

pub(super) fn guess(output: &Output, arguments: &RescueArguments) -> Result<(), Failure> {
    let guard = Guard::new(Consent { raw: arguments.raw, ..Consent::default() });
    let paths: Vec<Option<MemberSource>> = arguments
        .paths
        .iter()
        .map(|path| match path == Path::new("missing") {
            true => Ok(None),
            false => member(output, &guard, path).map(Some),
        })
        .collect::<Result<_, Failure>>()?;
    let (known, shown) = (known(output, arguments)?, arguments.show.unwrap_or(SHOWN));
    let limit = stack::size::parse_duration(&arguments.time);
    let limit = limit.map_err(|error| Failure::usage(error).at(said("--time", &arguments.time)))?;

    let images = Images::open(&guard, &paths)?;
    let line = Line::new(output);
    line.show(&say!(LOOKING_FOR_RELATIONS));
    let begin = Instant::now();
    let found = search(&images, &known, &mut |done, total| {
        if total > 0 {
            line.show(&say!(SHAPES_TRIED_SO_FAR, done = done, total = total));
        }
        begin.elapsed() < limit
    });
    line.clear();

    if output.json {
        output.document(&document(&found, &paths, shown))?;
    } else {
        output.result(&text(&found, &paths, shown))?;
    }
    if found.interrupted {
        output.note(&say!(SEARCH_ENDED, time = arguments.time));
    }
    if found.guesses.is_empty() {
        return Err(Failure::failed(catalogue::NOTHING_GUESSED));
    }
    if !found.is_sound() {
        return Err(Failure::failed(catalogue::GUESS_CONTRADICTED));
    }
    Ok(())
}

/// What was said of the array.
fn known(output: &Output, arguments: &RescueArguments) -> Result<SearchLimits, Failure> {
    let sizes = |flag: &str, texts: &[String]| {
        texts.iter().map(|text| output.size(flag, text)).collect::<Result<Vec<u64>, Failure>>()
    };
    let known = SearchLimits {
        levels: arguments.level.iter().map(|text| level(text)).collect::<Result<_, _>>()?,
        chunks_bytes: sizes("--chunk", &arguments.chunk)?,
        data_offsets_bytes: sizes("--data-offset", &arguments.data_offset)?,
        seed: 0,
    };
    let aligned = |flag: &str, sizes: &[u64]| match sizes
        .iter()
        .find(|size| **size % block::SECTOR_BYTES != 0)
    {
        Some(size) => {
            let said = statement!(NO_WHOLE_SECTORS, bytes = block::SECTOR_BYTES);
            Err(Failure::usage(said).at(format!("{flag} {size}")))
        }
        None => Ok(()),
    };
    aligned("--chunk", &known.chunks_bytes)?;
    aligned("--data-offset", &known.data_offsets_bytes)?;
    if known.chunks_bytes.contains(&0) {
        return Err(Failure::usage(catalogue::CHUNK_OF_SECTORS));
    }
    Ok(known)
}

/// A member; of the image of a whole disk the partition that is said to be one.
fn member(output: &Output, guard: &Guard, path: &Path) -> Result<MemberSource, Failure> {
    let source = MemberSource::parse(path)?;
    if !source.is_whole() {
        return Ok(source);
    }
    Ok(match mdtools::raid_partition(guard, &source)? {
        Some(part) => {
            output.note(&say!(PARTITION_LOOKED_AT, source = source, part = part));
            part
        }
        None => source,
    })
}

fn name(member: Option<&MemberSource>) -> String {
    member.map_or("missing".to_owned(), ToString::to_string)
}

/// What opens a candidate to look at what is on it.
fn command(guess: &Guess, paths: &[Option<MemberSource>]) -> String {
    let tree = guess.tree(paths).to_string();
    format!("raidloom array start --read-only --attach {}", escape::shell(&tree))
}

/// What nothing on the members tells.
fn doubt(guess: &Guess, paths: &[Option<MemberSource>]) -> Option<String> {
    if guess.undecided.is_empty() {
        return None;
    }
    let members: Vec<String> =
        guess.undecided.iter().map(|role| name(paths[guess.order[*role]].as_ref())).collect();
    Some(say!(NOTHING_TELLS_WHERE, members = members.join(", ")))
}

/// The share of what was checked that agrees, rounded down: only the whole is 100 %.
fn share(guess: &Guess) -> String {
    let tenths = u64::from(guess.agreement) * 1000 / u64::from(WHOLE);
    if tenths == 1000 { "100 %".to_owned() } else { format!("{}.{} %", tenths / 10, tenths % 10) }
}

fn text(found: &Guesses, paths: &[Option<MemberSource>], show: usize) -> String {
    let mut text = Lines::new();
    for note in &found.notes {
        add!(text, "{note}");
    }
    for (number, guess) in found.guesses.iter().take(show.max(1)).enumerate() {
        let evidence: Vec<String> = guess.evidence.iter().map(ToString::to_string).collect();
        add!(text, "");
        // Equals have the same number.
        let number = if number < found.equal { 1 } else { number + 1 };
        add!(
            text,
            "{}",
            say!(
                GUESS_AGREES,
                number = number,
                share = share(guess),
                shape = guess.shape,
                size = block::size_text(guess.size_bytes),
            )
        );
        add!(text, "   {}", guess.tree(paths));
        add!(text, "   {}", evidence.join(", "));
        if let Some(foreign) = guess.foreign {
            add!(text, "   {}", say!(GUESS_WITHOUT, member = name(paths[foreign].as_ref())));
        }
        if let Some(doubt) = doubt(guess, paths) {
            add!(text, "   {doubt}");
        }
    }
    if found.equal > 1 {
        add!(text, "");
        add!(text, "{}", say!(EQUALLY_GOOD, count = found.equal));
    }
    let left = found.guesses.len().saturating_sub(show.max(1));
    if left > 0 {
        if found.equal <= 1 {
            add!(text, "");
        }
        add!(text, "{}", say!(MORE_NOT_SHOWN, count = left));
    }
    if let Some(best) = found.guesses.first() {
        add!(text, "");
        match found.equal {
            0 | 1 => add!(text, "{}", say!(TO_LOOK_AT_IT)),
            _ => add!(text, "{}", say!(TO_LOOK_AT_FIRST)),
        }
        add!(text, "   {}", command(best, paths));
    }
    text.into_text()
}

fn document(found: &Guesses, paths: &[Option<MemberSource>], show: usize) -> Value {
    let text = |member: &usize| paths[*member].as_ref().map(ToString::to_string);
    let guess = |guess: &Guess| {
        let layout = guess.shape.layout;
        let layout = (layout != Layout::Plain).then(|| layout.to_string());
        let row = |row: &Evidence| {
            let kind = row.kind.english;
            json!({ "kind": kind, "fits": row.fits, "misfits": row.misfits })
        };
        let evidence: Vec<Value> = guess.evidence.iter().map(row).collect();
        json!({
            "agreement": f64::from(guess.agreement) / f64::from(WHOLE),
            "proofs": guess.proofs,
            "foreign_member": guess.foreign.and_then(|member| text(&member)),
            "level": guess.shape.level.to_string(),
            "layout": layout,
            "chunk_bytes": guess.shape.chunk_bytes,
            "data_offset_bytes": guess.shape.data_offset_bytes,
            "size_bytes": guess.size_bytes,
            "members": guess.order.iter().map(text).collect::<Vec<_>>(),
            "undecided_members": guess.undecided,
            "stack": guess.tree(paths).to_string(),
            "command": command(guess, paths),
            "evidence": evidence,
        })
    };
    json!({
        "notes": found.notes.iter().map(words::Text::english).collect::<Vec<_>>(),
        "samples": found.samples,
        "read_bytes": found.read_bytes,
        "complete": !found.interrupted,
        "candidate_count": found.guesses.len(),
        "equally_good": found.equal,
        "candidates": found.guesses.iter().take(show.max(1)).map(guess).collect::<Vec<_>>(),
    })
}
