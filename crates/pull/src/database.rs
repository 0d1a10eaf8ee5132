//! A database as work: transactions of SQLite, each of which has to be there, whole, once it was
//! acknowledged.
//!
//! ```text
//!   transaction n   insert (n, payload of n) · counter = n + 1      committed: Mark::Synced
//!   afterwards      integrity_check · transactions 0..m, m >= acknowledged · counter = m
//! ```
//!
//! Nothing is set but the journal and, where the work says so, `synchronous`: it is judged as it is
//! used. With SQLite's default journal and `synchronous=FULL` a transaction is committed when its
//! journal is removed, and the folder is not synced after that: only `EXTRA` does so.

use std::io;
use std::path::Path;

use rusqlite::{Connection, Error, params};

use crate::content::{BLOCK_BYTES, BlockName, Class, block};

/// The file's name in the folder: that of the first file of any work.
const FILE: u32 = 0;
/// The parts of a block that payloads are made of.
const PART_BYTES: usize = 512;

fn failed(error: Error) -> io::Error {
    io::Error::other(error)
}

/// What a transaction writes.
fn payload(run: u64, number: u32) -> Vec<u8> {
    let mut payload = block(run, BlockName { file: FILE, version: 1, block: number }).to_vec();
    payload.truncate(PART_BYTES * (1 + number as usize % (BLOCK_BYTES / PART_BYTES)));
    payload
}

/// How a database makes its commits durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    /// A journal that is removed, `synchronous=FULL`: SQLite as it comes.
    Removed,
    /// The same with `synchronous=EXTRA`.
    RemovedExtra,
    /// A write-ahead log.
    WriteAhead,
}

/// A database that is being worked on.
pub(crate) struct Database(Connection);

impl Database {
    /// Makes an empty one.
    pub(crate) fn create(journal: Journal, path: &Path) -> io::Result<Database> {
        let make = || {
            let database = Connection::open(path)?;
            let mode = if journal == Journal::WriteAhead { "WAL" } else { "DELETE" };
            // It answers with the journal that it has.
            let found: String =
                database.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0))?;
            if !found.eq_ignore_ascii_case(mode) {
                return Err(Error::InvalidParameterName(format!("journal_mode is {found}")));
            }
            if journal == Journal::RemovedExtra {
                database.pragma_update(None, "synchronous", "EXTRA")?;
            }
            database.execute_batch(
                "BEGIN; CREATE TABLE entries (number INTEGER PRIMARY KEY, payload BLOB NOT NULL);
                CREATE TABLE counter (value INTEGER NOT NULL); INSERT INTO counter VALUES (0);
                COMMIT;",
            )?;
            Ok(Database(database))
        };
        make().map_err(failed)
    }

    /// Commits a transaction.
    pub(crate) fn commit(&mut self, run: u64, number: u32) -> io::Result<()> {
        let commit = || {
            let transaction = self.0.transaction()?;
            let payload = payload(run, number);
            transaction.execute("INSERT INTO entries VALUES (?1, ?2)", params![number, payload])?;
            transaction.execute("UPDATE counter SET value = ?1", params![number + 1])?;
            transaction.commit()
        };
        let mut commit = commit;
        commit().map_err(failed)
    }
}

/// What is left of a database of which so many transactions had been acknowledged, and of how many
/// it holds; nothing is wrong without a class.
pub(crate) fn look(path: &Path, run: u64, acknowledged: u32) -> (Option<Class>, u32) {
    match transactions(path, run) {
        Ok(Ok(count)) if count < acknowledged => (Some(Class::Old), count),
        Ok(Ok(count)) => (None, count),
        Ok(Err(class)) => (Some(class), 0),
        // Before the first transaction there may be no tables.
        Err(_) if acknowledged == 0 => (None, 0),
        Err(_) => (Some(Class::Unreadable), 0),
    }
}

/// How many transactions there are, from the first one on and whole; or what else is there.
fn transactions(path: &Path, run: u64) -> Result<Result<u32, Class>, Error> {
    let database = Connection::open(path)?;
    let verdict: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Ok(Err(Class::Garbage));
    }
    let counter: u32 = database.query_row("SELECT value FROM counter", [], |row| row.get(0))?;
    let mut all = database.prepare("SELECT number, payload FROM entries ORDER BY number")?;
    let mut rows = all.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let (number, found): (u32, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if number != count {
            return Ok(Err(Class::Missing));
        }
        if found != payload(run, number) {
            return Ok(Err(Class::Foreign));
        }
        count += 1;
    }
    Ok(if counter == count { Ok(count) } else { Err(Class::Torn) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn made(journal: Journal, count: u32) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let mut database = Database::create(journal, &path).unwrap();
        (0..count).for_each(|number| database.commit(7, number).unwrap());
        (folder, path)
    }

    #[test]
    fn what_was_committed_is_there_and_what_is_missing_is_found() {
        for journal in [Journal::Removed, Journal::RemovedExtra, Journal::WriteAhead] {
            let (_folder, path) = made(journal, 20);
            assert_eq!(look(&path, 7, 20), (None, 20), "{journal:?}");
            assert_eq!(look(&path, 7, 19), (None, 20), "more than was acknowledged");
            assert_eq!(look(&path, 7, 21), (Some(Class::Old), 20), "{journal:?}");
            assert_eq!(look(&path, 8, 20).0, Some(Class::Foreign), "of another run");
        }
    }

    #[test]
    fn half_transactions_and_damage_are_told_apart() {
        let change = |statement: &str| {
            let (folder, path) = made(Journal::Removed, 20);
            Connection::open(&path).unwrap().execute_batch(statement).unwrap();
            let found = look(&path, 7, 10).0;
            drop(folder);
            found
        };
        assert_eq!(change("UPDATE counter SET value = 12"), Some(Class::Torn));
        assert_eq!(change("DELETE FROM entries WHERE number = 3"), Some(Class::Missing));
        assert_eq!(
            change("UPDATE entries SET payload = x'00' WHERE number = 3"),
            Some(Class::Foreign)
        );
        let (_folder, path) = made(Journal::Removed, 20);
        let whole = fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[8192..16384].fill(0);
        fs::write(&path, damaged).unwrap();
        assert!(look(&path, 7, 20).0.is_some(), "pages of zeroes");
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(look(&path, 7, 20).0.is_some(), "half of the file");
        fs::remove_file(&path).unwrap();
        assert_eq!(look(&path, 7, 20).0, Some(Class::Unreadable));
        fs::remove_file(&path).unwrap_or_default();
        assert_eq!(look(&path, 7, 0).0, None, "nothing was acknowledged");
    }

    /// What a power cut leaves between commit and the next sync of the folder: the journal is
    /// there again, and the transaction is rolled back.
    #[test]
    fn a_journal_that_comes_back_takes_its_transaction_back() {
        let (folder, path) = made(Journal::Removed, 5);
        let database = Connection::open(&path).unwrap();
        database.execute_batch("BEGIN; INSERT INTO entries VALUES (5, x'00');").unwrap();
        // In the middle of a transaction that has begun to change the file.
        database.execute_batch("PRAGMA cache_spill = 1; PRAGMA cache_size = 1;").unwrap();
        for number in 6..40 {
            let more = params![number, payload(7, number)];
            database.execute("INSERT INTO entries VALUES (?1, ?2)", more).unwrap();
        }
        let copy = folder.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        fs::copy(folder.path().join("db-journal"), folder.path().join("copy-journal")).unwrap();
        drop(database);
        assert_eq!(look(&copy, 7, 5), (None, 5));
    }
}
