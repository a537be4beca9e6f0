# heddle. `make demo` and `make test` do everything a fresh Debian or Ubuntu with Rust needs.
SHELL  := /bin/bash
PREFIX ?= /usr/local
HEDDLE_DIR ?= /srv/heddle
CARGO  ?= cargo
# Where cargo builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)
FUZZ_SECONDS ?= 60
STRESS_SECONDS ?= 60
STRESS_TROUBLES ?= 100
# Tests in labs wait most of their time, so there are more of them at once than cores; tests/common/machine_share.rs has the limit.
TEST_THREADS := RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(( $$(nproc) > 6 ? $$(nproc) : 6 ))}
TREES ?= 200

.PHONY: help demo test test-packages test-many stress test-networks test-suites test-mpis test-device all-checks build install packages-deb packages-rpm tarball packages check bench-quick bench-mpi bench-loaded bench-live bench-comms bench-programs bench-conditions bench-map bench-fleet bench-scaling bench-wire predictions figure11 fuzz wire clean

help:
	@echo "make demo         an emulated cluster, a job on it, the terminal interface"
	@echo "make test         every test, lab and MPI tests included (root)"
	@echo "make test-packages  the debs in a fresh system without anything of this machine, which debootstrap makes (root, network)"
	@echo "make test-many    the planners' properties on 10,000 random trees each, and inference on 1,000 generated networks, optimized"
	@echo "make stress       STRESS_TROUBLES (now $(STRESS_TROUBLES)) troubles of a lab under four jobs: moved cables, failed switches, a frozen or spoilt directory, a controller flooded,"
	@echo "                  lied to and killed, jobs of thousands of communicators, under signals, without descriptors; then new epochs ten times a second, for"
	@echo "                  STRESS_SECONDS (now $(STRESS_SECONDS)) a job. Every byte and every epoch is checked: docs/figures.md (root)"
	@echo "make test-networks NETWORKS=FOLDER  the tests on recordings of real networks, which are not part of this repository"
	@echo "make test-suites SUITES=FOLDER  test suites that others wrote, from sources in a folder (scripts/build-suites says which), with the runtime and without; hours (root)"
	@echo "make test-mpis    the tests of MPI libraries with every version that scripts/packages names: docs/mpi-libraries.md (root)"
	@echo "make test-device OPENMPI_CUDA=PREFIX  jobs with buffers in a GPU's memory, by a stand-in for its driver, under the CUDA-aware Open MPI there, which"
	@echo "                  scripts/build-openmpi-cuda PREFIX makes (root)"
	@echo "make all-checks   once a week: what neither make test nor make check runs: make test-many, make fuzz with FUZZ_SECONDS (now $(FUZZ_SECONDS))"
	@echo "                  each, make check, make bench-quick; docs/figures.md says when each ran (root, network)"
	@echo "make build        $(TARGET)/release/heddle and $(TARGET)/release/lib/; installs nothing. MPICC_OPENMPI=, MPICC_MPICH= name an MPI's compiler; one is enough"
	@echo "make packages     installs what building, the lab and the tests need (Debian, Ubuntu)"
	@echo "make install      into PREFIX (now $(PREFIX)): bin/heddle, lib/heddle/, units, man pages, completions, share/heddle/ (module file, Slurm prolog) for the shared directory HEDDLE_DIR (now $(HEDDLE_DIR))"
	@echo "make packages-deb, make packages-rpm, make tarball  packages heddle, heddle-mpi and heddle-lab, or tarballs, in $(TARGET)/packages/: docs/installing.md"
	@echo "make check        formatting, lints, licences and advisories"
	@echo "make bench-quick  the figures of docs/figures.md, measured here"
	@echo "make bench-mpi    both data paths against the MPI libraries' own routines in labs of several shapes: docs/figures.md"
	@echo "make bench-loaded heddle loaded and nothing set, against the library and each way, with 4 and 8 ranks a host: docs/figures.md; goes on where"
	@echo "                  it was stopped; LOADED='--shape shared-star --size 512' narrows it"
	@echo "make bench-live   what the runtime costs a call of 1 kB that goes the library's own way, agreements included: docs/figures.md"
	@echo "make bench-comms  what the runtime costs communicators that live for one small call: docs/figures.md"
	@echo "make bench-programs  whole programs of others with the runtime and without it: docs/figures.md; NPB=FOLDER: NPB's, built there, too"
	@echo "make bench-conditions  a job with the runtime and without it under wrong rates, loss, other traffic, firewalls: docs/figures.md; hours;"
	@echo "                  CONDITIONS=--short: minutes; CONDITIONS=--help says more (root)"
	@echo "make bench-map    heddle map on TREES (now $(TREES)) random emulated trees against the truth: docs/figures.md (root)"
	@echo "make bench-fleet  what a simulated fleet of 1,000 switches and 20,000 hosts costs: docs/figures.md; PARTS=controller: only that"
	@echo "make bench-scaling  time and memory of planning against hosts: docs/figures.md and docs/scaling.svg"
	@echo "make wire         $(TARGET)/release/wire: the transport in ns-3, at any rate; make bench-wire: its table in docs/figures.md"
	@echo "make predictions  predicted against measured times: docs/figures.md and docs/predictions.svg"
	@echo "make figure11     the allgather paper's Figure 11 again: docs/figures.md and docs/figure11.svg"
	@echo "make fuzz         every reader of foreign bytes, for FUZZ_SECONDS each (now $(FUZZ_SECONDS)); needs nightly Rust and cargo-fuzz"

