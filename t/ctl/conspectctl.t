#!/bin/bash
# conspectctl: each command and each error, by exit status and text.
: "${SRCDIR:?is set by make check}" "${BUILDDIR:?is set by make check}"
# shellcheck source=t/lib/tap.sh
. "$SRCDIR/t/lib/tap.sh"

DB=$TAP_TMP/conspect.db
unset CONSPECT_DB

# ctl ARGUMENT...: sets STATUS, OUT and ERR; standard input goes to it.
ctl() {
	STATUS=0
	"$BUILDDIR/conspectctl" "$@" >"$TAP_TMP/out" 2>"$TAP_TMP/err" ||
		STATUS=$?
	OUT=$(cat "$TAP_TMP/out")
	ERR=$(cat "$TAP_TMP/err")
}
# Against the test's database.
on_db() { ctl --db "$DB" "$@" </dev/null; }
# with_password PASSWORD ARGUMENT...
with_password() {
	printf '%s\n' "$1" >"$TAP_TMP/password"
	ctl --db "$DB" "${@:2}" --password-file - <"$TAP_TMP/password"
}

# refused STATUS REGEX SENTENCE
refused() {
	is "$STATUS" "$1" "$3"
	like "$ERR" "$2" 'and says why'
	is "$OUT" '' 'on standard error only'
}
# done_as REGEX SENTENCE
done_as() {
	is "$STATUS" 0 "$2"
	like "$OUT" "$1" 'and says so'
	is "$ERR" '' 'without an error'
}
sql() { sqlite3 "$DB" "$1"; }

# --- the command line ----------------------------------------------------

check_usage() {
	on_db
	refused 2 '^conspectctl: which command\?$' 'no command is a usage error'
	like "$ERR" '^usage: conspectctl ' 'with the usage'
	on_db nonsense
	refused 2 'which command\?' 'so is an unknown command'
	on_db user
	refused 2 'which command\?' 'and half a command'
	on_db user nonsense
	refused 2 'which command\?' 'and an unknown verb'
	on_db user add
	refused 2 'a NAME is needed' 'and a missing name'
	on_db user add one two
	refused 2 'too many arguments' 'and one name too many'
	on_db user list one
	refused 2 'too many arguments' 'and a name where none belongs'
	on_db --nonsense
	refused 2 "unrecognized option '--nonsense'" 'and an unknown option'
	on_db migrate --db
	refused 2 "requires an argument" 'and an option without its value'
	ok 'and none of them makes a database' test ! -e "$DB"
}

check_options() {
	on_db user add ada --service x
	refused 2 'an option does not belong to this command' \
		'an option of another command is a usage error'
	on_db token add one --role admin
	refused 2 'does not belong' 'so is a role for a token'
	on_db migrate --out x
	refused 2 'does not belong' 'and a file for migrate'
	ctl --help
	is "$STATUS" 0 '--help is no error'
	like "$OUT" 'conspectctl\(8\)' 'and names the manual page'
	ctl --version
	is "$STATUS" 0 '--version is no error'
	like "$OUT" '^conspect [0-9]' 'and prints it'
}

# --- the database --------------------------------------------------------

check_migrate() {
	on_db migrate
	done_as "^$DB: schema version [0-9]+\$" 'migrate makes a database'
	is "$(stat -c %a "$DB")" 640 'for its owner and group only'
	local first=$OUT
	on_db migrate
	is "$STATUS $OUT" "0 $first" 'migrate again changes nothing'
	CONSPECT_DB=$TAP_TMP/other.db ctl migrate
	done_as "^$TAP_TMP/other.db: " 'CONSPECT_DB names the database'
	CONSPECT_DB=$TAP_TMP/other.db ctl migrate --db "$DB"
	done_as "^$DB: " 'and --db comes before it'
}

