//! `array write`: a finished image onto a drive, in one sequential pass, and read back.
//!
//! ```text
//!   image ──> data: written in order     ──> flush ──> all of it read back and compared
//!         └─> holes: discarded or zeroed
//! ```

mod image;
mod pass;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use block::{
    Blocking, Clock, Device, DiscardSupport, Error, ErrorKind, Info, Op, Support, size_text,
};
use clap::Args;
use device::{Direct, FileDevice, FileOptions};
use host::guard::{Consent, Guard};
use reactor::{Reactor, Time};
use serde_json::{Value, json};
use stack::BuildContext;

use crate::catalogue::{self, say, statement};
use crate::consent;
use crate::failure::Failure;
use crate::output::{Output, about};
use crate::progress::{Line, duration};
use crate::signals;
use image::{Cut, Piece};
use pass::{Pass, PassEnd, Work};

/// `array write`.
#[derive(Args, Debug)]
pub(crate) struct WriteArguments {
    /// The image: a file or block device, which is only read
    pub image: PathBuf,

    /// A stack text, a file or a block device, at least as large as the image
    pub target: String,

    /// Do not read back and compare what was written
    #[arg(long)]
    pub no_verify: bool,

    /// Write an image that is no raw one (VHD, VHDX, qcow2, VDI, VMDK) as the bytes that it is made
    /// of
    #[arg(long)]
    pub raw: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: consent::Consent,
}

/// What a request carries, unless the target is faster with another size.
const PIECE_BYTES: u64 = 1 << 20;
/// Holes are cleared this much at a time where that takes no writing, so that there is progress.
const HOLE_BYTES: u64 = 64 << 20;

/// The image: whole blocks that are carried over as they are, and what is left at its end.
struct Image {
    file: File,
    size_bytes: u64,
    /// The whole blocks.
    device: Option<FileDevice>,
    whole_bytes: u64,
}

/// What one pass took.
struct PassOutcome {
    ended: PassEnd,
    time: Duration,
}

impl PassOutcome {
    fn bytes_per_second(&self) -> f64 {
        self.ended.bytes as f64 / self.time.as_secs_f64().max(1e-9)
    }

    fn json(&self) -> Value {
        json!({
            "bytes": self.ended.bytes,
            "seconds": self.time.as_secs_f64(),
            "throughput_bytes_per_second": self.bytes_per_second(),
        })
    }
}

/// Runs the verb.
pub(super) fn write(output: &Output, arguments: &WriteArguments) -> Result<(), Failure> {
    let stop = signals::stop_flag()?;
    let guard = Guard::new(arguments.consent.clone().into());
    let reader = Guard::new(Consent { raw: arguments.raw, ..Consent::default() });
    let source = reader.open_image(&arguments.image)?;
    let context = BuildContext { emulate: true, ..BuildContext::new(&guard) };
    let stack = stack::parse_and_build(&arguments.target, &context)?;
    guard.refuse_stray_consent()?;
    stack.notes.iter().for_each(|note| output.note(note));
    let target = stack.device;
    let info = target.info().clone();
    if stack.clock == Clock::Virtual || !info.stores_data {
        return Err(Failure::usage(catalogue::KEEPS_NO_DATA).at(&arguments.target));
    }
    let image = Image::open(source, &arguments.image, &info)?;
    if image.size_bytes > info.size_bytes {
        let (image_text, target_text) = (size_text(image.size_bytes), size_text(info.size_bytes));
        let text = statement!(
            IMAGE_LARGER,
            image = image_text,
            target = &arguments.target,
            size = target_text
        );
        return Err(Failure::usage(text).at(arguments.image.display()));
    }
    let data = image::data_of(&image.file, image.whole_bytes);
    let reactor = Reactor::wall()?;
    let mut transfer =
        Transfer { output, image: &image, target: &target, reactor: &reactor, stop: &stop };
    let written = transfer.write(&image::pieces(&data, image.whole_bytes, cut(&info, true)))?;
    if written.ended.stopped {
        let (written, target) = (about(written.ended.bytes), &arguments.target);
        let text = statement!(INTERRUPTED_WRITING, written = written, target = target);
        return Err(Failure::interrupted(text));
    }
    let read = if arguments.no_verify {
        None
    } else {
        let read = transfer.compare(&image::pieces(&data, image.whole_bytes, cut(&info, false)))?;
        if read.ended.stopped {
            let text = statement!(INTERRUPTED_READING_BACK, read = about(read.ended.bytes));
            return Err(Failure::interrupted(text));
        }
        Some(read)
    };
    let pieces = image::pieces(&data, image.whole_bytes, cut(&info, false));
    let hole_bytes: u64 = pieces.iter().filter(|piece| piece.hole).map(Piece::length).sum();
    report(output, arguments, &image, &info, hole_bytes, &written, read.as_ref())
}

