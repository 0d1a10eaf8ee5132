# The two commands of the README, and a few more. Nothing here installs packages; what is missing is named.

.PHONY: help demo test bench install install-service clean

help:
	@echo "make demo     build raidloom; which chunk size, on modelled disks; what parity costs, on files (2 minutes)"
	@echo "make test     every check that CI makes"
	@echo "make bench    speed against fio and against itself; writes docs/benchmarks.md"
	@echo "make install  put raidloom where cargo puts programs"
	@echo "make install-service  as root: raidloom to /usr/local/bin, its systemd unit to /etc/systemd/system (DESTDIR goes before both)"
	@echo "make clean    remove what was built"

demo:
	@tools/need demo
	cargo build --release --locked --package raidloom
	cargo run --release --locked --quiet --package raidloom -- run plans/chunk-and-depth.toml
	cargo run --release --locked --quiet --package raidloom -- run plans/small-writes.toml

test:
	@tools/need test
	cargo xtask ci

bench:
	@tools/need bench
	cargo xtask bench

install:
	@tools/need install
	cargo install --locked --path crates/cli

# Build as yourself before (cargo build --release); root needs no compiler for this.
install-service:
	install -D -m 755 target/release/raidloom $(DESTDIR)/usr/local/bin/raidloom
	install -D -m 644 packaging/raidloom@.service $(DESTDIR)/etc/systemd/system/raidloom@.service

clean:
	cargo clean
