/*
 * The store: everything that the server knows, in one SQLite file.
 *
 * This is the only door to SQLite: callers get typed functions, and each
 * function that changes something is one transaction.  Results are
 *
 *   0  done,
 *  -1  failed: logged, and store_failure() says of what kind,
 *  >0  an outcome that is expected: STORE_NOT_FOUND and the like.
 *
 * Texts in structures that the store fills are the caller's to free, with
 * the function named beside the structure.
 */
#ifndef CONSPECT_STORE_STORE_H
#define CONSPECT_STORE_STORE_H

#include "core/reason.h"
#include "core/report.h"
#include "core/secret.h"
#include "store/archives.h"

struct store; /* an open database; not for two threads */

enum { STORE_NOT_FOUND = 1, STORE_CONFLICT = 2, STORE_TOO_MANY = 3 };

enum store_failure {
	STORE_FAULT,    /* corrupt, out of memory, a bug */
	STORE_BUSY,     /* locked for longer than the busy time-out */
	STORE_READONLY, /* may not be written: permissions, read-only disk */
	STORE_FULL,     /* the disk is full */
	STORE_MISSING,  /* cannot be opened */
	STORE_NEWER,    /* the schema is newer than this program */
};

/* --- opening ------------------------------------------------------------- */

/*
 * Opens the database, makes it when it is missing and brings its schema up
 * to date.  Returns 0 and *store, or -1 with the reason for a person.
 */