demo:
	@scripts/packages build lab
	@scripts/need-root "make demo"
	@$(MAKE) --no-print-directory build
	$(TARGET)/release/heddle demo

test:
	@scripts/packages build lab tests
	@scripts/need-root "make test"
	shim/build.sh debug
	$(TEST_THREADS) $(CARGO) test --locked --no-fail-fast

test-packages:
	@scripts/packages build lab tests clean-root
	@scripts/need-root "make test-packages"
	shim/build.sh debug
	test -d $(TARGET)/clean-root || { rm -rf $(TARGET)/clean-root.new && debootstrap --variant=minbase $$(. /etc/os-release; echo $$VERSION_CODENAME) $(TARGET)/clean-root.new && mv $(TARGET)/clean-root.new $(TARGET)/clean-root; }
	CLEAN_ROOT=$(abspath $(TARGET)/clean-root) $(CARGO) test --locked --test all packages:: -- --nocapture

test-many:
	$(CARGO) test --locked --release -p inventory -p infer -p fleet -p cabling -p mapping -p schedules -p policy -p simulation -p forecast

stress:
	@scripts/need-root "make stress"
	shim/build.sh debug
	STRESS_TROUBLES=$(STRESS_TROUBLES) $(CARGO) test --locked --test all stress:: -- --nocapture
	STRESS_SECONDS=$(STRESS_SECONDS) $(CARGO) test --locked --test all epochs_change_under_a_running_job -- --nocapture

test-networks:
	@test -d "$(NETWORKS)" || { echo "heddle: NETWORKS names no folder; say where the recordings are: make test-networks NETWORKS=FOLDER" >&2; exit 1; }
	HEDDLE_NETWORKS=$(abspath $(NETWORKS)) $(CARGO) test --locked -p agent --features networks --test networks -- --nocapture --test-threads 1

test-suites:
	@scripts/packages build lab tests
	@scripts/need-root "make test-suites"
	@test -d "$(SUITES)" || { echo "heddle: SUITES names no folder; say where the sources are: make test-suites SUITES=FOLDER" >&2; exit 1; }
	scripts/build-suites $(SUITES)
	$(CARGO) test --locked --no-fail-fast --features suites --test all suites:: -- --nocapture --test-threads 1

test-mpis:
	@scripts/packages build lab tests mpis
	@scripts/need-root "make test-mpis"
	shim/build.sh debug
	$(CARGO) test --locked --features mpis --test all fetched_ -- --nocapture

test-device:
	@scripts/packages build lab tests
	@scripts/need-root "make test-device"
	@test -e "$(OPENMPI_CUDA)/lib/libmpi.so" || { echo "heddle: OPENMPI_CUDA names no Open MPI; make one: scripts/build-openmpi-cuda PREFIX, then make test-device OPENMPI_CUDA=PREFIX" >&2; exit 1; }
	shim/build.sh debug
	OPENMPI_CUDA=$(abspath $(OPENMPI_CUDA)) $(CARGO) test --locked --features device --test all device_memory -- --nocapture

