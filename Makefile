# The two commands of the README, and a few more. Nothing here installs packages; what is missing is named.

.PHONY: help demo test bench install clean

help:
	@echo "make demo     build raidloom and find the best chunk size, on files and on modelled disks (3 minutes)"
	@echo "make test     every check that CI makes"
	@echo "make bench    speed against fio and against itself; writes docs/benchmarks.md"
	@echo "make install  put raidloom where cargo puts programs"
	@echo "make clean    remove what was built"

demo:
	@tools/need demo
	cargo build --release --locked --package raidloom
	cargo run --release --locked --quiet --package raidloom -- run plans/stripe-size.toml

test:
	@tools/need test
	cargo xtask ci

bench:
	@tools/need bench
	cargo xtask bench

install:
	@tools/need install
	cargo install --locked --path crates/cli

clean:
	cargo clean
