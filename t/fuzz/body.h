/*
 * What targets of request bodies share: a body is JSON or has a fault, and
 * what is refused says why in JSON.
 */
#ifndef CONSPECT_T_FUZZ_BODY_H
#define CONSPECT_T_FUZZ_BODY_H

#include "fuzz/fuzz.h"

#include "core/fields.h"
#include "core/json.h"

/* Reads the body; false: it is no JSON, and that is all right. */
static inline bool
body_parse(const uint8_t *data, size_t size, struct json_object **body)
{
	struct json_fault fault = { 0, NULL };

	if (json_read((const char *)data, size, body, &fault) == 0)
		return true;
	FUZZ_CHECK(fault.why && fault.offset <= size);
	return false;
}

/* There are faults exactly where the body was not taken; ends `faults`. */
static inline void
body_check_faults(bool taken, struct faults *faults)
{
	struct json_object *reply, *list;
	const char *text, *why = NULL;

	FUZZ_CHECK(taken == !faults->list);
	if (taken)
		return;
	reply = faults_take(faults);
	list = json_member(reply, "detail");
	FUZZ_CHECK(json_object_array_length(list) > 0);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i);

		FUZZ_CHECK(
		    json_object_array_length(json_member(one, "loc")) > 0);
		FUZZ_CHECK(json_member_text(one, "msg"));
		FUZZ_CHECK(json_member_text(one, "type"));
	}
	text = json_text(reply);
	FUZZ_CHECK(!json_check(text, text + strlen(text), &why));
	json_object_put(reply);
}

/* A name of a host or a service. */
static inline void
body_check_name(const char *name)
{
	FUZZ_CHECK(name && *name && strlen(name) <= NAME_BYTES_MAX);
	for (; *name; name++)
		FUZZ_CHECK((unsigned char)*name >= ' ' && *name != 0x7f);
}

#endif
