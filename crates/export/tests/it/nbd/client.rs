//! A small client that can also be wrong: it sends what it is told and checks what comes back, byte
//! by byte.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use block::Device;
use export::RemovalPolicy;
use export::nbd::{Address, Export, Options, Server};

/// Long enough for any machine; a test that gets there fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISCONNECT: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const ZEROES: u16 = 6;
pub(crate) const FUA: u16 = 1;
pub(crate) const NO_HOLE: u16 = 2;

pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) socket: PathBuf,
    _folder: tempfile::TempDir,
}

pub(crate) fn export(name: &str, device: Arc<dyn Device>, policy: RemovalPolicy) -> Export {
    Export {
        name: name.to_owned(),
        description: String::new(),
        device,
        read_only: false,
        policy,
        gate: Arc::default(),
    }
}

pub(crate) fn serve(device: Arc<dyn Device>, options: &Options) -> Served {
    serve_all(vec![export("drive", device, RemovalPolicy::Performance)], options)
}

pub(crate) fn serve_all(exports: Vec<Export>, options: &Options) -> Served {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("nbd.sock");
    let server =
        Server::start(exports, &[Address::Unix(socket.clone())], options).expect("a server");
    Served { server, socket, _folder: folder }
}

impl Served {
    /// A socket without any greeting.
    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        stream
    }

    /// A client that has chosen the export and gets simple replies.
    pub(crate) fn client(&self, name: &str) -> Client {
        Client::over(self.connect(), name).expect("the export is there")
    }
}

pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    pub(crate) size_bytes: u64,
    cookie: u64,
}

pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT".as_slice(), &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data]
        .concat()
}

pub(crate) fn request(command: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    [
        &0x2560_9513_u32.to_be_bytes()[..],
        &flags.to_be_bytes(),
        &command.to_be_bytes(),
        &cookie.to_be_bytes(),
        &offset.to_be_bytes(),
        &length.to_be_bytes(),
    ]
    .concat()
}

pub(crate) fn exactly<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

impl Client {
    pub(crate) fn over(mut stream: UnixStream, name: &str) -> io::Result<Client> {
        assert_eq!(&exactly::<18>(&mut stream)?, b"NBDMAGICIHAVEOPT\0\x03");
        stream.write_all(&3_u32.to_be_bytes())?;
        stream.write_all(&option(1, name.as_bytes()))?;
        let head: [u8; 10] = exactly(&mut stream)?;
        let size_bytes = u64::from_be_bytes(*head.first_chunk().expect("ten bytes"));
        Ok(Client { stream, size_bytes, cookie: 0 })
    }

    /// Sends a request; its cookie.
    pub(crate) fn send(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
        data: &[u8],
    ) -> u64 {
        self.cookie += 1;
        self.stream
            .write_all(&[&request(command, flags, self.cookie, offset, length), data].concat())
            .expect("the server reads");
        self.cookie
    }

    /// The head of a reply: its cookie and error.
    pub(crate) fn reply(&mut self) -> io::Result<(u64, u32)> {
        let head: [u8; 16] = exactly(&mut self.stream)?;
        assert_eq!(head[..4], 0x6744_6698_u32.to_be_bytes(), "a reply begins as one");
        let error = u32::from_be_bytes(*head[4..].first_chunk().expect("16 bytes"));
        Ok((u64::from_be_bytes(*head[8..].first_chunk().expect("16 bytes")), error))
    }

    /// Does one request; its error.
    pub(crate) fn does(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
        data: &[u8],
    ) -> u32 {
        let cookie = self.send(command, flags, offset, length, data);
        let (answered, error) = self.reply().expect("a reply");
        assert_eq!(answered, cookie);
        error
    }

    pub(crate) fn writes(&mut self, offset: u64, data: &[u8], flags: u16) -> u32 {
        self.does(WRITE, flags, offset, data.len() as u32, data)
    }

    /// Reads, unless the server has ended the connection.
    pub(crate) fn try_reads(&mut self, offset: u64, length: u32) -> io::Result<()> {
        self.cookie += 1;
        self.stream.write_all(&request(READ, 0, self.cookie, offset, length))?;
        self.reply()?;
        self.stream.read_exact(&mut vec![0; length as usize])
    }

    pub(crate) fn reads(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
        match self.does(READ, 0, offset, length, &[]) {
            0 => {
                let mut data = vec![0; length as usize];
                self.stream.read_exact(&mut data).expect("the data");
                Ok(data)
            }
            error => Err(error),
        }
    }

    /// Whether the server has ended the connection, after whatever it had to say.
    pub(crate) fn is_cut_off(&mut self) -> bool {
        is_cut_off(&mut self.stream)
    }
}

/// Reads to the end; whether there is one.
pub(crate) fn is_cut_off(stream: &mut UnixStream) -> bool {
    match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = reactor::Random::with_seed(seed);
    let mut bytes = vec![0; length];
    random.fill(&mut bytes);
    bytes
}
