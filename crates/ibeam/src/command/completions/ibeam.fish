# Completion for fish. `ibeam complete` finds the candidates.
function __ibeam_complete
    set -l tokens (commandline -opc) (commandline -ct)
    for line in ($tokens[1] complete -- $tokens[2..-1] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :directories
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c ibeam -f -a '(__ibeam_complete)'
