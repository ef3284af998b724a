#compdef ibeam
# Completion for zsh. `ibeam complete` finds the candidates.
_ibeam() {
    local line value
    local -a candidates
    for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        value="${line%%$'\t'*}"
        case "$value" in
        '') ;;
        :files)
            compset -P '*='
            _files
            ;;
        :directories)
            compset -P '*='
            _files -/
            ;;
        *)
            value="${value//:/\\:}"
            [[ $line == *$'\t'?* ]] && value+=":${line#*$'\t'}"
            candidates+=("$value")
            ;;
        esac
    done
    (( ${#candidates} )) && _describe 'ibeam' candidates
}
if [ "$funcstack[1]" = "_ibeam" ]; then
    _ibeam "$@"
else
    compdef _ibeam ibeam
fi
