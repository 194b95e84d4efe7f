#include "model.h"

#include <stdlib.h>
#include <string.h>

static const char cancelled[] = "stopped before it began";
static const char superseded[] = "some of its processes were stopped";
static const char expired[] = "the host did not take it in time";

/* --- lists --------------------------------------------------------------- */

bool
m_has(const struct m_list *list, const void *item)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->of[i] == item)
			return true;
	return false;
}

void
m_add(struct m_list *list, void *item)
{
	if (m_has(list, item))
		return;
	list->of = realloc(list->of, (list->n + 1) * sizeof *list->of);
	if (!list->of)
		abort();
	list->of[list->n++] = item;
}

static void
add_all(struct m_list *list, const struct m_list *more)
{
	for (size_t i = 0; i < more->n; i++)
		m_add(list, more->of[i]);
}

static void
drop(struct m_list *list, const void *item)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->of[i] != item)
			list->of[kept++] = list->of[i];
	list->n = kept;
}

static void *
make(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

static struct m_command *
command_at(const struct model *m, size_t i)
{
	return m->commands.of[i];
}

static void
command_free(struct m_command *c)
{
	free(c->requests.of);
	free(c->stands_for.of);
	free(c);
}

void
m_free(struct model *m)
{
	for (size_t i = 0; i < m->commands.n; i++)
		command_free(command_at(m, i));
	for (size_t i = 0; i < m->requests.n; i++)
		free(m->requests.of[i]);
	free(m->commands.of);
	free(m->requests.of);
	memset(m, 0, sizeof *m);
}

/* --- states -------------------------------------------------------------- */

bool
m_is_end(enum m_state state)
{
	return state >= M_COMPLETED;
}

bool
m_is_open(const struct m_command *c)
{
	return !m_is_end(c->state);
}

static void
end(struct model *m, struct m_command *c, enum m_state state,
    const char *reason)
{
	c->state = state;
	c->reason = reason;
	c->ended = m->step;
}

/* What was taken cannot be given up any more. */
static void
expire(struct model *m, struct m_command *c)
{
	if (c->overdue && (c->state == M_PENDING || c->state == M_SENT))
		end(m, c, M_EXPIRED, expired);
}

static bool
is_of(const struct m_command *c, int host, int service)
{
	return c->host == host && c->service == service;
}

/* --- requests ------------------------------------------------------------ */

struct asking {
	struct model *m;
	struct m_request *request;
	struct m_list *touched;
	int host, service;
};

static int
larger(int a, int b)
{
	return a > b ? a : b;
}

static struct m_config
merge(struct m_config first, struct m_config later)
{
	struct m_config both = later;

	both.whole = first.whole || later.whole;
	both.pids = both.whole ? 0 : first.pids | later.pids;
	both.rest = first.rest || later.rest;
	both.duration = first.duration && later.duration
			    ? larger(first.duration, later.duration)
			    : 0;
	both.frequency = larger(first.frequency, later.frequency);
	for (int i = 0; i < M_ARGS; i++)
		if (later.args[i] == M_NONE)
			both.args[i] = first.args[i];
	return both;
}

static struct m_command *
pending_of(const struct asking *a, enum m_kind kind)
{
	for (size_t i = 0; i < a->m->commands.n; i++) {
		struct m_command *c = command_at(a->m, i);

		if (is_of(c, a->host, a->service) && c->kind == kind &&
		    c->state == M_PENDING) {
			expire(a->m, c);
			if (c->state == M_PENDING)
				return c;
		}
	}
	return NULL;
}

/* A command for the host: one that waits takes it, or a new one does. */
static struct m_command *
put(struct asking *a, enum m_kind kind, struct m_config config,
    bool older_than_what_waits)
{
	struct m_command *c = pending_of(a, kind);

	if (c) {
		c->config = older_than_what_waits ? merge(config, c->config)
						  : merge(c->config, config);
		c->overdue = false;
	} else {
		c = make(sizeof *c);
		c->host = a->host;
		c->service = a->service;
		c->kind = kind;
		c->config = config;
		m_add(&a->m->commands, c);
	}
	m_add(&c->requests, a->request);
	m_add(a->touched, c);
	return c;
}

static void
send_stop(struct asking *a, bool whole, unsigned pids)
{
	struct m_config config = { .whole = whole, .pids = whole ? 0 : pids };

	(void)put(a, M_STOP, config, false);
}

static void
stop_host(struct asking *a)
{
	for (size_t i = 0; i < a->m->commands.n; i++) {
		struct m_command *c = command_at(a->m, i);

		if (!is_of(c, a->host, a->service))
			continue;
		expire(a->m, c);
		if (c->kind != M_STOP &&
		    (c->state == M_PENDING || c->state == M_SENT))
			end(a->m, c, M_CANCELLED, cancelled);
	}
	send_stop(a, true, 0);
}

/* --- stops of processes -------------------------------------------------- */

/* Whether something else is what remains of the command. */
static bool
is_settled(const struct model *m, const struct m_command *c)
{
	for (size_t i = 0; i < m->commands.n; i++) {
		const struct m_command *heir = command_at(m, i);

		if (m_has(&heir->stands_for, c) &&
		    heir->state != M_SUPERSEDED && heir->state != M_EXPIRED)
			return true;
	}
	return false;
}

/* The rest stands for the command, for what it stood for, and for earlier
 * rests of it that came to nothing. */
static void
inherit(
    const struct model *m, struct m_command *rest, struct m_command *command)
{
	for (size_t i = 0; i < m->commands.n; i++) {
		struct m_command *c = command_at(m, i);

		if (c != rest && m_has(&c->stands_for, command))
			m_add(&rest->stands_for, c);
	}
	add_all(&rest->stands_for, &command->stands_for);
	m_add(&rest->stands_for, command);
	add_all(&rest->requests, &command->requests);
}

struct found {
	bool touched, remain, emptied, others, whole;
	unsigned pids; /* for the stop */
};

/* What was handed out and did not report its end may be running. */
static void
empty(struct asking *a, struct m_command *c, struct found *found)
{
	if (c->state != M_PENDING)
		found->emptied = true;
	for (size_t i = 0; i < c->stands_for.n; i++) {
		const struct m_command *elder = c->stands_for.of[i];

		if (!elder->sent || elder->reported || elder->config.whole)
			continue;
		found->emptied = true;
		found->pids |= elder->config.pids;
	}
	if (c->state <= M_SENT)
		end(a->m, c, M_CANCELLED, cancelled);
}

static void
reduce(
    struct asking *a, struct m_command *c, unsigned pids, struct found *found)
{
	struct m_config rest = c->config;

	if (c->config.whole || !(c->config.pids & pids)) {
		found->others = true;
		found->whole |= c->config.whole;
		return;
	}
	found->touched = true;
	rest.pids &= ~pids;
	rest.rest = true;
	if (!rest.pids) {
		empty(a, c, found);
		return;
	}
	found->remain = true;
	if (c->state <= M_SENT)
		end(a->m, c, M_SUPERSEDED, superseded);
	inherit(a->m, put(a, c->kind, rest, true), c);
}

static void
stop_processes(struct asking *a, unsigned pids)
{
	struct found found = { .pids = pids };
	size_t n = a->m->commands.n;

	for (size_t i = 0; i < n; i++)
		if (is_of(command_at(a->m, i), a->host, a->service))
			expire(a->m, command_at(a->m, i));
	for (size_t i = n; i-- > 0;) {
		struct m_command *c = command_at(a->m, i);

		if (is_of(c, a->host, a->service) && c->kind != M_STOP &&
		    m_is_open(c) && !is_settled(a->m, c))
			reduce(a, c, pids, &found);
	}
	if (found.touched && !found.remain && !found.others)
		send_stop(a, true, 0);
	else if (!found.remain || found.emptied || found.whole)
		send_stop(a, false, found.pids);
}

/* --- the whole request --------------------------------------------------- */

static void
do_host(struct asking *a, const struct m_ask *ask, int host, unsigned pids)
{
	struct m_config config = ask->config;

	a->host = host;
	config.whole = pids == 0;
	config.pids = pids;
	if (ask->start)
		(void)put(a, ask->kind, config, false);
	else if (ask->host_level)
		stop_host(a);
	else
		stop_processes(a, pids);
}

struct m_request *
m_submit(struct model *m, const struct m_ask *ask, struct m_list *touched)
{
	struct asking a = { m, NULL, touched, 0, ask->service };
	size_t n = ask->n;

	if (ask->every_host) {
		n = 0;
		for (int h = 0; h < M_HOSTS; h++)
			n += m->hosts[h].active[ask->service];
	}
	if (n > m->hosts_max)
		return NULL;
	a.request = make(sizeof *a.request);
	a.request->start = ask->start;
	a.request->step = m->step;
	m_add(&m->requests, a.request);
	for (int h = 0; ask->every_host && h < M_HOSTS; h++)
		if (m->hosts[h].active[ask->service])
			do_host(&a, ask, h, 0);
	for (size_t i = 0; !ask->every_host && i < ask->n; i++)
		do_host(&a, ask, ask->of[i].host, ask->of[i].pids);
	return a.request;
}

/* --- agents -------------------------------------------------------------- */

static void
show(struct model *m, struct m_command *c, enum m_state to)
{
	if (c->state != M_PENDING && to > c->state) {
		c->state = to;
		c->accepted = true;
	}
	expire(m, c);
	if (c->state == M_INSTALLING || c->state == M_RUNNING) {
		c->executed = true;
		c->outcome = c->state;
	}
}

struct m_command *
m_heartbeat(struct model *m, int host, int service, m_shown *shown,
    const void *context)
{
	struct m_command *best = NULL;

	for (size_t i = 0; i < m->commands.n; i++) {
		struct m_command *c = command_at(m, i);

		if (!is_of(c, host, service) || !m_is_open(c))
			continue;
		show(m, c, shown(c, context));
		if (c->state <= M_SENT && (!best || c->kind < best->kind))
			best = c;
	}
	if (best) {
		best->state = M_SENT;
		best->sent = true;
	}
	return best;
}

enum m_answer
m_complete(struct model *m, struct m_command *c, int host, int service,
    enum m_state outcome, const char *error)
{
	if (!c || c->host != host || !c->sent ||
	    (service != M_NONE && c->service != service))
		return M_UNKNOWN;
	if (c->state == outcome)
		return M_TAKEN;
	if (c->state == M_COMPLETED || c->state == M_FAILED ||
	    c->state == M_STOPPED)
		return M_ENDED;
	if (m_is_open(c))
		end(m, c, outcome, error);
	if (!c->reported)
		c->outcome = outcome;
	c->executed = c->reported = true;
	return M_TAKEN;
}

/* --- housekeeping -------------------------------------------------------- */

static void
forget(struct model *m, struct m_command *c)
{
	for (size_t i = 0; i < c->requests.n; i++) {
		struct m_request *r = c->requests.of[i];

		r->gone++;
		r->gone_failed += c->state == M_FAILED;
		r->gone_done +=
		    c->state == M_COMPLETED || c->state == M_STOPPED;
	}
	drop(&m->commands, c);
	for (size_t i = 0; i < m->commands.n; i++)
		drop(&command_at(m, i)->stands_for, c);
	command_free(c);
}

/* The ended command that goes first, by age or by count. */
static struct m_command *
oldest(const struct model *m, size_t keep)
{
	struct m_command *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < m->commands.n; i++) {
		struct m_command *c = command_at(m, i);

		if (m_is_open(c))
			continue;
		if (c->old)
			return c;
		n++;
		if (!first || c->ended < first->ended ||
		    (c->ended == first->ended && c->row < first->row))
			first = c;
	}
	return n > keep ? first : NULL;
}

