# Git runs this for each move of refs, several times a commit. So it decides with the shell's own commands which moves
# can concern the guard, and starts git-ralph for those alone; it records the others. Git continues only if git-ralph says
# so: another program at its path, which answers something else, does not know the question.

zero=0000000000000000000000000000000000000000
newline='
'

# Starts git-ralph, which reads the moves from its standard input.
ask() {
    "$program" "$verb" "$@"
    case $? in
    0) ;;
    "$refused") exit 1 ;;
    *)
        unasked
        [ "$1" != --alone ] || shift
        [ "$4" = prepared ] || exit 0
        echo "git-ralph: no ref moves during an attempt while the guard cannot be asked: $program" >&2
        exit 1
        ;;
    esac
    exit 0
}

# The user's own hook reads the same moves: git-ralph runs it.
users=
if [ -z "$alone" ]; then
    [ -f "$slot/guard.users" ] && IFS= read -r users <"$slot/guard.users" || ask "$slot" "$loop" "$name" "$@"
    ! [ -x "$users/$name" ] || ask "$slot" "$loop" "$name" "$@"
fi

case $1 in
prepared) kind=p ;;
committed) kind=c ;;
*) exit 0 ;;
esac

if [ -z "$alone" ] && [ "$kind" = p ]; then
    # Settings that have changed may lead to other hooks, and hooks may have been added.
    for file in "$common_dir/config" "$git_dir/config.worktree" "${GIT_CONFIG_GLOBAL:-$HOME/.gitconfig}" \
        "${XDG_CONFIG_HOME:-$HOME/.config}/git/config"; do
        ! [ "$file" -nt "$slot/guard.rules" ] || ask "$slot" "$loop" "$name" "$@"
    done
    for hook in $names; do
        ! [ -x "$users/$hook" ] || [ -e "$slot/hooks/$hook" ] || ask "$slot" "$loop" "$name" "$@"
    done
fi

moves= seen= count=0 asks=
while IFS= read -r move; do
    moves=$moves$move$newline count=$((count + 1))
    case $kind$move in
    p*" refs/heads/"* | p*" refs/ralph/"* | p*" refs/stash" | p*"$zero"*" refs/"* | p"$zero"*" HEAD")
        # A branch, a ref that goes, or one whose former value git does not say.
        asks=yes
        ;;
    *" refs/"*)
        seen=$seen$kind\ $move$newline
        ;;
    *" HEAD")
        # Other work trees have a HEAD of their own.
        ! [ "${GIT_DIR:-.git}" -ef "$git_dir" ] || seen=$seen$kind\ $move$newline
        ;;
    esac
    # A shell is slow at this.
    [ "$count" -lt 200 ] || break
done

if [ "$count" -ge 200 ]; then
    { printf %s "$moves" && cat; } | ask --alone "$slot" "$loop" "$name" "$@"
    exit
elif [ -n "$asks" ]; then
    ask --alone "$slot" "$loop" "$name" "$@" <<MOVES
${moves%"$newline"}
MOVES
fi
[ -z "$seen" ] || ! [ -f "$slot/guard.log" ] || [ -h "$slot/guard.log" ] ||
    printf %s "$seen" >>"$slot/guard.log" 2>/dev/null
exit 0
