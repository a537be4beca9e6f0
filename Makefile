# heddle. `make demo` and `make test` do everything a fresh Debian or Ubuntu with Rust needs.
SHELL  := /bin/bash
PREFIX ?= /usr/local
CARGO  ?= cargo

.PHONY: help demo test build install packages check bench-quick figure11 clean

help:
	@echo "make demo         an emulated cluster, a job on it, the terminal interface"
	@echo "make test         every test, lab and MPI tests included (root)"
	@echo "make build        target/release/heddle and target/release/lib/"
	@echo "make install      into PREFIX (now $(PREFIX)): bin/heddle, lib/heddle/, man pages, completions"
	@echo "make check        formatting, lints, licences and advisories"
	@echo "make bench-quick  the figures the README states, measured here"
	@echo "make figure11     the allgather paper's Figure 11 again: docs/figure11.md and docs/figure11.svg"

demo: packages
	@scripts/need-root "make demo"
	@$(MAKE) --no-print-directory build
	target/release/heddle demo

test: packages
	@scripts/need-root "make test"
	shim/build.sh debug
	$(CARGO) test --locked --no-fail-fast

build: packages
	$(CARGO) build --release --locked
	shim/build.sh release

install: build
	install -Dm755 target/release/heddle $(DESTDIR)$(PREFIX)/bin/heddle
	install -d $(DESTDIR)$(PREFIX)/lib/heddle
	install -m755 target/release/lib/* $(DESTDIR)$(PREFIX)/lib/heddle/
	target/release/heddle completions --man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions
	target/release/heddle completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/heddle
	target/release/heddle completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_heddle

packages:
	@scripts/packages

# Advisories come from a database on the network: OFFLINE=1 leaves that one check out and says so.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	MPICC=mpicc.openmpi CARGO_TARGET_DIR=target/mpi-openmpi $(CARGO) clippy --locked -p heddle-backend -p heddle-bench -- -D warnings
	MPICC=mpicc.mpich CARGO_TARGET_DIR=target/mpi-mpich $(CARGO) clippy --locked -p heddle-backend -p heddle-bench -- -D warnings
	@command -v cargo-deny >/dev/null || { echo "heddle: cargo-deny is missing; run: cargo install --locked cargo-deny" >&2; exit 1; }
	$(CARGO) deny --log-level error check licenses bans sources
ifdef OFFLINE
	@echo "heddle: OFFLINE is set: advisories were NOT checked"
else
	$(CARGO) deny --log-level error check advisories
endif

bench-quick: packages
	@scripts/need-root "make bench-quick"
	@$(MAKE) --no-print-directory build
	scripts/bench-quick

figure11:
	$(CARGO) run --locked --release -p heddle-schedules --example figure11 -- docs

clean:
	$(CARGO) clean