static bool
is_served(const struct model *m, const struct m_request *r)
{
	for (size_t i = 0; i < m->commands.n; i++)
		if (m_has(&command_at(m, i)->requests, r))
			return true;
	return false;
}

/* Requests are looked at after the commands' age, before their count. */
void
m_housekeep(struct model *m, size_t keep, size_t *n_expired, size_t *deleted,
    size_t *requests)
{
	struct m_command *c;

	*n_expired = *deleted = *requests = 0;
	for (size_t i = 0; i < m->commands.n; i++) {
		c = command_at(m, i);
		*n_expired += m_is_open(c);
		expire(m, c);
		*n_expired -= m_is_open(c);
	}
	for (; (c = oldest(m, (size_t)-1)); ++*deleted)
		forget(m, c);
	for (size_t i = m->requests.n; i-- > 0;) {
		struct m_request *r = m->requests.of[i];

		if (!r->old || is_served(m, r))
			continue;
		drop(&m->requests, r);
		free(r);
		++*requests;
	}
	for (; (c = oldest(m, keep)); ++*deleted)
		forget(m, c);
}

/* --- numbers ------------------------------------------------------------- */

struct m_counts
m_count(const struct model *m, const struct m_request *r)
{
	struct m_counts n = { r->gone, 0, 0, r->gone_failed, r->gone_done,
		"cancelled" };

	for (size_t i = 0; i < m->commands.n; i++) {
		const struct m_command *c = command_at(m, i);

		if (!m_has(&c->requests, r))
			continue;
		n.all++;
		n.waiting += c->state == M_PENDING;
		n.open += c->state >= M_SENT && c->state <= M_RUNNING;
		n.failed += c->state == M_FAILED;
		n.done += c->state == M_COMPLETED || c->state == M_STOPPED;
	}
	if (n.waiting > 0 && n.waiting == n.all)
		n.status = "pending";
	else if (n.waiting + n.open > 0)
		n.status = "assigned";
	else if (n.failed > 0)
		n.status = "failed";
	else if (n.done > 0)
		n.status = "completed";
	return n;
}
