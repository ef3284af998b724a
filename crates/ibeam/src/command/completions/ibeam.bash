# Completion for bash. `ibeam complete` finds the candidates.
_ibeam() {
    local line="${COMP_LINE:0:COMP_POINT}" current prefix value
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current="${words[${#words[@]}-1]}"
    # readline replaces only the part after the last of these characters.
    prefix="${current%"${current##*[=:]}"}"
    COMPREPLY=()
    while IFS=$'\t' read -r value _; do
        case "$value" in
        :files)
            compopt -o filenames 2>/dev/null
            while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "${current#"$prefix"}")
            ;;
        :directories)
            compopt -o filenames 2>/dev/null
            while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -d -- "${current#"$prefix"}")
            ;;
        *) COMPREPLY+=("${value#"$prefix"}") ;;
        esac
    done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _ibeam ibeam