/// How the image is cut for this target. Holes in large pieces where the target clears them by
/// itself.
fn cut(info: &Info, clears: bool) -> Cut {
    let (longest, optimal) = (u64::from(info.max_request_bytes), u64::from(info.optimal_bytes));
    let block = u64::from(info.block_bytes);
    // Whole stripes, so that no array has to read what is written over next.
    let data = if optimal <= longest {
        PIECE_BYTES.clamp(optimal, longest) / optimal * optimal
    } else {
        PIECE_BYTES.min(longest)
    };
    let data = (data / block * block).max(block);
    let by_itself = info.discard == DiscardSupport::ReadsZero || info.zeroes == Support::Native;
    Cut { block, data, hole: if clears && by_itself { HOLE_BYTES.max(block) } else { data } }
}

impl Image {
    fn open(file: File, path: &Path, target: &Info) -> Result<Image, Failure> {
        let failed = |error| {
            Failure::from(Error::from_io(statement!(READING_PATH, path = path.display()), error))
        };
        let size_bytes =
            std::io::Seek::seek(&mut &file, std::io::SeekFrom::End(0)).map_err(failed)?;
        let whole_bytes = size_bytes - size_bytes % u64::from(target.block_bytes);
        let options = FileOptions {
            read_only: true,
            direct: Direct::No,
            size_bytes: Some(whole_bytes),
            ..FileOptions::default()
        };
        let device = match whole_bytes {
            0 => None,
            _ => Some(FileDevice::new(file.try_clone().map_err(failed)?, path, &options)?),
        };
        Ok(Image { file, size_bytes, device, whole_bytes })
    }

    /// What comes after the last whole block.
    fn rest(&self) -> Result<Vec<u8>, Error> {
        let mut rest = vec![0; (self.size_bytes - self.whole_bytes) as usize];
        self.file
            .read_exact_at(&mut rest, self.whole_bytes)
            .map_err(|error| Error::from_io(catalogue::READING_IMAGE_END, error))?;
        Ok(rest)
    }
}

struct Transfer<'a> {
    output: &'a Output,
    image: &'a Image,
    target: &'a Arc<dyn Device>,
    reactor: &'a Reactor,
    stop: &'a AtomicBool,
}

impl Transfer<'_> {
    /// Writes all pieces and then the rest, and makes them durable.
    fn write(&mut self, pieces: &[Piece]) -> Result<PassOutcome, Error> {
        let begin = self.reactor.now();
        let mut ended = self.pass(Work::Write, pieces, begin)?;
        let mut target = Blocking::open(&**self.target, self.reactor)?;
        let rest = self.image.rest()?;
        if !rest.is_empty() && !ended.stopped {
            // The last block keeps what it holds behind the image's end.
            let mut last = vec![0; self.target.info().block_bytes as usize];
            target.read_slice(self.image.whole_bytes, &mut last)?;
            last[..rest.len()].copy_from_slice(&rest);
            target.write_slice(self.image.whole_bytes, &last)?;
            ended.bytes += rest.len() as u64;
        }
        target.run(Op::Flush)?;
        Ok(PassOutcome { ended, time: self.reactor.now().since(begin) })
    }

    /// Reads all back.
    fn compare(&mut self, pieces: &[Piece]) -> Result<PassOutcome, Error> {
        let begin = self.reactor.now();
        let mut ended = self.pass(Work::Compare, pieces, begin)?;
        let rest = self.image.rest()?;
        if !rest.is_empty() && !ended.stopped {
            let mut last = vec![0; self.target.info().block_bytes as usize];
            Blocking::open(&**self.target, self.reactor)?
                .read_slice(self.image.whole_bytes, &mut last)?;
            if last[..rest.len()] != rest[..] {
                return Err(Error::new(ErrorKind::Other, catalogue::LAST_BLOCK_DIFFERS));
            }
            ended.bytes += rest.len() as u64;
        }
        Ok(PassOutcome { ended, time: self.reactor.now().since(begin) })
    }

    fn pass(&mut self, work: Work, pieces: &[Piece], begin: Time) -> Result<PassEnd, Error> {
        let image = self.image.device.as_ref().map(|device| device as &dyn Device);
        let line = Line::new(self.output);
        let what = match work {
            Work::Write => catalogue::WRITING_IMAGE,
            Work::Compare => catalogue::READING_BACK,
        };
        let mut go_on = |bytes: u64| {
            if self.output.animates() {
                line.show(&far(
                    what.template(),
                    bytes,
                    self.image.size_bytes,
                    self.reactor.now().since(begin),
                ));
            }
            !self.stop.load(Ordering::Relaxed)
        };
        Pass::open(image, &**self.target, self.reactor)?.run(work, pieces, &mut go_on)
    }
}

