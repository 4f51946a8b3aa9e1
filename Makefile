# make run: build everything here, without root, and measure this machine. make test: pass the tests.
# The scripts do the work, and CI calls the same. PYTHON=python3.12 chooses another Python (3.11 or newer).
PYTHON ?= python3
export PYTHON

.PHONY: run test bench build wheelhouse docs clean help

run: build
	@.venv/bin/shakedown run quick

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

clean:
	rm -rf .venv build dist wheelhouse

help:
	@sed -n '1,2p' Makefile
