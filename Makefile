# Makefile - the short way to everything.  SPDX-License-Identifier: Apache-2.0
#
#   make             build the product into build/ (build/usf works from there)
#   make demo        set up, build, and show unmodified programs under Linux and under usf
#   make test        set up, build, run the tests, and check-asserts (LIMIT=80: for so many minutes at most, then say what runs and
#                    end it; FULL=1: the long ones too: slow programs, each system call denied by itself, the largest searches
#                    of the models; installs some 500 MB more, torch among it)
#   make check-asserts  the tests of what has asserts (the scheduler, floating threads, futexes, spin loops, the segment, the monitor,
#                    kills) in a second build, by clang, with every assert and perturbation point
#   make test-full   the same as make test FULL=1
#   make check-fast  the fast tests alone
#   make conformance the suites of others, whole, bare and under usf: CPython's tests, posixtestsuite, libgomp's, LLVM OpenMP's,
#                    those of crossbeam, parking_lot and rayon, stress-ng (downloads some 250 MB the first time)
#   make numerics    numpy, torch, TensorFlow, JAX, ONNX Runtime, XGBoost, LightGBM and FFTW: are their results under usf the bare
#                    ones, bit for bit: REPEATS=25 times in each of four processes (half an hour; downloads some 700 MB the first time)
#   make survey      programs that people use, bare and under usf: results, CPU and wall time, into docs/survey.md (half an hour;
#                    installs some 4 GB of packages, and does without those that cannot be had; ARGS="--only xz --big")
#   make fuzz        AFL++ on all that reads foreign bytes, FUZZ_SECONDS=60 for each target
#   make soak        kill participants: at every perturbation point, and 10,000 at random (KILLS=, MINUTES=, SEED=), after which
#                    the others are to go on within MEDIAN=20 and P99=100 ms; fork beside everything that holds a lock, for
#                    STORM=20 minutes; then everything at once, for TOGETHER=60 minutes
#   make bench       every benchmark of docs/performance.md (hours; SMALL=1: minutes; NAMES="nested pairs": some)
#   make coexec      the nOS-V paper's co-execution experiment: pairs and triples of programs by five strategies (an hour or
#                    two; a series that was interrupted goes on; ARGS="--pairs --only dot,nbody": some)
#   make nosv-omp    tasks with OpenMP and BLAS below and above, beside the same made by hand (five minutes; ARGS="--only inside")
#   make install     meson install (PREFIX=/usr/local, DESTDIR=)
#   make package     a Python wheel and a Debian package, into build/package/
#   make clean       remove build/ and build-checked/
#
# Each installs the Debian packages that it needs first, if they are missing; SETUP=0 leaves that out.
BUILD  ?= build
PREFIX ?= /usr/local
SETUP  ?= 1
SMALL  ?= 0
FULL   ?= 0
NAMES  ?=
FUZZ_SECONDS ?= 60
REPEATS ?= 25
KILLS   ?= 10000
MINUTES ?= 120
MEDIAN  ?= 20
P99     ?= 100
TOGETHER ?= 60
STORM    ?= 20
LIMIT    ?=
SEED    ?=
export SETUP
PYTHON := /usr/bin/python3
SETUP_CHECKED = test -f $(BUILD)-checked/build.ninja || CC=clang CXX=clang++ meson setup $(BUILD)-checked -Dtests=true -Dasserts=expensive -Dpoints=true
WORKLOADS := $(MAKE) --no-print-directory -s -f bench/workloads/Makefile OUT=$(BUILD)/bench

all: setup-build $(BUILD)/build.ninja
	@ninja -C $(BUILD) product

# The same, silently.
usf: setup-build $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet product

# The product, the tests and what they run.
tests: setup-build $(BUILD)/build.ninja
	@meson configure $(BUILD) | grep -q '^ *tests  *true' || meson configure $(BUILD) -Dtests=true
	@ninja -C $(BUILD)

setup-%:
	@scripts/setup $(subst +, ,$*)

$(BUILD)/build.ninja: | setup-build
	meson setup $(BUILD) --prefix $(PREFIX)

demo: setup-build+demo
	@$(MAKE) --no-print-directory SETUP=0 usf
	@$(WORKLOADS) demo
	@$(PYTHON) bench/demo.py --build $(BUILD)

test: setup-build+test$(if $(filter 1,$(FULL)),+full)
	@$(MAKE) --no-print-directory SETUP=0 tests
	@$(WORKLOADS)
	@$(SETUP_CHECKED)
	@ninja --quiet -C $(BUILD)-checked product
	@scripts/run-tests --build $(BUILD) --suite fast --suite slow --suite apps --then $(BUILD)-checked:checked $(if $(LIMIT),--limit $(LIMIT)) $(if $(filter 1,$(FULL)),--suite apps-full --suite long)

