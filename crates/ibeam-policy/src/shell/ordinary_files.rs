//! Ordinary arguments of programs that show, compare and change files and texts.
//!
//! Sources: the manuals of GNU coreutils 9, findutils, diffutils, grep, tar, util-linux, of ripgrep, fd, jq, curl
//! and file. A comment gives the reason for what is left out on purpose.

use super::ordinary_arguments::{Operands, ProgramOptions, program};

pub(crate) const FILES: &[ProgramOptions] = &[
    program(
        &["ls", "dir", "vdir"],
        "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1",
        "ITw",
        "all almost-all author escape block-size= ignore-backups color? directory dired classify? file-type format= \
         full-time group-directories-first no-group human-readable si dereference-command-line \
         dereference-command-line-symlink-to-dir hide= hyperlink? indicator-style= inode ignore= kibibytes dereference \
         numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size \
         sort= time= time-style= tabsize= width= context zero",
    )
    .harmless(),
    program(
        &["cat"],
        "AbeEnstTuv",
        "",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting",
    )
    .harmless(),
    program(&["tac"], "br", "s", "before regex separator=").harmless(),
    program(&["rev"], "", "", "").harmless(),
    program(
        &["nl"],
        "p",
        "bdfhilnsvw",
        "body-numbering= footer-numbering= header-numbering= line-increment= join-blank-lines= number-format= \
         no-renumber number-separator= section-delimiter= starting-line-number= number-width=",
    )
    .harmless(),
    program(&["head"], "qvz0123456789", "cn", "bytes= lines= quiet silent verbose zero-terminated").harmless(),
    program(
        &["tail"],
        "fFqrvz0123456789",
        "cns",
        "bytes= lines= follow? retry pid= sleep-interval= max-unchanged-stats= quiet silent verbose zero-terminated",
    )
    .harmless(),
    // Even with `--files0-from`, which reads names from a file, `wc` only counts.
    program(&["wc"], "clmwL", "", "bytes chars lines words max-line-length total=").harmless(),
    program(
        &["cut"],
        "nsz",
        "bcdf",
        "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated",
    )
    .harmless(),
    program(&["paste"], "sz", "d", "delimiters= serial zero-terminated").harmless(),
    program(
        &["join"],
        "iz",
        "aejotv12",
        "ignore-case check-order nocheck-order header zero-terminated",
    )
    .harmless(),
    program(&["comm"], "123iz", "", "check-order nocheck-order output-delimiter= total zero-terminated").harmless(),
    // The second operand of `uniq` and of `xxd` is written.
    program(
        &["uniq"],
        "cdDiuz",
        "fsw",
        "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique zero-terminated check-chars=",
    )
    .with_operands(Operands::AtMost(1)),
    program(&["xxd"], "abCdEeipru", "cglos", "").with_operands(Operands::AtMost(1)),
    program(&["fold"], "bcs", "w", "bytes spaces width=").harmless(),
    program(&["fmt"], "cstu", "pwg", "crown-margin prefix= split-only tagged-paragraph uniform-spacing width= goal=")
        .harmless(),
    program(&["expand", "unexpand"], "aif", "t", "initial tabs= all first-only").harmless(),
    program(
        &["column"],
        "etxLnJmd",
        "cosNRHTWEOlpir",
        "table output-width= separator= output-separator= table-columns= table-right= table-hide= json fillrows",
    )
    .harmless(),
    program(&["tr"], "cCdst", "", "complement delete squeeze-repeats truncate-set1").harmless(),
    program(
        &["od"],
        "abcdfhilosvxBDeFHIOLXw0123456789",
        "AjNSt",
        "address-radix= endian= skip-bytes= read-bytes= strings? format= output-duplicates width? traditional",
    )
    .harmless(),
    program(&["hexdump", "hd"], "bcCdovx", "ensf", "one-byte-octal one-byte-char canonical no-squeezing length= skip=")
        .harmless(),
    // An operand `@file` contains more options.
    program(&["strings"], "afow", "nte", "all data print-file-name bytes= radix= encoding=").with_operands(Operands::Files),
    program(
        &["grep", "egrep", "fgrep"],
        "EFGPivwxcLlqsbHhnTUZzaIrRyo0123456789",
        "efmABCDd",
        "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case no-ignore-case invert-match \
         word-regexp line-regexp count color? colour? files-without-match files-with-matches max-count= only-matching \
         quiet silent no-messages byte-offset with-filename no-filename label= line-number initial-tab null \
         after-context= before-context= context= group-separator= no-group-separator text binary-files= devices= \
         directories= exclude= exclude-from= exclude-dir= include= recursive dereference-recursive line-buffered binary \
         null-data",
    )
    .harmless(),
    // Not `--pre` and `--hostname-bin`, which run programs, nor `-z`, which runs decompressors.
    program(
        &["rg", "ripgrep"],
        "aFhHiIlLnNopPqsSuUvVwx0.c",
        "ABCdefgjmMrtTE",
        "after-context= before-context= context= byte-offset case-sensitive color= colors= column context-separator= \
         count count-matches crlf debug encoding= engine= file= files files-with-matches files-without-match \
         fixed-strings follow glob= glob-case-insensitive heading hidden iglob= ignore-case ignore-file= \
         ignore-file-case-insensitive include-zero invert-match json line-buffered line-number line-regexp max-columns= \
         max-columns-preview max-count= max-depth= max-filesize= mmap multiline multiline-dotall no-config no-filename \
         no-heading no-hidden no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global \
         no-ignore-messages no-ignore-parent no-ignore-vcs no-line-number no-messages no-mmap no-require-git null \
         null-data one-file-system only-matching passthru path-separator= pcre2 pretty quiet regexp= replace= \
         smart-case sort= sortr= stats stop-on-nonmatch text threads= trim type= type-not= type-list type-add= \
         unrestricted vimgrep with-filename word-regexp binary",
    ),
    program(
        &["fd", "fdfind"],
        "HIusigFaplL01q",
        "dteEScjo",
        "hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted case-sensitive ignore-case glob regex fixed-strings \
         absolute-path list-details follow full-path print0 max-depth= min-depth= exact-depth= exclude= prune type= \
         extension= size= changed-within= changed-before= owner= color= threads= max-results= quiet show-errors \
         base-directory= path-separator= search-path= strip-cwd-prefix one-file-system and= hyperlink",
    ),
    // Not `-o`, `--compress-program`, `-T` and `--files0-from`.
    program(
        &["sort"],
        "bdfghiMnRrVcCmsuz",
        "kSt",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort \
         human-numeric-sort numeric-sort random-sort random-source= reverse sort= version-sort batch-size= check? \
         debug key= merge stable buffer-size= field-separator= parallel= unique zero-terminated",
    ),
    program(
        &["find", "gfind"],
        "",
        "",
        "-H -L -P -O0 -O1 -O2 -O3 -name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= -regextype= \
         -lname= -ilname= -type= -xtype= -maxdepth= -mindepth= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -newer= \
         -anewer= -cnewer= -newermt= -newerat= -newerct= -newermm= -size= -empty -perm= -user= -group= -uid= -gid= \
         -nouser -nogroup -links= -inum= -samefile= -readable -writable -executable -print -print0 -printf= -ls -prune \
         -quit -depth -d -xdev -mount -follow -daystart -noleaf -not -a -and -o -or -true -false -used= -fstype= -warn \
         -nowarn -ignore_readdir_race -noignore_readdir_race",
    ),
    // Not `-o` and `-R`, which write files.
    program(
        &["tree"],
        "adlfxiqNQpugshDFvtcUrCAnSXJ1",
        "LPIHT",
        "noreport dirsfirst filesfirst gitignore prune filelimit= charset= du inodes device si sort= sort? timefmt= \
         matchdirs ignore-case metafirst info fromfile",
    ),
    program(&["stat"], "fLtx", "c", "dereference file-system cached= format= printf= terse").harmless(),
    // Not `-C`, `-m` and `-f`, nor `-z`, which runs decompressors.
    program(
        &["file"],
        "bchiIkLlNnprs0",
        "eFP",
        "brief checking-printout exclude= separator= mime mime-type mime-encoding keep-going list dereference \
         no-dereference no-buffer no-pad preserve-date raw special-files print0 extension apple",
    ),
    program(
        &["du"],
        "0abcDhHklLmPsSx",
        "BdtX",
        "null all apparent-size block-size= bytes total dereference-args max-depth= human-readable inodes count-links \
         dereference no-dereference separate-dirs si summarize threshold= time? time-style= exclude-from= exclude= \
         one-file-system",
    ),
    program(
        &["df"],
        "aBhHiklPTv",
        "tx",
        "all block-size= human-readable si inodes local no-sync output? portability sync total type= print-type \
         exclude-type=",
    )
    .harmless(),
    program(&["readlink"], "femnqsvz", "", "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero")
        .harmless(),
    program(
        &["realpath"],
        "eEmLPqsz",
        "",
        "canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip no-symlinks \
         zero",
    )
    .harmless(),
    program(&["basename"], "az", "s", "multiple suffix= zero").harmless(),
    program(&["dirname"], "z", "", "zero").harmless(),
    program(&["which"], "as", "", "all skip-alias skip-functions").harmless(),
    program(&["pwd"], "LP", "", "logical physical").harmless(),
    program(&["cd"], "LPe@", "", ""),
    // A date as an operand sets the clock.
    program(
        &["date"],
        "uRI",
        "dr",
        "date= debug iso-8601? resolution rfc-email rfc-3339= reference= utc universal",
    )
    .with_operands(Operands::Formats),
    program(&["id"], "agGnruzZ", "", "context group groups name real user zero").harmless(),
    program(&["whoami", "groups", "logname", "tty", "arch", "users"], "s", "", "").harmless(),
    program(&["nproc"], "", "", "all ignore=").harmless(),
    program(&["uname"], "asnrvmpio", "", "all kernel-name nodename kernel-release kernel-version machine operating-system")
        .harmless(),
    // An operand sets the name.
    program(&["hostname"], "sfdiI", "", "short fqdn domain").with_operands(Operands::AtMost(0)),
    program(&["uptime", "free", "lscpu"], "abehkmgptswV", "", "human mega giga pretty since wide total json").with_operands(Operands::AtMost(0)),
    program(&["env"], "i0v", "u", "ignore-environment null unset=").with_operands(Operands::AtMost(0)),
    program(&["printenv"], "0", "", "null").harmless(),
    program(
        &["ps"],
        "aAdefFHjlLmMNrTuwxyZcv",
        "CGgopqstUukO",
        "sort= format= pid= user= User= ppid= forest no-headers headers width= cols=",
    )
    .with_operands(Operands::ProcessOptions),
    // Not `-r`, which connects, `-K`, `-D`, `-F` and `-N`. An operand may have names that are looked up.
    program(
        &["ss"],
        "anltuwdxSMpeomiszbEHO046",
        "",
        "all numeric listening tcp udp raw dccp unix sctp mptcp processes extended options memory info summary no-header \
         oneline ipv4 ipv6 packet vsock tipc xdp",
    )
    .with_operands(Operands::AtMost(0)),
    program(
        &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "shasum"],
        "bctwzrs",
        "al",
        "binary check tag text zero ignore-missing quiet status strict warn algorithm= untagged base64 raw length= debug",
    )
    .harmless(),
    program(&["base64", "base32"], "diD", "w", "decode ignore-garbage wrap=").harmless(),
    program(&["seq"], "w0123456789.", "fs", "format= separator= equal-width").harmless(),
    program(&["sleep", "factor", "yes"], "", "", "").harmless(),
    program(&["expr"], "0123456789", "", "").harmless(),
    program(&["cmp"], "bls", "in", "print-bytes ignore-initial= verbose bytes= quiet silent").harmless(),
    // Not `--paginate`, which runs `pr`.
    program(
        &["diff"],
        "qscuNBbwZtTrPaydHiEenp0123456789",
        "CUIFLxXSWD",
        "normal brief report-identical-files context? unified? ed rcs side-by-side width= left-column \
         suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= \
         suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case \
         no-ignore-file-name-case exclude= exclude-from= starting-file= from-file= to-file= ignore-case \
         ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines \
         ignore-matching-lines= text strip-trailing-cr minimal horizon-lines= speed-large-files color? palette= \
         line-format= old-line-format= new-line-format= unchanged-line-format=",
    ),
    // Not `--diff-program`.
    program(
        &["diff3"],
        "AeExX3imTa",
        "L",
        "show-all ed show-overlap easy-only overlap-only merge text label= initial-tab strip-trailing-cr",
    ),
    // Not `--diff-program` and `-o`, which edits.
    program(
        &["sdiff"],
        "iEZbWBatdslH",
        "Iw",
        "ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines \
         ignore-matching-lines= strip-trailing-cr text width= left-column suppress-common-lines expand-tabs tabsize= \
         minimal speed-large-files",
    ),
    // Not `-f` and `-L`, nor the words that `filter_scripts::jq_objection` lists.
    program(
        &["jq"],
        "ncCaSrjesRMh",
        "",
        "null-input raw-input slurp compact-output tab indent= color-output monochrome-output ascii-output unbuffered \
         sort-keys raw-output raw-output0 join-output seq stream stream-errors exit-status arg== argjson== slurpfile== \
         rawfile== args jsonargs",
    ),
    program(&["bc"], "lqsiw", "", "mathlib quiet standard warn interactive"),
    program(&["less", "more"], "eEFgGiInNqQrRsSuUwWX", "hjxyz", "quit-at-eof quit-if-one-screen ignore-case line-numbers no-init chop-long-lines")
        .with_operands(Operands::Files),
    program(&["man"], "kfwaW", "sS", "apropos whatis where path all sections=").with_operands(Operands::Names),
    program(&["getent"], "", "", "").with_operands(Operands::First(&["passwd", "group", "shells", "services", "protocols"])),
    // Not options that send or write files.
    program(
        &["curl"],
        "sSfLkIivgN46#0",
        "HAemr",
        "silent show-error fail fail-with-body location insecure head include verbose globoff no-buffer ipv4 ipv6 \
         compressed header= user-agent= referer= max-time= connect-timeout= retry= retry-delay= retry-max-time= \
         retry-all-errors retry-connrefused max-redirs= range= http1.1 http2 tlsv1.2 tlsv1.3 no-progress-meter \
         progress-bar limit-rate= get",
    )
    .with_operands(Operands::Addresses),
    // Programs that change files. Their operands are checked against protected paths separately.
    program(&["touch"], "acfhm", "drt", "no-create date= no-dereference reference= time=").harmless(),
    program(&["mkdir"], "pvZ", "m", "parents verbose mode= context?").harmless(),
    program(&["rmdir"], "pv", "", "parents verbose ignore-fail-on-non-empty").harmless(),
    program(&["rm"], "dfiIrRv", "", "force interactive? one-file-system preserve-root? recursive dir verbose").harmless(),
    program(&["unlink", "link"], "", "", ""),
    program(
        &["cp"],
        "abdfiHlLnpPrRsTuvxZ",
        "St",
        "archive attributes-only backup? force interactive link dereference no-clobber no-dereference preserve? parents \
         recursive reflink? remove-destination sparse= strip-trailing-slashes symbolic-link suffix= target-directory= \
         no-target-directory update? verbose one-file-system",
    ),
    program(
        &["mv"],
        "bfinTuvZ",
        "St",
        "backup? force interactive no-clobber strip-trailing-slashes suffix= target-directory= no-target-directory \
         update? verbose",
    ),
    program(
        &["ln"],
        "bfiLnPrsTvF",
        "St",
        "backup? directory force interactive logical no-dereference physical relative symbolic suffix= \
         target-directory= no-target-directory verbose",
    ),
    // Not `-s`, which runs `strip`.
    program(
        &["install"],
        "bcCdDpTvZ",
        "gmoSt",
        "backup? compare directory group= mode= owner= preserve-timestamps suffix= target-directory= \
         no-target-directory verbose",
    ),
    program(&["chmod"], "cfvRrwxXstugo0123456789", "", "changes quiet silent verbose recursive"),
    program(&["chown", "chgrp"], "cfvhRHLP", "", "changes quiet silent verbose dereference no-dereference recursive"),
    program(&["truncate"], "co", "rs", "no-create io-blocks reference= size="),
    program(&["mktemp"], "dqtu", "p", "directory dry-run quiet suffix= tmpdir?"),
    program(&["tee"], "aip", "", "append ignore-interrupts output-error?"),
    program(&["shred"], "fuvxz", "ns", "force iterations= size= remove? verbose exact zero"),
    // Not `--filter`.
    program(
        &["split"],
        "de0123456789uvx",
        "abClnt",
        "suffix-length= additional-suffix= bytes= line-bytes= numeric-suffixes? hex-suffixes? elide-empty-files lines= \
         number= separator= unbuffered verbose",
    ),
    program(&["csplit"], "kqsz", "bfn", "suffix-format= prefix= keep-files suppress-matched digits= quiet silent elide-empty-files"),
    program(
        &["gzip", "gunzip", "zcat", "bzip2", "bunzip2", "xz", "unxz", "xzcat", "zstd", "unzstd"],
        "cdfhklLnNqrtvzT0123456789",
        "S",
        "stdout to-stdout decompress uncompress compress force keep list name no-name quiet recursive test verbose fast \
         best suffix= rm",
    ),
    // Not extracting or appending, nor options that run programs or read more options.
    program(
        &["tar", "bsdtar"],
        "ctvzjJahOSkpmWl",
        "fCbVNX",
        "create list diff compare verbose file= directory= gzip bzip2 xz zstd lzip lzma compress auto-compress exclude= \
         exclude-from= exclude-vcs exclude-vcs-ignores exclude-caches exclude-backups no-recursion recursion sort= \
         mtime= owner= group= numeric-owner mode= to-stdout dereference hard-dereference one-file-system totals? \
         wildcards no-wildcards anchored ignore-case format= show-transformed-names utc full-time block-number label= \
         verify warning= quoting-style= null",
    )
    .with_operands(Operands::NoMachines),
];
