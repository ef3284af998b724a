# Completion for elvish. `ibeam complete` finds the candidates.
use str
set edit:completion:arg-completer[ibeam] = {|@words|
    (external $words[0]) complete -- (all $words[1..]) 2>/dev/null | from-lines | each {|line|
        if (has-value [:files :directories] $line) {
            edit:complete-filename $words[-1]
        } else {
            var value description = (str:split &max=2 "\t" $line"\t")
            edit:complex-candidate $value &display=$value'  '(str:trim-space $description)
        }
    }
}
