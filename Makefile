# The targets are documented by their names; `make check` runs all that CI runs.
SHELL   := bash
TOOLS   := $(CURDIR)/bin
MODULES := ./... ./bench/... ./datapath/...
T       ?= 5s

export PATH := $(TOOLS):$(PATH)
export GOFLAGS := -buildvcs=false -pgo=off

.PHONY: check tools lint test race fuzz instructions benchmark-once api cross tidy vuln fmt timers

check:
	.ci/run

tools:
	@scripts/tools.sh $(TOOLS)

fmt: tools
	gofumpt -w -modpath github.com/aqmkit/aqmkit .

lint: tools
	golangci-lint run $(MODULES)
	scripts/links.sh

tidy:
	scripts/tidy.sh --check

test:
	go test -shuffle=on work

race:
	scripts/race.sh

fuzz:
	scripts/fuzz.sh $(T)

instructions:
	scripts/instructions.sh

benchmark-once:
	go test -run '^$$' -bench . -benchtime 1x work

api: tools
	scripts/api.sh

cross:
	scripts/cross.sh

vuln: tools
	scripts/vuln.sh

# The comparisons of timer-driven laws with a real timer, over 10^7 random events.
timers:
	go test ./pi ./rem ./pie ./red -run '^(TestTimer|TestAnHour)$$' -v -timeout 60m -args -events 10000000
