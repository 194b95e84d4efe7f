/* HTML: nothing that is shown can become markup. */
#include "web/html.h"

#include <string.h>

#include "harness.h"

static void
text_is(const char *text, const char *expected)
{
	struct buf b = BUF_INIT(10000);

	html_text(&b, text);
	ck_assert_str_eq(buf_text(&b), expected);
	buf_free(&b);
}

START_TEST(markup_is_escaped)
{
	text_is("&", "&amp;");
	text_is("<", "&lt;");
	text_is(">", "&gt;");
	text_is("\"", "&quot;");
	text_is("'", "&#39;");
	text_is("&<>\"'", "&amp;&lt;&gt;&quot;&#39;");
	text_is("&amp;", "&amp;amp;");
}
END_TEST

START_TEST(a_script_in_a_name_is_text)
{
	text_is("<script>alert('x')</script>",
	    "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
	text_is("a\"onmouseover=\"x", "a&quot;onmouseover=&quot;x");
}
END_TEST

START_TEST(all_else_stays_as_it_is)
{
	char plain[256];
	size_t n = 0;

	for (int c = 1; c < 0x80; c++)
		if (!strchr("&<>\"'", c))
			plain[n++] = (char)c;
	plain[n] = '\0';
	text_is(plain, plain);
	text_is("h\xc3\xb6st \xe2\x82\xac", "h\xc3\xb6st \xe2\x82\xac");
}
END_TEST

START_TEST(texts_before_between_and_after_stay)
{
	text_is("a<b", "a&lt;b");
	text_is("<a", "&lt;a");
	text_is("a<", "a&lt;");
	text_is("a<<b>>c", "a&lt;&lt;b&gt;&gt;c");
}
END_TEST

START_TEST(no_text_is_no_output)
{
	text_is("", "");
	text_is(NULL, "");
}
END_TEST

START_TEST(attributes_stay_in_their_quotes)
{
	struct buf b = BUF_INIT(10000);

	html_attr(&b, "title", "a\" onclick='x' <&>");
	ck_assert_str_eq(buf_text(&b),
	    " title=\"a&quot; onclick=&#39;x&#39; &lt;&amp;&gt;\"");
	buf_clear(&b);
	html_attr(&b, "class", NULL);
	html_attr(&b, "id", "");
	ck_assert_str_eq(buf_text(&b), " class=\"\" id=\"\"");
	buf_free(&b);
}
END_TEST

START_TEST(numbers_and_raw_markup)
{
	struct buf b = BUF_INIT(10000);

	html_raw(&b, "<td");
	html_attr_int(&b, "value", -7);
	html_raw(&b, ">");
	html_int(&b, INT64_MIN);
	html_raw(&b, " ");
	html_int(&b, INT64_MAX);
	ck_assert_str_eq(buf_text(&b),
	    "<td value=\"-7\">-9223372036854775808 9223372036854775807");
	buf_free(&b);
}
END_TEST

HARNESS_MAIN("html", markup_is_escaped, a_script_in_a_name_is_text,
    all_else_stays_as_it_is, texts_before_between_and_after_stay,
    no_text_is_no_output, attributes_stay_in_their_quotes,
    numbers_and_raw_markup)
