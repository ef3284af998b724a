use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::{Markdown, convert};

fn converted(html: &str) -> Markdown {
    let base = "https://docs.example.org/guide/intro".parse().ok();
    convert(html, base.as_ref(), &AtomicBool::new(true)).unwrap()
}

fn markdown(html: &str) -> String {
    converted(html).text
}

#[track_caller]
fn check(html: &str, expect: &str) {
    assert_eq!(markdown(html), expect, "{html}");
}

#[test]
fn the_text_of_a_page_keeps_its_structure() {
    check("<h1>Title</h1><p>One <b>bold</b> <em>word</em>.<p>Two", "# Title\n\nOne **bold** *word*.\n\nTwo");
    check("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c");
    check("<ol><li>a<li>b</ol>", "1. a\n2. b");
    check("<pre><code class=\"language-rust\">fn a() {\n}</code></pre>", "```rust\nfn a() {\n}\n```");
    check("<blockquote><p>a</p></blockquote>", "> a");
    check("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| - | - |\n| 1 | 2 |");
}

#[test]
fn elements_without_readable_content_are_left_out() {
    check("<style>p{}</style><script>alert(1)</script><p>a</p><!-- b --><noscript>c</noscript>", "a");
    check("<svg><text>a</text></svg><iframe>b</iframe><template>c</template>d", "d");
}

#[test]
fn the_title_comes_first_unless_the_page_has_a_heading() {
    check("<title>\n The  page</title><p>a", "# The page\n\na");
    check("<title>Site: page</title><h1>Page</h1>", "# Page");
    check("<title></title><p>a", "a");
}

#[test]
fn links_are_resolved_and_data_urls_removed() {
    check("<a href=\"../api?q=1#x\">a</a>", "[a](https://docs.example.org/api?q=1#x)");
    check("<a href=\"//b.test/\">a</a> <a href=\"#here\">b</a>", "[a](https://b.test/) [b](#here)");
    check("<img alt=\"a\" src=\"b.png\">", "![a](https://docs.example.org/guide/b.png)");
    let data = markdown("<p>before <img alt=\"a\" src=\"DATA:image/png;base64,AAAA\"> after");
    assert!(!data.contains("AAAA") && data.contains("before") && data.contains("after"), "{data}");
}

#[test]
fn tables_keep_their_rows_and_layout_tables_their_content() {
    check(
        "<table><caption>C<thead><tr><th>a<th>b|c<tbody><tr><th>1<td>2<tr><td>3</table>",
        "C\n\n| a | b\\|c |\n| - | - |\n| 1 | 2 |\n| 3 |",
    );
    check("<table><tr><td>a<td>b<tr><td>c</table>", "a\n\nb\n\nc");
    check("<table><tr><th>a<tr><td><table><tr><th>b<tr><td>c</table></table>", "| a |\n| - |\n| b c |");
}

/// A page of nested elements must not end the process, nor use unlimited time or memory.
#[test]
fn a_page_that_is_too_deep_or_has_too_many_nodes_is_cut() {
    for open in ["<div>", "<b>", "<blockquote>", "<ul><li>", "<table><tr><td>"] {
        let deep = converted(&format!("<p>begin{}deep", open.repeat(4_000)));
        assert!(deep.text.contains("begin") && !deep.is_complete, "{open}");
        assert!(deep.text.len() < 10_000, "{open}: {}", deep.text.len());
    }
    for item in ["<b>a</b>", "<i>a</i><em>b</em>", "<p>a", "<br>", "<li>a"] {
        let wide = converted(&format!("<p>begin</p>{}<p>end", item.repeat(5_000)));
        assert!(wide.text.contains("begin") && wide.text.ends_with("end") && wide.is_complete, "{item}");
    }
    let tags = converted(&format!("<p>begin{}<p>end", "<br>".repeat(201_000)));
    assert!(tags.text.contains("begin") && !tags.text.contains("end") && !tags.is_complete);
}

#[test]
fn short_pages_with_huge_results_are_limited() {
    let lines = "\n.".repeat(1_000_000);
    let wide = format!("<table><tr>{}<tbody>{}", "<th>a".repeat(20_000), "<tr><td>b".repeat(20_000));
    let long = format!("<table><tr><th>{}{}", "x".repeat(500_000), "<tr><td>b".repeat(20_000));
    for page in [
        format!("{}<pre>{lines}", "<blockquote>".repeat(100)),
        format!("{}<pre>{lines}", "<ul><li>".repeat(100)),
        wide,
        long,
        format!("<ol start=2147483647>{}", "<li>a".repeat(1_000)),
    ] {
        let size = converted(&page).text.len();
        assert!(size < 40_000_000, "{size}");
    }
    let base = format!("https://a.test/{}/", "x".repeat(100_000)).parse().ok();
    let links = convert(&"<a href=b>c</a>".repeat(10_000), base.as_ref(), &AtomicBool::new(true)).unwrap();
    assert!(links.text.len() < 1_000_000);
}

#[test]
fn a_cancelled_conversion_ends() {
    let page = "<div>".repeat(1_000_000);
    assert!(convert(&page, None, &AtomicBool::new(false)).is_err());
}

/// A panic of the converter's would end the run.
fn soup() -> impl Strategy<Value = String> {
    let tags = [
        "p",
        "div",
        "span",
        "a",
        "b",
        "i",
        "em",
        "strong",
        "ul",
        "ol",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "caption",
        "pre",
        "code",
        "blockquote",
        "h1",
        "h3",
        "br",
        "hr",
        "img",
        "svg",
        "math",
        "template",
        "select",
        "option",
        "form",
        "button",
        "dl",
        "dt",
        "dd",
        "title",
        "head",
        "body",
        "html",
        "textarea",
        "details",
        "summary",
        "sup",
        "input",
        "frameset",
        "plaintext",
        "col",
        "colgroup",
        "rowspan",
    ];
    let attributes = [
        "",
        " href=x",
        " src='a b'",
        " start=-5",
        " start=99999999999",
        " start=x",
        " class=language-",
        " colspan=9999999999",
        " rowspan=0",
        " title='a\"b\n'",
        " align=right",
        " class='math math-inline'",
        " id=\u{e9}",
        " type=checkbox checked",
    ];
    let text = prop::sample::select(vec![
        "a",
        " ",
        "\n\n",
        "\t",
        "```",
        "~~~",
        "1.",
        "- ",
        "# ",
        "|",
        "\\",
        "*_`[]",
        "&lt;",
        "&#0;",
        "&nbsp;",
        "\u{e9}\u{1f600}",
        "\u{202e}",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?x",
        "</",
        "<",
        "\0",
        "1. a",
        "===",
        "10000000000. ",
    ]);
    let open = (prop::sample::select(tags.to_vec()), prop::sample::select(attributes.to_vec()))
        .prop_map(|(tag, attribute)| format!("<{tag}{attribute}>"));
    let close = prop::sample::select(tags.to_vec()).prop_map(|tag| format!("</{tag}>"));
    let piece = prop_oneof![3 => open, 2 => close, 3 => text.prop_map(str::to_owned)];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_sequence_of_tags_is_converted(html in soup()) {
        markdown(&html);
    }
}
