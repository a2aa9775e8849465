# For packagers: `make install DESTDIR=<dir> PREFIX=/usr` puts the program, its manual pages and completions below
# <dir>/usr. People install with cargo and `git ralph install` (README.md).

PREFIX = /usr/local
DESTDIR =
CARGO = cargo
# What is installed; `make` builds it.
PROGRAM = target/dist/git-ralph

BIN = $(DESTDIR)$(PREFIX)/bin
SHARE = $(DESTDIR)$(PREFIX)/share

.PHONY: build install uninstall

build:
	$(CARGO) build --locked --profile dist

install:
	install -d "$(BIN)"
	install -m 755 "$(PROGRAM)" "$(BIN)/git-ralph"
	set -e; for page in man/*.[1-8]; do \
		section="$(SHARE)/man/man$${page##*.}"; \
		install -d "$$section"; \
		install -m 644 "$$page" "$$section/"; \
	done
	install -d "$(SHARE)/bash-completion/completions" "$(SHARE)/zsh/site-functions" \
		"$(SHARE)/fish/vendor_completions.d"
	install -m 644 completions/git-ralph.bash "$(SHARE)/bash-completion/completions/git-ralph"
	install -m 644 completions/_git-ralph "$(SHARE)/zsh/site-functions/"
	install -m 644 completions/git-ralph.fish "$(SHARE)/fish/vendor_completions.d/"

# Leaves directories: others may use them.
uninstall:
	rm -f "$(BIN)/git-ralph"
	for page in man/*.[1-8]; do rm -f "$(SHARE)/man/man$${page##*.}/$${page##*/}"; done
	rm -f "$(SHARE)/bash-completion/completions/git-ralph" "$(SHARE)/zsh/site-functions/_git-ralph" \
		"$(SHARE)/fish/vendor_completions.d/git-ralph.fish"
