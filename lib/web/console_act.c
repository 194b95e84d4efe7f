/* POST /: the panel's buttons. */
#include "web/console.h"

#include "core/mem.h"

#include <stdlib.h>
#include <string.h>

/* Services in one selection: each is a request of its own, and all of them
 * are named in the address that shows what was done. */
#define SERVICES_MAX 50

/* The ticked hosts of one service. */
struct group {
	char *service_name;
	struct json_object *target_hosts; /* host name to null */
};

struct selection {
	bool stop;
	struct group groups[SERVICES_MAX];
	size_t n_groups;
	size_t n_ticked, n_hosts; /* n_hosts: those that it is about */
	bool too_many;
};

/* --- what was ticked ----------------------------------------------------- */

static struct group *
group_of(struct selection *s, const char *service_name)
{
	for (size_t i = 0; i < s->n_groups; i++)
		if (strcmp(s->groups[i].service_name, service_name) == 0)
			return &s->groups[i];
	if (s->n_groups == SERVICES_MAX)
		return NULL;
	s->groups[s->n_groups].service_name = mem_copy(service_name);
	s->groups[s->n_groups].target_hosts = json_object_new_object();
	return &s->groups[s->n_groups++];
}

/* A stop is for hosts with something to stop. */
static bool
add_host(void *context, const struct host *host)
{
	struct selection *s = context;
	struct group *group;

	s->n_ticked++;
	if (s->stop && !host->stoppable)
		return true;
	group = group_of(s, host->service_name);
	if (!group) {
		s->too_many = true;
		return false;
	}
	s->n_hosts++;
	json_object_object_add(group->target_hosts, host->hostname, NULL);
	return true;
}

static int
select_hosts(struct web_request *request, struct selection *s)
{
	for (size_t i = 0; i < request->form.n; i++) {
		const struct param *p = &request->form.list[i];
		int64_t id;

		/* a host that is gone since is passed over */
		if (strcmp(p->name, "host") == 0 &&
		    field_integer_text(p->value, &id) &&
		    host_by_id(request->store, id, add_host, s) < 0)
			return -1;
	}
	return 0;
}

static void
selection_free(struct selection *s)
{
	for (size_t i = 0; i < s->n_groups; i++) {
		free(s->groups[i].service_name);
		json_object_put(s->groups[i].target_hosts);
	}
}

/* --- requests ------------------------------------------------------------ */

static void
add_text(struct json_object *body, const char *key, const char *value)
{
	if (value && *value)
		json_object_object_add(
		    body, key, json_object_new_string(value));
}

/* The body that the API would get for this service: one way to ask, and one
 * set of checks. */
static struct json_object *
body_for(const struct params *form, const struct selection *s,
    const struct group *group)
{
	struct json_object *body = json_object_new_object();

	add_text(body, "service_name", group->service_name);
	add_text(body, "request_type", s->stop ? "stop" : "start");
	json_object_object_add(
	    body, "target_hosts", json_object_get(group->target_hosts));
	if (s->stop) {
		add_text(body, "stop_level", "host");
		return body;
	}
	json_object_object_add(body, "continuous",
	    json_object_new_boolean(params_get(form, "continuous") != NULL));
	add_text(body, "duration", params_get(form, "duration"));
	add_text(body, "frequency", params_get(form, "frequency"));
	add_text(body, "profiling_mode", params_get(form, "profiling_mode"));
	if (params_get(form, "enable_perfspect")) {
		struct json_object *args = json_object_new_object();

		json_object_object_add(
		    args, "enable_perfspect", json_object_new_boolean(true));
		json_object_object_add(body, "additional_args", args);
	}
	return body;
}

/* "duration: Duration must be ..." for each fault. */
static void
notice_of_faults(
    struct web_request *request, struct web_reply *reply, void *context)
{
	struct json_object *list = context;

	(void)request;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *fault = json_object_array_get_idx(list, i);
		struct json_object *loc = json_member(fault, "loc");
		size_t n = json_object_array_length(loc);

