# SPDX-License-Identifier: GPL-2.0
# What a person types. The module build itself is Kbuild's; kernels, guests and suites are in tools/.

ifneq ($(KERNELRELEASE),)
# Read by the kernel build, which prefers Kbuild where there is one.
include $(src)/Kbuild
else

K ?= uml-debug
export T

.DEFAULT_GOAL := help
.PHONY: help demo check test coverage mutants race perf soak fault removal-storm loss shell modules modules_install clean distclean

help:
	@echo 'On a Debian 12 or 13 machine, as root (the first run fetches and builds what is missing):'
	@echo
	@echo '  make demo                     the demonstration, on an unmodified Debian kernel in QEMU'
	@echo '  make test                     all suites, on the uml-debug, debug and stock kernels'
	@echo '  make check [T=name]           the selftests, or one of them, on uml-debug: the inner loop'
	@echo '  make coverage                 the lines of the state machines that no test runs'
	@echo '  make mutants                  whether the tests notice small changes of the state machines (half an hour)'
	@echo '  make race                     the selftests on a kernel that looks for data races'
	@echo '  make perf                     performance beside raw kernel verbs; writes perf/latest.json'
	@echo '  make soak [SEED=n]            30 minutes of random operations on uml-debug; a seed repeats them'
	@echo '  make removal-storm            a link goes 100 times under 256 busy connections'
	@echo '  make loss                     100000 transfers over a network that loses and reorders packets'
	@echo '  make fault [T=name TIMES=n]   every allocation, link and address that can fail, on uml-debug; no case left out'
	@echo '  make shell [K=kernel]         a prompt in a guest: stock, debug, uml or uml-debug (the default)'
	@echo
	@echo 'With a Rust-enabled kernel tree of your own:'
	@echo
	@echo '  make modules KDIR=tree        build the modules for it'
	@echo '  make modules_install KDIR=tree'
	@echo
	@echo '  make clean                    remove what was built from this checkout'
	@echo '  make distclean                remove the whole cache: kernels, build root, guests'
	@echo
	@echo 'Everything built is kept in NDK_CACHE (default ~/.cache/ndk). More: tools/README.md'

demo:
	@tools/demo

perf:
	@tools/perf

check:
	@tools/test check

test:
	@tools/test

coverage:
	@tools/test coverage

mutants:
	@tools/mutants

race:
	@tools/test guest race

soak fault removal-storm loss:
	@tools/stress $@

shell:
	@tools/guest $(K) --shell

modules modules_install:
	@tools/check-kdir '$(KDIR)'
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

clean:
	@tools/clean

distclean:
	@tools/clean --cache

endif
