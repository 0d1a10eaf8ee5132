//! Certificates for tests of TLS, made by openssl and named as qemu, libnbd and nbdkit look for
//! them.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A private key of a curve that all know.
const KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/// Makes a root, a certificate of the server for `localhost` and one of a client, each with its
/// key: `NAME-cert.pem`, `NAME-key.pem`.
///
/// # Panics
/// When openssl fails.
pub fn make(folder: &Path) {
    let make = |name: &str, more: &[&str]| {
        let (certificate, key) = (format!("{name}-cert.pem"), format!("{name}-key.pem"));
        let subject = format!("/CN=raidloom test {name}");
        let files = ["-subj", &subject, "-keyout", &key, "-out", &certificate];
        openssl(folder, &[&["req", "-x509", "-days", "2"], &KEY[..], &files, more].concat());
    };
    make("ca", &["-addext", "keyUsage=critical,keyCertSign,cRLSign"]);
    let constraints = "basicConstraints=critical,CA:FALSE";
    let signed = ["-CA", "ca-cert.pem", "-CAkey", "ca-key.pem", "-addext", constraints];
    let hosts = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    let server = ["-addext", hosts, "-addext", "extendedKeyUsage=serverAuth"];
    make("server", &[&signed[..], &server].concat());
    make("client", &[&signed[..], &["-addext", "extendedKeyUsage=clientAuth"]].concat());
}

/// Puts another certificate in the place of the server's, signed by the same root: one of 2020.
///
/// # Panics
/// When openssl fails.
pub fn expire(folder: &Path) {
    let config = "[ca]\ndefault_ca=own\n[own]\ndatabase=index\nrand_serial=yes\ndefault_md=sha256\n\
        policy=any\ncopy_extensions=copy\nnew_certs_dir=.\n[any]\ncommonName=supplied\n";
    fs::write(folder.join("ca.cnf"), config).expect("written");
    fs::write(folder.join("index"), "").expect("written");
    let hosts = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    let wanted = ["-subj", "/CN=old", "-addext", hosts];
    let files = ["-keyout", "server-key.pem", "-out", "server.csr"];
    openssl(folder, &[&["req"], &KEY[..], &wanted, &files].concat());
    let ca = ["ca", "-batch", "-notext", "-config", "ca.cnf", "-cert", "ca-cert.pem", "-keyfile"];
    let times = ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"];
    let files = ["ca-key.pem", "-in", "server.csr", "-out", "server-cert.pem"];
    openssl(folder, &[&ca[..], &files, &times].concat());
}

fn openssl(folder: &Path, arguments: &[&str]) {
    let output = Command::new("openssl").current_dir(folder).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("openssl: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments:?}: {said}");
}
