/*
 * Secrets: passwords of people, tokens of agents, cookies of sessions.
 *
 * Passwords are hashed with argon2id, slow on purpose.  Tokens and cookies
 * are 256 random bits, so a fast hash (BLAKE2b) of them is enough.
 */
#ifndef CONSPECT_CORE_SECRET_H
#define CONSPECT_CORE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* 64 hex digits and the NUL. */
#define SECRET_TEXT 65

/* Bytes of secret_hash(). */
#define SECRET_HASH_BYTES 32

/* Bounds on a password, in bytes: NIST's shortest, and what a form holds. */
#define PASSWORD_MIN 8
#define PASSWORD_MAX 256

/* Room for libsodium's text of a password's hash. */
#define PASSWORD_HASH_TEXT 128

/* Once, before anything else here or uuid_make(); 0, or -1 logged. */
int secret_init(void) __attribute__((warn_unused_result));

/* A new random secret. */
void secret_make(char text[SECRET_TEXT]) __attribute__((nonnull));

void secret_hash(const char *secret, unsigned char hash[SECRET_HASH_BYTES])
    __attribute__((nonnull));

/* The SHA-256 of anything, as others can check it. */
void secret_sha256(const void *bytes, size_t len, char text[SECRET_TEXT])
    __attribute__((nonnull(3)));

/*
 * What a page's forms carry against cross-site requests: derived from the
 * secret that logged the page in, without revealing it.
 */
void secret_form_token(const char *secret, char token[SECRET_TEXT])
    __attribute__((nonnull));

/* Compares in a time that does not depend on the texts. */
bool secret_equal(const char *a, const char *b) __attribute__((nonnull));

/* 0, or -1 logged (out of memory). */
int password_hash(const char *password, char hash[PASSWORD_HASH_TEXT])
    __attribute__((nonnull, warn_unused_result));

/* `hash` NULL, for an account that does not exist, takes as long as any. */
bool password_verify(const char *password, const char *hash)
    __attribute__((nonnull(1)));

#endif
