# Completion of `git-ralph <TAB>` and, by way of git's own completion, of `git ralph <TAB>` in bash.
# The program itself gives the candidates.
#
# Install this file as git-ralph in a directory of bash-completion, for one user in
# ~/.local/share/bash-completion/completions; or source it.

# Reads the line up to the cursor as bash does, but expands nothing. Sets, of its caller: typed, the
# words; quote, the one that is open at the cursor; and kept, how much of the last word bash does not
# replace: what comes before that quote, or before the last of its word breaks.
__git_ralph_read() {
    local line=${COMP_LINE:0:COMP_POINT} i char word= begun=
    typed=() quote= kept=
    for ((i = 0; i < ${#line}; i++)); do
        char=${line:i:1}
        if [[ $char == "$quote" ]]; then
            quote=
        elif [[ $char == \\ && $quote != \' ]]; then
            ((++i))
            [[ $quote && ${line:i:1} != [\\\"\$\`] ]] && word+=$char
            word+=${line:i:1} begun=1
        elif [[ $quote ]]; then
            word+=$char
        elif [[ $char == [\"\'] ]]; then
            quote=$char kept=$word begun=1
        elif [[ $char == [[:space:]] ]]; then
            [[ $begun ]] && typed+=("$word")
            word= kept= begun=
        else
            word+=$char begun=1
            [[ $char == [=:] && $COMP_WORDBREAKS == *$char* ]] && kept=$word
            # This break is itself replaced.
            [[ $char == @ && $COMP_WORDBREAKS == *@* ]] && kept=${word%@}
        fi
    done
    typed+=("$word")
}

# Completes the last of the words from the one with this index on, which is the program; what comes
# after it runs the program.
__git_ralph_complete() {
    local first=$1 candidate
    shift
    local words=(git-ralph "${typed[@]:first + 1}")
    COMPREPLY=()
    while IFS= read -r candidate || [[ -n $candidate ]]; do
        # What bash keeps is not replaced by the id of a story whose title is typed.
        [[ $candidate == "$kept"* ]] || continue
        candidate=${candidate#"$kept"}
        case $quote in
        \") candidate=$(sed 's/[\\"$`]/\\&/g' <<<"$candidate") ;;
        \') candidate=${candidate//\'/\'\\\'\'} ;;
        *)
            [[ $candidate == *[!A-Za-z0-9_./@:=+,%#-]* ]] && printf -v candidate %q "$candidate"
            [[ $candidate == \\~* ]] && candidate=${candidate#\\}
            ;;
        esac
        COMPREPLY+=("$candidate")
    done < <(COMPLETE=bash _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) \
        "$@" -- "${words[@]}" 2>/dev/null)
    compopt -o nosort 2>/dev/null
    # A directory goes on; a finished word is followed by a space.
    if [[ ${#COMPREPLY[@]} -eq 1 && $COMPREPLY != */ ]]; then
        compopt +o nospace 2>/dev/null || COMPREPLY=("$COMPREPLY ")
    else
        compopt -o nospace 2>/dev/null
    fi
}

# git's completion calls this for `git ralph`, and for an alias of it (__git_complete).
_git_ralph() {
    local typed quote kept at=1
    local run=(git)
    __git_ralph_read
    while ((at < ${#typed[@]} - 1)); do
        case ${typed[at]} in
        -C)
            run+=(-C "${typed[at + 1]/#\~\//$HOME/}")
            ((at += 2))
            ;;
        -c | --git-dir | --work-tree | --namespace) ((at += 2)) ;;
        -*) ((at++)) ;;
        *) break ;;
        esac
    done
    [[ ${__git_cmd_idx-} == 0 ]] && at=0
    __git_ralph_complete "$at" "${run[@]}" ralph
}

# Bash calls this for `git-ralph`.
_git_ralph_alone() {
    local typed quote kept
    __git_ralph_read
    __git_ralph_complete 0 git-ralph
}

complete -o nospace -F _git_ralph_alone git-ralph