check_places() {
	ctl --db "$TAP_TMP/nowhere/x.db" migrate
	refused 1 "directory $TAP_TMP/nowhere: No such file or directory \(user" \
		'a directory that is not there is named'
	ctl --db "$TAP_TMP" migrate
	refused 1 "$TAP_TMP: Is a directory" 'so is a path that is a directory'
	printf 'this is no database, but long enough to be read as one: %0512d' \
		0 >"$TAP_TMP/text"
	ctl --db "$TAP_TMP/text" migrate
	refused 1 'not a database' 'and a file that is none'
	cp "$DB" "$TAP_TMP/newer.db"
	sqlite3 "$TAP_TMP/newer.db" 'PRAGMA user_version = 9999'
	ctl --db "$TAP_TMP/newer.db" user list
	refused 1 'schema version 9999.*install the newer Conspect' \
		'and a newer schema, with the way out'
}

# Root may write everywhere: another user tries then, with a copy of the
# program that it can reach (under valgrind BUILDDIR has a script).
check_unwritable() {
	local dir=$TAP_TMP/closed as=()
	mkdir "$dir"
	cp "$DB" "$dir/x.db"
	chmod 0666 "$dir/x.db"
	chmod 0555 "$dir"
	chmod 0755 "$TAP_TMP"
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --clear-groups)
	cp "${TOP_BUILDDIR:-$BUILDDIR}/conspectctl" "$TAP_TMP/conspectctl"
	"${as[@]}" "$TAP_TMP/conspectctl" --db "$dir/x.db" user list \
		>/dev/null 2>"$TAP_TMP/err"
	is $? 1 'a directory that may not be written is an error'
	like "$(cat "$TAP_TMP/err")" \
		"directory $dir may not be written by user .*beside the" \
		'that names it, the user, and why the file is not enough'
	chmod 0755 "$dir"
}

# --- people --------------------------------------------------------------

check_passwords() {
	local long
	with_password short user add ada
	refused 1 'a password has 8 to 256 bytes' 'a short password is refused'
	with_password '' user add ada
	refused 1 'a password has' 'so is an empty one'
	printf -v long '%0257d' 0
	with_password "$long" user add ada
	refused 1 'a password has' 'and one of 257 bytes'
	with_password $'longenough\xff' user add ada
	refused 1 'of UTF-8' 'and one that no page could send'
	ctl --db "$DB" user add ada --password-file "$TAP_TMP/nowhere"
	refused 1 "^conspectctl: $TAP_TMP/nowhere: No such file" \
		'and a file that is not there'
	is "$(wc -l <<<"$ERR")" 1 'in one line'
	on_db user add ada
	is "$STATUS" 1 'and nothing on standard input'
	is "$(sql 'SELECT count(*) FROM Users')" 0 'and nobody was added'
}

check_user_add() {
	local long
	with_password long-enough user add ada --role king
	refused 1 '"king" is no role: viewer, operator or admin' \
		'an unknown role is refused'
	with_password long-enough user add a:b
	refused 1 "a user's name must have" 'so is a name with a colon'
	with_password long-enough user add ''
	refused 1 "a user's name must have" 'and an empty name'
	with_password long-enough user add ada
	done_as '^user ada added as operator$' 'a user is an operator'
	with_password long-enough user add ADA
	refused 1 'there is a user ADA already: conspectctl user password' \
		'the name is taken then, in any spelling'
	printf -v long '%0256d' 0
	with_password "$long" user add bob --role viewer
	done_as '^user bob added as viewer$' 'or what the role says'
	printf 'from-a-terminal\n' >"$TAP_TMP/password"
	ctl --db "$DB" user add carol --role admin <"$TAP_TMP/password"
	is "$STATUS" 0 'without a file the password is asked for'
	like "$ERR" '^Password: $' 'with a prompt'
	is "$(sql "SELECT count(*) FROM Users
		WHERE password_hash LIKE '\$argon2id\$%'")" 3 \
		'passwords are kept as argon2id'
}

check_user_list() {
	on_db user list
	done_as '^ada  *operator  *password of 20..-..-..T' \
		'user list has a line for each'
	is "$(wc -l <<<"$OUT")" 3 'and no more'
	unlike "$OUT" argon2 'and no hashes'
}

