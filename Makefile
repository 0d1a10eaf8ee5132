# The two commands of the README, and a few more. Nothing here installs packages; what is missing is named.

# Where `make install` puts things; DESTDIR goes before it, for those who make packages.
PREFIX ?= /usr/local

RAIDLOOM := target/release/raidloom
SHARE := $(DESTDIR)$(PREFIX)/share
UNITS := $(DESTDIR)$(PREFIX)/lib/systemd/system
RULES := $(DESTDIR)$(PREFIX)/lib/udev/rules.d
MUSL := $(shell uname -m)-unknown-linux-musl

.PHONY: help build demo static release reproducible test test-all bench install uninstall deb clean

# What is built to be used does not tell where its sources and cargo's folder lie: built anywhere else, it is the same to the byte.
CARGO_HOME ?= $(HOME)/.cargo
REMAPPED := $(CURDIR)=/usr/src/raidloom $(CARGO_HOME)=/usr/src/cargo
build demo static bench: export RUSTFLAGS += $(addprefix --remap-path-prefix=,$(REMAPPED))
build demo static bench: export CFLAGS += $(addprefix -ffile-prefix-map=,$(REMAPPED))

help:
	@echo "make demo     build raidloom; which layout for four disks, modelled; what parity costs, on files (2 minutes)"
	@echo "make test     the checks that a change needs, in minutes: format, rules, licences, lints, tests without kernels and browsers"
	@echo "make test-all what CI makes besides: documentation, all other tests, Miri; with CI=true fuzzing, package, static program"
	@echo "make bench    speed against fio and against itself; writes docs/benchmarks.md"
	@echo "make build    build raidloom: $(RAIDLOOM)"
	@echo "make static   the same as one file that needs no library: target/$(MUSL)/release/raidloom"
	@echo "make release  what a release page carries, in target/page: that file, the package, what they were built of, checksums"
	@echo "make reproducible  build program and package twice, in two folders, and compare them byte by byte"
	@echo "make install  put what was built, its manual pages, completions, systemd units and udev rule under $(PREFIX) (PREFIX=, DESTDIR=)"
	@echo "make uninstall  take all of it away again"
	@echo "make deb      a Debian package, in target/debian (needs cargo-deb)"
	@echo "make clean    remove what was built"

build:
	@tools/need install
	cargo build --release --locked --package raidloom

# The first answer is modelled, the second measured here: on a busy machine it may have no answer, which is exit code 5 and no failure of the demo.
# It is built for that alone, in less time than what is used (the profile `demo` of Cargo.toml); what is modelled comes out the same.
demo:
	@tools/need demo
	cargo build --profile demo --locked --package raidloom
	cargo run --profile demo --locked --quiet --package raidloom -- choose 4 x wd-red-plus-8tb --work files --survive 1
	cargo run --profile demo --locked --quiet --package raidloom -- run plans/small-writes.toml || [ $$? = 5 ]

# Linked with musl, for any Linux with io_uring on this kind of processor.
static:
	@tools/need static
	cargo build --release --locked --package raidloom --target $(MUSL)

# What a release page carries: a program for any Linux, a Debian package, what both were built of (CycloneDX), and checksums of all three.
VERSION = $(shell sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
RELEASE := target/page
release: static deb
	@tools/need release
	rm -rf $(RELEASE) && install -d $(RELEASE)
	strip -o $(RELEASE)/raidloom-$(VERSION)-$(MUSL) target/$(MUSL)/release/raidloom
	cp target/debian/raidloom_$(VERSION)-*.deb $(RELEASE)
	packaging/bill-of-materials $(MUSL) > $(RELEASE)/raidloom-$(VERSION).cdx.json
	cd $(RELEASE) && sha256sum raidloom* > SHA256SUMS && cat SHA256SUMS

reproducible:
	@tools/need install
	@tools/reproducible

test:
	@tools/need test
	cargo xtask ci format tidy dependencies clippy test

test-all:
	@tools/need test
	cargo xtask ci docs rest locale miri instructions fuzz package static

bench:
	@tools/need bench
	cargo xtask bench

# Build as yourself before (make build); root needs no compiler for this.
install:
	@test -x $(RAIDLOOM) || { echo "$(RAIDLOOM) is not there: make build, as yourself"; exit 1; }
	install -D -m 755 $(RAIDLOOM) $(DESTDIR)$(PREFIX)/bin/raidloom
	strip $(DESTDIR)$(PREFIX)/bin/raidloom
	install -d $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions \
		$(SHARE)/fish/vendor_completions.d
	$(RAIDLOOM) --quiet man --to $(SHARE)/man/man1
	$(RAIDLOOM) --quiet man --completions bash > $(SHARE)/bash-completion/completions/raidloom
	$(RAIDLOOM) --quiet man --completions zsh > $(SHARE)/zsh/site-functions/_raidloom
	$(RAIDLOOM) --quiet man --completions fish > $(SHARE)/fish/vendor_completions.d/raidloom.fish
	install -d $(UNITS)
	for unit in packaging/*.service packaging/*.timer; do \
		sed 's|/usr/local/bin/|$(PREFIX)/bin/|' $$unit > $(UNITS)/$${unit##*/} && chmod 644 $(UNITS)/$${unit##*/} || exit 1; \
	done
	install -D -m 644 packaging/90-raidloom.rules $(RULES)/90-raidloom.rules

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/raidloom $(SHARE)/man/man1/raidloom.1 $(SHARE)/man/man1/raidloom-*.1 \
		$(SHARE)/bash-completion/completions/raidloom $(SHARE)/zsh/site-functions/_raidloom \
		$(SHARE)/fish/vendor_completions.d/raidloom.fish $(UNITS)/raidloom@.service $(UNITS)/raidloom-*.service \
		$(UNITS)/raidloom-*.timer $(RULES)/90-raidloom.rules

# What install puts is what the package holds. What is missing is said before anything is built.
deb:
	@tools/need deb
	@cargo deb --version >/dev/null 2>&1 || { echo "missing: cargo-deb: cargo install --locked cargo-deb"; exit 1; }
	[ "$(RAIDLOOM)" != target/release/raidloom ] || $(MAKE) --no-print-directory build
	rm -rf target/package
	$(MAKE) --silent install DESTDIR=target/package PREFIX=/usr
	cargo deb --no-build --locked --package raidloom

clean:
	cargo clean
