/* Secrets: random, hashed, compared; passwords. */
#include "core/secret.h"

#include <string.h>
#include <time.h>

#include "harness.h"

static void
begin(void)
{
	ck_assert_int_eq(secret_init(), 0);
}

START_TEST(secrets_are_64_hex_digits_and_differ)
{
	char a[SECRET_TEXT], b[SECRET_TEXT];

	begin();
	secret_make(a);
	secret_make(b);
	ck_assert_uint_eq(strlen(a), 64);
	ck_assert_uint_eq(strspn(a, "0123456789abcdef"), 64);
	ck_assert_str_ne(a, b);
}
END_TEST

START_TEST(the_hash_is_blake2b_256)
{
	/* b2sum -l 256 of "abc" */
	static const unsigned char expected[SECRET_HASH_BYTES] = { 0xbd, 0xdd,
		0x81, 0x3c, 0x63, 0x42, 0x39, 0x72, 0x31, 0x71, 0xef, 0x3f,
		0xee, 0x98, 0x57, 0x9b, 0x94, 0x96, 0x4e, 0x3b, 0xb1, 0xcb,
		0x3e, 0x42, 0x72, 0x62, 0xc8, 0xc0, 0x68, 0xd5, 0x23, 0x19 };
	unsigned char hash[SECRET_HASH_BYTES];

	begin();
	secret_hash("abc", hash);
	ck_assert_mem_eq(hash, expected, sizeof hash);
}
END_TEST

START_TEST(a_form_token_follows_from_the_secret_alone)
{
	char one[SECRET_TEXT], again[SECRET_TEXT], other[SECRET_TEXT];

	begin();
	secret_form_token("secret", one);
	secret_form_token("secret", again);
	secret_form_token("secres", other);
	ck_assert_str_eq(one, again);
	ck_assert_str_ne(one, other);
	ck_assert_uint_eq(strlen(one), 64);
}
END_TEST

START_TEST(texts_are_compared_whole)
{
	begin();
	ck_assert(secret_equal("", ""));
	ck_assert(secret_equal("abc", "abc"));
	ck_assert(!secret_equal("abc", "abd"));
	ck_assert(!secret_equal("abc", "ab"));
	ck_assert(!secret_equal("ab", "abc"));
	ck_assert(!secret_equal("", "a"));
}
END_TEST

START_TEST(passwords_are_verified_by_their_hash)
{
	char hash[PASSWORD_HASH_TEXT], again[PASSWORD_HASH_TEXT];

	begin();
	ck_assert_int_eq(password_hash("correct horse", hash), 0);
	ck_assert_int_eq(password_hash("correct horse", again), 0);
	ck_assert_int_eq(
	    strncmp(hash, "$argon2id$v=19$m=19456,t=2,p=1$", 31), 0);
	ck_assert_str_ne(hash, again); /* salted */
	ck_assert(password_verify("correct horse", hash));
	ck_assert(password_verify("correct horse", again));
	ck_assert(!password_verify("correct horsf", hash));
	ck_assert(!password_verify("", hash));
}
END_TEST

START_TEST(nobodys_password_is_never_right)
{
	begin();
	ck_assert(!password_verify("", NULL));
	ck_assert(!password_verify("correct horse", NULL));
	ck_assert(!password_verify("x", "not a hash"));
}
END_TEST

static clock_t
verify_time(const char *hash)
{
	clock_t least = 0;

	for (int i = 0; i < 3; i++) {
		clock_t begun = clock(), used;

		(void)password_verify("wrong password", hash);
		used = clock() - begun;
		if (i == 0 || used < least)
			least = used;
	}
	return least;
}

/* An account that does not exist cannot be told by the time. */
START_TEST(nobodys_password_costs_the_same)
{
	char hash[PASSWORD_HASH_TEXT];
	clock_t real, nobody;

	begin();
	ck_assert_int_eq(password_hash("correct horse", hash), 0);
	real = verify_time(hash);
	nobody = verify_time(NULL);
	ck_assert_msg(nobody > real / 3 && real > nobody / 3,
	    "%ld and %ld ticks", (long)real, (long)nobody);
}
END_TEST

HARNESS_MAIN("secret", secrets_are_64_hex_digits_and_differ,
    the_hash_is_blake2b_256, a_form_token_follows_from_the_secret_alone,
    texts_are_compared_whole, passwords_are_verified_by_their_hash,
    nobodys_password_is_never_right, nobodys_password_costs_the_same)