check-asserts: setup-build+test
	@$(SETUP_CHECKED)
	@scripts/run-tests --build $(BUILD)-checked --suite checked --rebuild

test-full:
	@$(MAKE) --no-print-directory test FULL=1

check-fast: setup-build
	@$(MAKE) --no-print-directory SETUP=0 tests
	@scripts/run-tests --build $(BUILD) --suite fast

conformance: setup-build+test+conformance
	@$(MAKE) --no-print-directory SETUP=0 usf
	@USF=$(BUILD)/usf USF_TEST_CACHE=$(abspath $(BUILD))/tests-cache tests/conformance/run.py

$(BUILD)/numerics/ready: tests/numerics/requirements.txt
	@$(PYTHON) -m venv $(BUILD)/numerics
	@$(BUILD)/numerics/bin/python -m pip install -q --disable-pip-version-check --no-input --only-binary :all: -r $<
	@touch $@

numerics: setup-build+numerics
	@$(MAKE) --no-print-directory SETUP=0 usf $(BUILD)/numerics/ready
	@USF=$(BUILD)/usf NUMERICS_PYTHON=$(BUILD)/numerics/bin/python tests/numerics/run.py --repeats $(REPEATS) --table $(BUILD)/numerics.md

survey: setup-build
	@VENV=$(BUILD)/survey-venv scripts/setup --partial survey
	@$(MAKE) --no-print-directory SETUP=0 usf
	@$(PYTHON) tests/survey/survey.py --build $(BUILD) $(ARGS); status=$$?; $(PYTHON) tests/survey/survey.py --build $(BUILD) --table; exit $$status

fuzz: setup-build+fuzz $(BUILD)/build.ninja
	@tests/fuzz/run.py --build $(BUILD) --seconds $(FUZZ_SECONDS)

soak: setup-build+test+bench
	@$(MAKE) --no-print-directory SETUP=0 tests
	@test -f $(BUILD)-points/build.ninja || meson setup $(BUILD)-points -Dpoints=true -Dtests=true
	@ninja -C $(BUILD)-points --quiet usf libusf.so tests/soak/load
	@$(PYTHON) tests/soak/points.py --build $(BUILD)-points $(if $(SEED),--seed $(SEED))
	@ninja -C $(BUILD)-points --quiet tests/spawn/spawn-storm tests/spawn/spawn-plugin.so
	@SPAWN_USF=$(BUILD)-points/usf SPAWN_BIN=$(BUILD)-points/tests/spawn $(if $(SEED),SEED=$(SEED)) \
	  $(PYTHON) tests/spawn/test_storm.py --points --minutes $(STORM)
	@$(PYTHON) tests/soak/kill.py --build $(BUILD) --kills $(KILLS) --minutes $(MINUTES) --median $(MEDIAN) --p99 $(P99) \
	  $(if $(SEED),--seed $(SEED))
	@$(WORKLOADS)
	@$(PYTHON) tests/soak/everything.py --build $(BUILD) --minutes $(TOGETHER) $(if $(SEED),--seed $(SEED))

bench: setup-build+bench
	@$(MAKE) --no-print-directory SETUP=0 usf
	@$(WORKLOADS)
	@$(PYTHON) bench/run.py --build $(BUILD) $(if $(filter 1,$(SMALL)),--small) $(or $(NAMES),all)

coexec: setup-build+bench $(BUILD)/build.ninja
	@meson configure $(BUILD) | grep -q '^ *tests  *true' || meson configure $(BUILD) -Dtests=true
	@ninja -C $(BUILD) --quiet product coexec
	@$(PYTHON) bench/coexec/coexec.py --build $(BUILD) $(ARGS)

nosv-omp: setup-build+bench $(BUILD)/build.ninja
	@meson configure $(BUILD) | grep -q '^ *tests  *true' || meson configure $(BUILD) -Dtests=true
	@ninja -C $(BUILD) --quiet product nosv-omp
	@$(PYTHON) bench/nosv-omp/nosv_omp.py --build $(BUILD) $(ARGS)

workloads: setup-build+bench
	@$(WORKLOADS)

install: all
	meson setup $(BUILD) --reconfigure --prefix $(PREFIX)
	meson install -C $(BUILD) --no-rebuild

package: setup-build+package
	@scripts/package $(BUILD)/package

clean:
	rm -rf $(BUILD) $(BUILD)-checked

.PHONY: all usf tests demo test test-full check-fast check-asserts conformance numerics survey fuzz soak bench coexec nosv-omp workloads install package clean
