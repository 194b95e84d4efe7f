#include "core/secret.h"

#include "core/log.h"

#include <sodium.h>
#include <string.h>

/* argon2id: OWASP's second choice for servers, 32 ms on a slow core. */
#define PASSES 2
#define MEMORY_BYTES (19 * 1024 * 1024)

/* The hash of a password that nobody has, of the same cost. */
#define NOBODYS_HASH                                                          \
	"$argon2id$v=19$m=19456,t=2,p=1$"                                     \
	"c29tZXNhbHRzb21lc2FsdA$"                                             \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

int
secret_init(void)
{
	if (sodium_init() >= 0)
		return 0;
	log_error("libsodium cannot start: no source of random numbers");
	return -1;
}

static void
to_hex(const unsigned char bytes[SECRET_HASH_BYTES], char text[SECRET_TEXT])
{
	(void)sodium_bin2hex(text, SECRET_TEXT, bytes, SECRET_HASH_BYTES);
}

void
secret_make(char text[SECRET_TEXT])
{
	unsigned char bytes[SECRET_HASH_BYTES];

	randombytes_buf(bytes, sizeof bytes);
	to_hex(bytes, text);
	sodium_memzero(bytes, sizeof bytes);
}

void
secret_hash(const char *secret, unsigned char hash[SECRET_HASH_BYTES])
{
	(void)crypto_generichash(hash, SECRET_HASH_BYTES,
	    (const unsigned char *)secret, strlen(secret), NULL, 0);
}

void
secret_sha256(const void *bytes, size_t len, char text[SECRET_TEXT])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256(hash, bytes, len);
	to_hex(hash, text);
}

void
secret_form_token(const char *secret, char token[SECRET_TEXT])
{
	static const char purpose[] = "conspect form token";
	unsigned char key[SECRET_HASH_BYTES], hash[SECRET_HASH_BYTES];

	secret_hash(secret, key);
	(void)crypto_generichash(hash, sizeof hash,
	    (const unsigned char *)purpose, sizeof purpose - 1, key,
	    sizeof key);
	to_hex(hash, token);
}

bool
secret_equal(const char *a, const char *b)
{
	size_t n = strlen(a);

	return n == strlen(b) && sodium_memcmp(a, b, n) == 0;
}

int
password_hash(const char *password, char hash[PASSWORD_HASH_TEXT])
{
	if (crypto_pwhash_str_alg(hash, password, strlen(password), PASSES,
		MEMORY_BYTES, crypto_pwhash_ALG_ARGON2ID13) == 0)
		return 0;
	log_error("a password cannot be hashed: out of memory");
	return -1;
}

bool
password_verify(const char *password, const char *hash)
{
	bool same = crypto_pwhash_str_verify(hash ? hash : NOBODYS_HASH,
			password, strlen(password)) == 0;

	return hash && same;
}