# Each part runs, whatever came of the parts before.
all-checks:
	@scripts/need-root "make all-checks"
	@failed=; for part in check test-many fuzz bench-quick; do \
		$(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; test -z "$$failed" || { echo "heddle: these failed:$$failed" >&2; exit 1; }

build:
	@scripts/can-build
	shim/build.sh release heddle

install: build
	share/install $(TARGET)/release $(PREFIX) $(HEDDLE_DIR) "$(DESTDIR)"

packages-deb packages-rpm tarball: build
	@HEDDLE_DIR=$(HEDDLE_DIR) share/packages/build $(patsubst packages-%,%,$@)

packages:
	@scripts/packages build lab tests

# Advisories come from a database on the network: OFFLINE=1 leaves that one check out and says so.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	MPICC=mpicc.openmpi $(CARGO) clippy --locked -p openmpi -p mpich -p abi -p bench -p map --all-targets -- -D warnings
	@command -v cargo-deny >/dev/null || { echo "heddle: cargo-deny is missing; run: cargo install --locked cargo-deny" >&2; exit 1; }
	for manifest in Cargo.toml experiments/wire/Cargo.toml; do \
		$(CARGO) deny --manifest-path $$manifest --log-level error check licenses bans sources || exit 1; \
	done
ifdef OFFLINE
	@echo "heddle: OFFLINE is set: advisories were NOT checked"
else
	for manifest in Cargo.toml experiments/wire/Cargo.toml fuzz/Cargo.toml; do \
		$(CARGO) deny --manifest-path $$manifest --log-level error check advisories || exit 1; \
	done
endif

bench-quick:
	@scripts/packages build lab
	@scripts/need-root "make bench-quick"
	@$(MAKE) --no-print-directory build
	scripts/bench-quick

bench-mpi:
	@scripts/packages build lab
	@scripts/need-root "make bench-mpi"
	@$(MAKE) --no-print-directory build
	scripts/bench-mpi
	scripts/bench-mpi --loaded --size 512,2048,8192,32768,65536,262144

bench-loaded:
	@scripts/packages build lab
	@scripts/need-root "make bench-loaded"
	@$(MAKE) --no-print-directory build
	for ranks in 4 8; do \
		scripts/bench-mpi --per-host $$ranks --collective alltoall --way own --way loaded --way bundled --way tcp --rounds 3 --seconds 2 \
			--size 64,512,2048,8192 --cells $(TARGET)/bench-loaded.json --resume $(LOADED) || exit 1; \
	done

bench-live:
	@scripts/packages build lab
	@scripts/need-root "make bench-live"
	@$(MAKE) --no-print-directory build
	scripts/bench-live

bench-comms:
	@scripts/packages build lab
	@scripts/need-root "make bench-comms"
	@$(MAKE) --no-print-directory build
	scripts/bench-comms

bench-programs:
	@scripts/packages build lab programs
	@scripts/need-root "make bench-programs"
	@$(MAKE) --no-print-directory build
	scripts/bench-programs $(if $(NPB),--npb $(NPB))

bench-conditions:
	@scripts/packages build lab
	@scripts/need-root "make bench-conditions"
	@$(MAKE) --no-print-directory build
	scripts/bench-conditions $(CONDITIONS)

bench-map:
	@scripts/packages build lab
	@scripts/need-root "make bench-map"
	@$(MAKE) --no-print-directory build
	scripts/bench-map --trees $(TREES)

bench-fleet:
	$(CARGO) build --locked --release -p heddle
	$(CARGO) build --locked --release -p fleet --example fleet --example networks
	scripts/bench-fleet $(PARTS)

bench-scaling:
	$(CARGO) run --locked --release -p experiments --bin scaling -- docs

predictions:
	$(CARGO) run --locked --release -p experiments --bin predictions -- docs

figure11:
	$(CARGO) run --locked --release -p experiments --bin figure11 -- docs

wire:
	@scripts/packages wire
	$(CARGO) build --locked --release --manifest-path experiments/wire/Cargo.toml --target-dir $(TARGET)

bench-wire: wire
	experiments/wire/bench $(TARGET)/release/wire

fuzz:
	@command -v cargo-fuzz >/dev/null || { echo "heddle: cargo-fuzz is missing; run: cargo install --locked cargo-fuzz" >&2; exit 1; }
	$(CARGO) run --locked -q -p directory --example seeds -- fuzz/corpus
	$(CARGO) run --locked -q -p agent --example frames -- fuzz/corpus
	$(CARGO) run --locked -q -p agent --example inputs -- fuzz/corpus
	for target in $$(cargo fuzz list); do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 -max_len=65536 -timeout=10 -print_funcs=0 || exit 1; \
	done

clean:
	$(CARGO) clean
