//! Limits of a glob from an untrusted text, checked before it is compiled.
//!
//! The compiler of globs recurses as deep as the text nests, and its program is many times as long as the text. Without
//! limits, some kilobytes overflow the stack or take gigabytes.

/// Maximum bytes of a glob: no path is longer.
const MAX_BYTES: usize = 4096;
/// Maximum nesting of braces.
const MAX_DEPTH: usize = 8;
/// Maximum number of wildcards, classes and alternatives.
const MAX_WILDCARDS: usize = 256;

/// Checks that `glob` is small enough to be compiled.
///
/// # Errors
/// The limit that is exceeded, as the rest of a sentence about the glob.
pub(crate) fn check(glob: &str) -> Result<(), String> {
    if glob.len() > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    let mut depth = 0usize;
    for byte in glob.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!("its braces are nested more than {MAX_DEPTH} deep"));
        }
    }
    if count_wildcards(glob) > MAX_WILDCARDS {
        return Err(format!("it has more than {MAX_WILDCARDS} wildcards, classes and alternatives"));
    }
    Ok(())
}

/// Returns the number of wildcards, classes and alternatives in `glob`, which determine the size of its program.
pub(crate) fn count_wildcards(glob: &str) -> usize {
    glob.bytes().filter(|byte| b"*?[{,".contains(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(glob: &str, expect: &str) {
        let error = check(glob).unwrap_err();
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn usual_globs_are_accepted() {
        let many = (0..100).map(|n| format!("file{n}.rs")).collect::<Vec<_>>().join(",");
        for glob in ["", "*.rs", "**/{a,b{c,d}}/[!x]?/**", &format!("{{{many}}}"), &"a/".repeat(2000)] {
            check(glob).unwrap();
        }
    }

    #[test]
    fn a_glob_beyond_a_limit_is_refused_with_that_limit() {
        refused(&"{".repeat(300), "nested more than 8 deep");
        refused(&format!("{}a{}", "{".repeat(9), "}".repeat(9)), "nested");
        refused(&"{a,".repeat(100), "nested");
        refused(&"**/".repeat(1000), "wildcards");
        refused(&"[".repeat(1000), "wildcards");
        refused(&format!("{{{}}}", "a,".repeat(1000)), "alternatives");
        refused(&"a".repeat(5000), "longer than 4096 bytes");
    }
}