		page_notice_begin(reply, NOTICE_ERROR);
		html_text(
		    &reply->body, json_object_get_string(
				      json_object_array_get_idx(loc, n - 1)));
		html_raw(&reply->body, ": ");
		html_text(&reply->body, json_member_text(fault, "msg"));
		page_notice_end(reply);
	}
}

static void
notice_of_error(
    struct web_request *request, struct web_reply *reply, void *context)
{
	(void)request;
	page_notice(reply, NOTICE_ERROR, context);
}

/* The same page again, with what was ticked, and why nothing was done. */
static void
show_again(
    struct web_request *request, struct web_reply *reply, const char *why)
{
	char *text = mem_copy(why);

	reply->status = 422;
	console_show_hosts(request, reply, notice_of_error, text);
	free(text);
}

enum outcome { SUBMITTED, REFUSED, FAILED };

/* Checks and carries out one body; on REFUSED the faults are in *faults. */
static enum outcome
submit(struct web_request *request, struct json_object *body, bool for_real,
    char id[UUID_TEXT], struct faults *faults)
{
	struct author author = { request->by.user.name,
		request->remote_address };
	struct profiling_request r;
	struct submission submission = { .n_commands = 0 };
	enum outcome outcome = REFUSED;

	if (request_read(body, &r, faults)) {
		outcome = SUBMITTED;
		if (for_real && request_submit(request->store, &r, &author,
				    &submission) != 0)
			outcome = FAILED;
		memcpy(id, submission.request_id, UUID_TEXT);
	}
	submission_free(&submission);
	request_free(&r);
	return outcome;
}

/* Checks (or carries out) the selection, service by service. */
static enum outcome
submit_all(struct web_request *request, const struct selection *s,
    bool for_real, struct buf *done, struct faults *faults)
{
	enum outcome outcome = SUBMITTED;

	for (size_t i = 0; i < s->n_groups && outcome == SUBMITTED; i++) {
		struct json_object *body =
		    body_for(&request->form, s, &s->groups[i]);
		char id[UUID_TEXT];

		outcome = submit(request, body, for_real, id, faults);
		if (outcome == SUBMITTED)
			buf_fmt(done, "%srequest=%s", i ? "&" : "?", id);
		json_object_put(body);
	}
	return outcome;
}

static void
carry_out(struct web_request *request, struct web_reply *reply,
    const struct selection *s)
{
	struct buf done = BUF_INIT(SERVICES_MAX * (UUID_TEXT + 16));
	struct faults faults = { NULL };
	enum outcome outcome;

	/* all are checked before the first is carried out */
	outcome = submit_all(request, s, false, &done, &faults);
	buf_clear(&done);
	if (outcome == SUBMITTED)
		outcome = submit_all(request, s, true, &done, &faults);
	switch (outcome) {
	case SUBMITTED:
		reply_redirect(reply, request, buf_text(&done));
		break;
	case REFUSED:
		reply->status = 422;
		console_show_hosts(
		    request, reply, notice_of_faults, faults.list);
		break;
	case FAILED:
		reply_store_failure(request, reply);
		break;
	}
	faults_free(&faults);
	buf_free(&done);
}

void
console_act(struct web_request *request, struct web_reply *reply)
{
	const char *action = params_get(&request->form, "action");
	struct selection s = { .stop = action && !strcmp(action, "stop") };

	if (!action || (!s.stop && strcmp(action, "start") != 0)) {
		reply_error(request, reply, 400,
		    "the form has no action start or stop");
		return;
	}
	if (select_hosts(request, &s) != 0)
		reply_store_failure(request, reply);
	else if (s.too_many)
		show_again(request, reply,
		    "The selection is of more than 50 services: select "
		    "fewer.");
	else if (s.n_ticked == 0)
		show_again(request, reply,
		    "No host is selected: tick hosts in the table first.");
	else if (s.n_hosts == 0)
		show_again(request, reply,
		    "Nothing waits or runs on the selected hosts, so no stop "
		    "was sent.");
	else
		carry_out(request, reply, &s);
	selection_free(&s);
}
