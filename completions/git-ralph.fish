# Completion of `git-ralph <TAB>` and, by way of fish's completion of git, of `git ralph <TAB>`.
# The program itself gives the candidates.
#
# Install this file in a completions directory of fish, for one user ~/.config/fish/completions. The
# git completion of fish 3.6 and older does not look there for `git ralph`: put it into
# ~/.config/fish/conf.d for these.

function __git_ralph_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    # In `git -C dir ralph …` the words of git come first.
    if test "$words[1]" = git
        set -l at (contains --index -- ralph $words); or return
        set words $words[$at..-1]
    end
    COMPLETE=fish git-ralph -- git-ralph $words[2..-1] (commandline --current-token) 2>/dev/null
end

complete --keep-order --exclusive --command git-ralph --arguments '(__git_ralph_complete)'
complete --keep-order --exclusive --command git --condition '__fish_git_using_command ralph' \
    --arguments '(__git_ralph_complete)'
