/* Forms and queries, as any browser may send them. */
#include "fuzz/fuzz.h"

#include "core/buf.h"
#include "web/web.h"

/* Each byte of an input takes up to three. */
#define TEXT_MAX (1024 * 1024)

const char *const fuzz_target = "params";

static void
encode(struct buf *to, const char *text)
{
	for (; *text; text++)
		buf_fmt(to, "%%%02x", (unsigned)(unsigned char)*text);
}

static void
check_comes_again(const struct params *p)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	struct params again;
	struct reason why = { "" };

	for (size_t i = 0; i < p->n; i++) {
		buf_str(&text, i ? "&" : "");
		encode(&text, p->list[i].name);
		buf_chr(&text, '=');
		encode(&text, p->list[i].value);
	}
	FUZZ_CHECK(!text.full);
	FUZZ_CHECK(params_read(&again, buf_text(&text), text.len, &why) == 0);
	FUZZ_CHECK(again.n == p->n);
	for (size_t i = 0; i < p->n; i++) {
		FUZZ_CHECK(strcmp(p->list[i].name, again.list[i].name) == 0);
		FUZZ_CHECK(strcmp(p->list[i].value, again.list[i].value) == 0);
	}
	params_free(&again);
	buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct params p;
	struct reason why = { "" };
	int result = params_read(&p, (const char *)data, size, &why);

	fuzz_check_reason(result != 0, why.text);
	FUZZ_CHECK(p.n <= PARAMS_MAX);
	for (size_t i = 0; i < p.n; i++) {
		const char *name = p.list[i].name, *value = p.list[i].value;

		FUZZ_CHECK(utf8_is_valid(name, strlen(name)));
		FUZZ_CHECK(utf8_is_valid(value, strlen(value)));
		FUZZ_CHECK(params_get(&p, name));
	}
	if (result == 0)
		check_comes_again(&p);
	params_free(&p);
	return 0;
}