/// How far, how fast and how long still.
fn far(what: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if done == 0 || seconds < 0.2 {
        return what.to_owned();
    }
    let rate = done as f64 / seconds;
    let left = Duration::from_secs_f64((total - done) as f64 / rate);
    say!(
        HOW_FAR_AND_FAST,
        what = what,
        percent = format!("{:3.0}", 100.0 * done as f64 / total as f64),
        rate = format!("{:.1}", rate / 1e6),
        left = duration(left)
    )
}

fn report(
    output: &Output,
    arguments: &WriteArguments,
    image: &Image,
    info: &Info,
    hole_bytes: u64,
    written: &PassOutcome,
    read: Option<&PassOutcome>,
) -> Result<(), Failure> {
    if output.json {
        return output.document(&json!({
            "image": arguments.image,
            "target": arguments.target,
            "size_bytes": image.size_bytes,
            "data_bytes": image.size_bytes - hole_bytes,
            "hole_bytes": hole_bytes,
            "target_bytes": info.size_bytes,
            "write": written.json(),
            "read_back": read.map(PassOutcome::json),
        }));
    }
    let rate = |took: &PassOutcome| format!("{:.1} MB/s", took.bytes_per_second() / 1e6);
    let holes = match hole_bytes {
        0 => String::new(),
        bytes => say!(OF_WHICH_HOLES, size = about(bytes)),
    };
    let verified = match read {
        None => say!(NOT_READ_BACK),
        Some(read) => say!(READ_BACK_EQUAL, rate = rate(read)),
    };
    output.result(&say!(
        IMAGE_WRITTEN,
        target = arguments.target,
        size = about(image.size_bytes),
        rate = rate(written),
        holes = holes,
        verified = verified
    ))?;
    if info.size_bytes > image.size_bytes {
        output.note(&say!(REST_OF_TARGET, size = about(info.size_bytes - image.size_bytes)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_stripes_where_a_request_can_carry_one() {
        let info = |optimal_bytes, max_request_bytes, block_bytes| Info {
            optimal_bytes,
            max_request_bytes,
            block_bytes,
            ..Info::plain(1 << 30)
        };
        assert_eq!(cut(&info(4096, 16 << 20, 512), true).data, 1 << 20);
        assert_eq!(cut(&info(192 << 10, 16 << 20, 512), true).data, 5 * (192 << 10));
        assert_eq!(cut(&info(3 << 20, 16 << 20, 512), true).data, 3 << 20);
        assert_eq!(cut(&info(32 << 20, 16 << 20, 512), true).data, 1 << 20);
        assert_eq!(cut(&info(4096, 128 << 10, 4096), true).data, 128 << 10);
    }

    #[test]
    fn holes_are_cut_small_where_they_have_to_be_written() {
        let plain = Info::plain(1 << 30);
        assert_eq!(cut(&plain, true).hole, PIECE_BYTES);
        let clears = Info { zeroes: Support::Native, ..plain };
        assert_eq!((cut(&clears, true).hole, cut(&clears, false).hole), (HOLE_BYTES, PIECE_BYTES));
    }

    #[test]
    fn progress_says_share_rate_and_time_left() {
        assert_eq!(
            far("writing", 50_000_000, 100_000_000, Duration::from_secs(5)),
            "writing  50 %  10.0 MB/s  5 s left"
        );
        assert_eq!(far("writing", 0, 100, Duration::from_secs(5)), "writing");
    }
}
