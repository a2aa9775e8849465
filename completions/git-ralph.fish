# Completion of `git-ralph <TAB>` and, by way of fish's completion of git, of `git ralph <TAB>`.
# The program itself gives the candidates.
#
# Install this file in a completions directory of fish, for one user ~/.config/fish/completions. The
# git completion of fish 3.6 and older does not look there for `git ralph`: put it into
# ~/.config/fish/conf.d for these.

function __git_ralph_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l run git-ralph
    # In `git -C dir ralph …` the words of git come first.
    if test "$words[1]" = git
        set -l at (contains --index -- ralph $words); or return
        for i in (seq 2 $at)
            test "$words[$i]" = -C; and set run git -C (string replace --regex '^~/' $HOME/ -- $words[(math $i + 1)]) ralph
        end
        set words $words[$at..-1]
    end
    set -l current (commandline --current-token --cut-at-cursor)
    # What is in quotes that are still open.
    set -l plain (string unescape -- $current); or set plain (string unescape -- $current"'"); or set plain (string unescape -- $current'"')
    COMPLETE=fish $run -- git-ralph $words[2..-1] "$plain" 2>/dev/null
end

complete --keep-order --exclusive --command git-ralph --arguments '(__git_ralph_complete)'
complete --keep-order --exclusive --command git --condition '__fish_git_using_command ralph' \
    --arguments '(__git_ralph_complete)'
