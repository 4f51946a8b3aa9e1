# make run: build everything here, without root, and measure this machine. make test: pass the tests.
# The scripts do the work, and CI calls the same. PYTHON=python3.12 chooses another Python (3.11 or newer).
PYTHON ?= python3
export PYTHON

.PHONY: run test bench build wheelhouse docs clean help

# First what the campaign needs; once it has measured, the rest, so that nothing is compiled beside a measurement. A limit
# that is not met (1) or undecided (4) is a result, told in the report; what is an error to make is no result.
run:
	@scripts/setup quick
	@.venv/bin/shakedown run quick || case $$? in 1|4) ;; *) exit 1;; esac
	@scripts/setup

build:
	@scripts/setup

test:
	@scripts/test

bench: build
	@.venv/bin/python scripts/bench/all.py

wheelhouse:
	@scripts/wheelhouse

docs: build
	@.venv/bin/python scripts/docs.py
	@.venv/bin/python scripts/rooms.py

clean:
	rm -rf .venv build dist wheelhouse

help:
	@sed -n '1,2p' Makefile
