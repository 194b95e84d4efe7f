/*
 * The files of migrations/, compiled in: see migrations/embed.
 */
#ifndef CONSPECT_STORE_MIGRATIONS_H
#define CONSPECT_STORE_MIGRATIONS_H

#include <stddef.h>

struct migration {
	int version;      /* PRAGMA user_version once it is applied */
	const char *name; /* of the file, without .sql */
	const char *sql;
};

extern const struct migration migrations[]; /* in order of versions */
extern const size_t n_migrations;

#endif
