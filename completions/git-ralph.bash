# Completion of `git-ralph <TAB>` and, by way of git's own completion, of `git ralph <TAB>` in bash.
# The program itself gives the candidates.
#
# Install this file as git-ralph in a directory of bash-completion, for one user in
# ~/.local/share/bash-completion/completions; or source it.

# Completes the last word of a command line that is given as words.
__git_ralph_complete() {
    local candidate cur=${!#}
    COMPREPLY=()
    while IFS= read -r candidate || [[ -n $candidate ]]; do
        COMPREPLY+=("$candidate")
    done < <(COMPLETE=bash _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$(($# - 1)) git-ralph -- "$@" 2>/dev/null)
    # Bash replaces only what comes after the last of its word breaks.
    local keep=${cur%"${cur##*[=:]}"}
    [[ $COMP_WORDBREAKS == *[=:]* && -n $keep ]] && COMPREPLY=("${COMPREPLY[@]#"$keep"}")
    # A directory goes on; a finished word is followed by a space.
    [[ ${#COMPREPLY[@]} -eq 1 && $COMPREPLY != */ ]] && COMPREPLY=("$COMPREPLY ")
    compopt -o nospace 2>/dev/null
}

# git's completion calls this for `git ralph`; it sets words, cword and __git_cmd_idx.
_git_ralph() {
    __git_ralph_complete git-ralph "${words[@]:__git_cmd_idx + 1:cword - __git_cmd_idx}"
}

# Bash calls this for `git-ralph`.
_git_ralph_alone() {
    local words cword
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref -n =: words cword
    else
        words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    fi
    __git_ralph_complete "${words[@]:0:cword + 1}"
}

complete -F _git_ralph_alone git-ralph