check_user_password() {
	local before
	before=$(sql "SELECT password_hash FROM Users WHERE name = 'carol'")
	sql "INSERT INTO Sessions (token_hash, user_id, created_at, expires_at)
		SELECT x'00', id, '2000', '9999' FROM Users WHERE name = 'carol'"
	with_password new-enough user password nobody
	refused 1 'there is no user nobody' 'nobody has no password'
	with_password short user password carol
	refused 1 'a password has' 'a short one is refused'
	with_password new-enough user password carol
	done_as '^password of carol changed, sessions ended$' \
		'a password is changed'
	isnt_same "$before" \
		"$(sql "SELECT password_hash FROM Users WHERE name = 'carol'")"
	is "$(sql 'SELECT count(*) FROM Sessions')" 0 'and sessions ended'
}
isnt_same() { ok 'so that its hash is another one' test "$1" != "$2"; }

check_initial_password() {
	echo secret >"$TAP_TMP/initial-password"
	with_password new-enough user password carol
	ok 'the first password stays while another one changes' \
		test -e "$TAP_TMP/initial-password"
	with_password long-enough user add admin --role admin
	with_password new-enough user password admin
	ok 'and is removed when it is no longer true' \
		test ! -e "$TAP_TMP/initial-password"
}

check_user_remove() {
	on_db user remove nobody
	refused 1 'there is no user nobody' 'nobody cannot be removed'
	on_db user remove admin
	done_as '^user admin removed$' 'one admin of two can'
	on_db user remove carol
	refused 1 'carol is the last admin: add another one first' \
		'the last one cannot'
	on_db user remove bob
	done_as '^user bob removed$' 'and others can'
	is "$(sql 'SELECT group_concat(name) FROM
		(SELECT name FROM Users ORDER BY name)')" ada,carol \
		'and the rest is there'
}

# --- tokens --------------------------------------------------------------

check_token_add() {
	local file=$TAP_TMP/agent.token
	on_db token add one
	done_as '^[0-9a-f]{64}$' 'a token is printed'
	on_db token add one
	refused 1 'there is a token one already: conspectctl token remove' \
		'its name is taken then'
	on_db token add $'a\nb'
	refused 1 "a token's name must have" 'a bad name is refused'
	on_db token add two --host ''
	refused 1 "a host's name must have" 'so is a bad host'
	on_db token add two --out "$file" --service web --host db01
	done_as "^token two written to $file\$" 'or written to a file'
	is "$(stat -c %a "$file")" 600 'that only its owner can read'
	like "$(cat "$file")" '^[0-9a-f]{64}$' 'and that holds it'
	unlike "$OUT" '[0-9a-f]{64}' 'which is not printed as well'
}

check_token_files() {
	local file=$TAP_TMP/agent.token before
	before=$(cat "$file")
	on_db token add three --out "$file"
	refused 1 "$file: File exists" 'a file that exists is refused'
	is "$(cat "$file")" "$before" 'and kept'
	on_db token add two --out "$TAP_TMP/new.token"
	refused 1 'there is a token two already' 'so is a name that is taken'
	ok 'which leaves no file' test ! -e "$TAP_TMP/new.token"
	on_db token add three --out "$TAP_TMP/nowhere/x"
	refused 1 'No such file or directory' 'and a directory that is not there'
	is "$(sql 'SELECT count(*) FROM AgentTokens')" 2 'and no token was made'
}

check_token_list() {
	on_db token list
	done_as '^one  *every service  *every host  *valid since 20' \
		'token list has a line for each'
	like "$OUT" '^two  *web  *db01  *valid since' 'with what it is for'
	unlike "$OUT" '[0-9a-f]{32}' 'and no secrets'
}

check_token_remove() {
	on_db token remove nothing
	refused 1 'there is no valid token nothing' 'no token cannot be removed'
	on_db token remove one
	done_as '^token one revoked$' 'a token is revoked'
	on_db token remove one
	refused 1 'there is no valid token one' 'and only once'
	on_db token add one
	is "$STATUS" 0 'its name is free again'
	on_db token list
	is "$(grep -c '^one .*revoked 20' <<<"$OUT")" 1 'and it is history'
}

check_usage
check_options
check_migrate
check_places
check_unwritable
check_passwords
check_user_add
check_user_list
check_user_password
check_initial_password
check_user_remove
check_token_add
check_token_files
check_token_list
check_token_remove
done_testing
