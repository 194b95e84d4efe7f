/*
 * The rules of requests, commands and hosts once more, as plainly as can be:
 * lists in memory and linear search, written from the design and sharing
 * nothing with the product.  model-t.c runs both side by side.
 *
 * Hosts, services and processes are small numbers.
 */
#ifndef CONSPECT_T_STORE_MODEL_H
#define CONSPECT_T_STORE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#define M_HOSTS 4
#define M_SERVICES 2
#define M_PIDS 6 /* processes 1 to 6 are bits 0 to 5 */
#define M_ARGS 2
#define M_NONE (-1) /* no argument */
#define M_ID 37
#define M_NAME 16

enum m_kind { M_STOP, M_ADHOC, M_CONTINUOUS, M_KINDS };
enum m_state {
	M_PENDING,
	M_SENT,
	M_ACCEPTED,
	M_INSTALLING,
	M_RUNNING,
	M_COMPLETED,
	M_FAILED,
	M_STOPPED,
	M_SUPERSEDED,
	M_CANCELLED,
	M_EXPIRED,
};

/* Any list of pointers. */
struct m_list {
	void **of;
	size_t n;
};

struct m_config {
	bool whole;    /* the whole host, and then no pids */
	unsigned pids; /* bits */
	bool rest;     /* of starts: a process-level stop left it */
	int duration;  /* 0: null */
	int frequency; /* 0: null */
	int mode;      /* 0 to 2 */
	int args[M_ARGS];
};

struct m_request {
	char id[M_ID];
	bool start;
	bool old; /* made so long ago that it goes with its last command */
	long step;
	/* of commands that are deleted: all, failed, completed or stopped */
	int gone, gone_failed, gone_done;
};

struct m_command {
	char id[M_ID]; /* "" until the product has named it */
	int host, service;
	enum m_kind kind;
	enum m_state state;
	const char *reason; /* or NULL */
	struct m_config config;
	struct m_list requests;   /* that it serves */
	struct m_list stands_for; /* commands of which it is what remains */
	bool overdue;             /* its time is over */
	bool sent, accepted;      /* ever */
	bool executed, reported;  /* there is an execution, an end of it */
	enum m_state outcome;     /* of the execution */
	long ended;               /* step */
	long row;                 /* the product's, for order */
	bool dated, old;          /* see model-t.c */
};

struct m_host {
	bool known[M_SERVICES], active[M_SERVICES];
	char name[M_SERVICES][M_NAME]; /* the spelling first seen */
};

struct model {
	struct m_list commands, requests; /* in their order */
	struct m_host hosts[M_HOSTS];
	size_t hosts_max;
	long step;
};

/* What is asked. */
struct m_ask {
	bool start, host_level, every_host;
	int service;
	enum m_kind kind; /* of a start */
	struct m_config config;
	size_t n;
	struct {
		int host;
		unsigned pids; /* 0: the whole host */
	} of[M_HOSTS];
};

void m_free(struct model *m);
void m_add(struct m_list *list, void *item); /* once */
bool m_has(const struct m_list *list, const void *item);
bool m_is_end(enum m_state state);
bool m_is_open(const struct m_command *c);

/* Carries out a request; *touched gets the commands that serve it.  NULL
 * where it names too many hosts. */
struct m_request *m_submit(
    struct model *m, const struct m_ask *ask, struct m_list *touched);

/* What an agent shows of a command; M_PENDING: nothing. */
typedef enum m_state m_shown(const struct m_command *c, const void *context);

/* A heartbeat; returns the command that it is given, or NULL. */
struct m_command *m_heartbeat(struct model *m, int host, int service,
    m_shown *shown, const void *context);

enum m_answer { M_TAKEN, M_UNKNOWN, M_ENDED };

/* A report about a command (NULL: unknown); service M_NONE: any. */
enum m_answer m_complete(struct model *m, struct m_command *c, int host,
    int service, enum m_state outcome, const char *error);

/* Housekeeping, which keeps `keep` ended commands. */
void m_housekeep(struct model *m, size_t keep, size_t *expired,
    size_t *deleted, size_t *requests);

struct m_counts {
	int all, waiting, open, failed, done;
	const char *status;
};
struct m_counts m_count(const struct model *m, const struct m_request *r);

#endif
