/*
 * Result files: rows of ResultFiles, and the files themselves in
 * results/COMMAND_ID/NAME beside the database.
 *
 * A file is written under another name, brought to the disk, and takes its
 * place in the transaction that notes it: whatever happens, a name holds one
 * whole file.  What a crash leaves without a row is removed by results_tidy().
 */
#ifndef CONSPECT_STORE_RESULTS_H
#define CONSPECT_STORE_RESULTS_H

#include "core/buf.h"
#include "core/result.h"
#include "store/store.h"

/* The directory beside the database. */
#define RESULTS_DIRECTORY "results"

struct result_file {
	const char *name, *sha256, *received_at;
	int64_t bytes;
};

/* A file as an agent sends it. */
struct result_upload {
	const char *command_id, *hostname;
	const char *service_name; /* the token's, or NULL for any */
	const char *name;         /* result_name_ok() */
	const char *bytes;
	size_t len;
};

/*
 * Stores it in the place of one with its name; visits the new row.
 * STORE_NOT_FOUND where the host was given no such command,
 * STORE_TOO_MANY where the command's files would be more than
 * RESULT_FILES_MAX or RESULT_BYTES_MAX.  *is_new: there was none before.
 */
int result_put(struct store *store, const struct result_upload *upload,
    bool *is_new, void (*visit)(void *context, const struct result_file *file),
    void *context) __attribute__((nonnull(1, 2, 3, 4), warn_unused_result));

/* Visits a command's files in order of names; STORE_NOT_FOUND where there is
 * no such command. */
int result_list(struct store *store, const char *command_id,
    void (*visit)(void *context, const struct result_file *file),
    void *context) __attribute__((nonnull(1, 2, 3), warn_unused_result));

/* Appends a file to a buffer, or STORE_NOT_FOUND. */
int result_read(struct store *store, const char *command_id, const char *name,
    struct buf *to) __attribute__((nonnull, warn_unused_result));

/* --- for housekeeping ----------------------------------------------------
 */

/* The path of RESULTS_DIRECTORY; the caller frees it. */
char *results_path(const struct store *store)
    __attribute__((nonnull, returns_nonnull, warn_unused_result));

/*
 * Removes result files past the settings results_keep_days and, the oldest
 * first, results_keep_mib; adds to *deleted how many.
 */
int results_trim(struct store *store, int64_t now_ms, int64_t *deleted)
    __attribute__((nonnull, warn_unused_result));

/*
 * Removes what has no row and is older than an hour, so that no upload is
 * disturbed: of deleted commands, of uploads that broke off.  Adds to
 * *deleted how many files.
 */
int results_tidy(struct store *store, int64_t now_ms, int64_t *deleted)
    __attribute__((nonnull, warn_unused_result));

#endif