int store_open(const char *path, struct store **store,
    enum store_failure *failure, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/*
 * For a connection that is kept: whether the file is still the one that was
 * opened and its schema one that this program knows.  0, or -1 with the
 * reason: close and open again.
 */
int store_check(struct store *store, struct reason *why)
    __attribute__((nonnull, warn_unused_result));

/* NULL is accepted. */
void store_close(struct store *store);

/* Of the last call that returned -1. */
enum store_failure store_failure(const struct store *store)
    __attribute__((nonnull));

/* The path given to store_open(). */
const char *store_path(const struct store *store) __attribute__((nonnull));

/* The schema's version in the file, and the newest that this program has. */
int store_schema_version(struct store *store) __attribute__((nonnull));
int store_schema_newest(void);

/* --- people -------------------------------------------------------------- */

enum role { ROLE_VIEWER, ROLE_OPERATOR, ROLE_ADMIN };
extern const char *const role_names[]; /* by enum role */

struct user {
	int64_t id;
	char *name;
	enum role role;
	char *password_hash; /* libsodium's text */
	char *changed_at;    /* of the password */
};

void user_free(struct user *user) __attribute__((nonnull));

/* STORE_CONFLICT where the name is taken. */
int user_insert(struct store *store, const char *name, enum role role,
    const char *password_hash) __attribute__((nonnull, warn_unused_result));
int user_by_name(struct store *store, const char *name, struct user *user)
    __attribute__((nonnull, warn_unused_result));
/*
 * Also ends the user's sessions, and for INITIAL_USER removes the file
 * INITIAL_PASSWORD_FILE beside the database, whose password is no longer
 * true.
 */
#define INITIAL_USER "admin"
#define INITIAL_PASSWORD_FILE "initial-password"
int user_set_password(struct store *store, const struct user *user,
    const char *password_hash) __attribute__((nonnull, warn_unused_result));
/* STORE_CONFLICT where it is the last admin: somebody must be left. */
int user_delete(struct store *store, const char *name)
    __attribute__((nonnull, warn_unused_result));
/* Calls each(context, user) in order of names. */
int user_list(struct store *store,
    void (*each)(void *context, const struct user *user), void *context)
    __attribute__((nonnull(1, 2), warn_unused_result));

/* Sessions and agents' tokens are stored as secret_hash() of the secret. */
int session_insert(struct store *store,
    const unsigned char hash[SECRET_HASH_BYTES], int64_t user_id,
    int64_t expires_ms) __attribute__((nonnull, warn_unused_result));
/* The user of a session that has not expired. */
int session_user(struct store *store,
    const unsigned char hash[SECRET_HASH_BYTES], struct user *user)
    __attribute__((nonnull, warn_unused_result));
int session_delete(
    struct store *store, const unsigned char hash[SECRET_HASH_BYTES])
    __attribute__((nonnull, warn_unused_result));

/*
 * Milliseconds until account may try to log in from address again, 0 for
 * now: after LOGIN_FREE_TRIES failures the wait doubles with each, up to
 * LOGIN_WAIT_MAX_MS.
 */
#define LOGIN_FREE_TRIES 5
#define LOGIN_WAIT_MAX_MS (15 * 60 * 1000)
int login_wait(struct store *store, const char *account, const char *address,
    int64_t *wait_ms) __attribute__((nonnull, warn_unused_result));
int login_failed(struct store *store, const char *account, const char *address)
    __attribute__((nonnull, warn_unused_result));
int login_succeeded(struct store *store, const char *account,
    const char *address) __attribute__((nonnull, warn_unused_result));

/* --- agents' tokens ------------------------------------------------------ */

struct agent_token {
	int64_t id;
	char *name;
	char *service_name; /* NULL: every service */
	char *hostname;     /* NULL: every host */
	char *created_at;
	char *revoked_at; /* NULL: valid */
};

void agent_token_free(struct agent_token *token) __attribute__((nonnull));

/* STORE_CONFLICT where a valid token has the name. */
int agent_token_insert(struct store *store, const char *name,
    const unsigned char hash[SECRET_HASH_BYTES], const char *service_name,
    const char *hostname)
    __attribute__((nonnull(1, 2, 3), warn_unused_result));
/* The valid token with that hash. */
int agent_token_by_hash(struct store *store,
    const unsigned char hash[SECRET_HASH_BYTES], struct agent_token *token)
    __attribute__((nonnull, warn_unused_result));
int agent_token_revoke(struct store *store, const char *name)
    __attribute__((nonnull, warn_unused_result));
int agent_token_list(struct store *store,
    void (*each)(void *context, const struct agent_token *token),
    void *context) __attribute__((nonnull(1, 2), warn_unused_result));

/* --- requests ------------------------------------------------------------ */

/* Who asks, and from where. */
struct author {
	const char *user;    /* or NULL */
	const char *address; /* or NULL */
};

/* What STORE_TOO_MANY means to a person: a format of hosts_max. */
#define SUBMISSION_TOO_MANY                                                   \
	"more than %lld hosts: at most so many in one request "               \
	"(conspectctl set request_hosts)"

/* What became of a request. */
struct submission {
	char request_id[UUID_TEXT];
	/* in the hosts' order; one a host, but for a process-level stop that
	 * changes two runs */
	char (*command_ids)[UUID_TEXT];
	size_t n_commands;
	size_t n_hosts;
	int64_t hosts_max; /* the setting request_hosts */
	int64_t created_ms;
};

void submission_free(struct submission *submission) __attribute__((nonnull));

/*
 * Carries out a request, all of its hosts or none.  A start without targets
 * means every active host of the service; where there is none the request is
 * kept with no commands.  STORE_TOO_MANY, and nothing done, where the hosts
 * are more than the setting request_hosts.
 */
int request_submit(struct store *store,
    const struct profiling_request *request, const struct author *author,
    struct submission *submission)
    __attribute__((nonnull, warn_unused_result));

/* --- agents' reports ----------------------------------------------------- */

/* The command that a heartbeat's reply hands out. */
struct offer {
	char command_id[UUID_TEXT]; /* "" for none */
	char *command_type;
	char *combined_config; /* JSON */
	/* for our own agents only */
	int64_t heartbeat_interval; /* s, or FIELD_NULL: the agent's own */
	/* what to install for a start with PerfSpect; file is NULL where none
	 * is pinned for the host's architecture */
	struct pinned_archive perfspect;
};

void offer_free(struct offer *offer) __attribute__((nonnull));

/*
 * Takes a heartbeat: notes the host, moves the commands on that it shows,
 * lets pending ones expire, and picks what to hand out: to a host that goes
 * offline, nothing.
 */
int heartbeat_take(struct store *store, const struct heartbeat *heartbeat,
    const char *remote_address, struct offer *offer)
    __attribute__((nonnull(1, 2, 4), warn_unused_result));

/* Why a completion was not taken. */
enum refusal {
	REFUSAL_NONE,
	REFUSAL_UNKNOWN, /* no such command for this host, or never sent */
	REFUSAL_ENDED,   /* it ended otherwise, *state says how */
};

/*
 * Takes the end of a run; the same report again changes nothing and is no
 * refusal.  `service_name`, where not NULL, must be the command's own (the
 * token's service).
 */
int completion_take(struct store *store, const struct completion *completion,
    const char *service_name, enum refusal *refusal, enum command_state *state)
    __attribute__((nonnull(1, 2, 4, 5), warn_unused_result));

/* --- hosts --------------------------------------------------------------- */

/* A host and its newest command, as the page and host_status show it. */
struct host {
	int64_t id;
	const char *hostname, *service_name, *ip_address, *arch;
	const char *heartbeat_timestamp, *last_seen;
	const char *agent_version; /* NULL: not our agent */
	const char *preflight;     /* JSON: an array, or NULL */
	const char *lacking; /* of it: why there can be no HW metrics, NULL */
	const char *conflict_at; /* two agents took turns, NULL: did not */
	int64_t clock_skew_ms;   /* the agent's clock ahead, FIELD_NULL */
	bool active;             /* not offline, and seen within the setting
			active_window */
	bool conflict;           /* conflict_at is within it, too */
	/* of the newest command; NULL where there is none */
	const char *command_id, *command_type, *combined_config;
	const char *command_status, *reason, *created_at, *ended_at;
	int64_t execution_time;        /* s, or FIELD_NULL */
	const char *perfspect_version; /* or NULL */
	bool stoppable;                /* something of it waits or runs */
};

enum host_order {
	HOSTS_NEWEST_FIRST, /* by the agents' timestamps */
	HOSTS_BY_NAME,      /* of service, then host */
};

/*
 * Calls each(context, host) for every host as long as it returns true; the
 * host's texts are valid only during the call.
 */
int host_each(struct store *store, enum host_order order,
    bool (*each)(void *context, const struct host *host), void *context)
    __attribute__((nonnull(1, 3), warn_unused_result));

/* As host_each() for one host, and for the hosts of a name in every service;
 * STORE_NOT_FOUND where there is none. */
int host_by_id(struct store *store, int64_t id,
    bool (*each)(void *context, const struct host *host), void *context)
    __attribute__((nonnull(1, 3), warn_unused_result));
int host_by_name(struct store *store, const char *hostname,
    bool (*each)(void *context, const struct host *host), void *context)
    __attribute__((nonnull(1, 2, 3), warn_unused_result));

/* How many hosts of a request cannot have hardware metrics, by what their
 * agents found out, and why one of them cannot. */
int hosts_lacking(struct store *store, const char *request_id, int64_t *n,
    struct reason *why) __attribute__((nonnull, warn_unused_result));

#endif
