# shellcheck shell=bash
# A Conspect under one of the five web servers that cgi-bin/conf has
# configurations for, on a free loopback port with a state directory of its
# own.  Source t/lib/tap.sh first.
#
#	server_start lighttpd-fastcgi	# sets BASE, STATE, DB; false: not there
#	curl "$BASE/healthz"
#	server_stop			# also at exit
#
# The programs are copied, for www-data (whom Apache insists on when root
# starts it) may be unable to enter the checkout.

ADMIN_PASSWORD='correct-horse battery:staple'
server_pids=()
server_pidfiles=()
# A command that changes the configuration, whose name it is given, before
# the server starts.
server_edit=:

# What has to be installed for a set-up.
server_needs() {
	case $1 in
	lighttpd-*) echo lighttpd ;;
	apache-cgi) echo apache2 ;;
	apache-fcgi) echo apache2 spawn-fcgi ;;
	nginx-fcgiwrap) echo nginx spawn-fcgi fcgiwrap ;;
	esac
}

# Prints what is missing for a set-up, or nothing.
server_missing() {
	local program
	for program in $(server_needs "$1"); do
		command -v "$program" >/dev/null || echo "$program"
	done
}

# Sets USER_NAME and GROUP_NAME: whom the programs run as.
server_pick_user() {
	if [ "$(id -u)" = 0 ]; then
		USER_NAME=www-data GROUP_NAME=www-data AS_USER=
	else
		USER_NAME=$(id -un) GROUP_NAME=$(id -gn) AS_USER='#'
	fi
}

# Under valgrind BUILDDIR has a script in the place of the program: copied,
# it starts a copy of the program and reports to the server's log directory.
server_copy() {
	local program=$ROOT/cgi-bin/$1
	if [ "$BUILDDIR" = "${TOP_BUILDDIR:-$BUILDDIR}" ]; then
		cp "$BUILDDIR/cgi-bin/$1" "$program"
		return
	fi
	cp "$TOP_BUILDDIR/cgi-bin/$1" "$program.real"
	sed -e "s|'$TOP_BUILDDIR/cgi-bin/$1'|'$program.real'|" \
		-e "s|--log-file='[^']*'|--log-file='$STATE/log/%p.valgrind'|" \
		"$BUILDDIR/cgi-bin/$1" >"$program"
	chmod +x "$program"
}

# A place of its own with the programs, html and a migrated database.
server_make_state() {
	ROOT=$TAP_TMP/$1
	STATE=$ROOT/state
	DB=$STATE/conspect.db
	mkdir -p "$STATE"/{log,run,tmp,dist} "$ROOT/cgi-bin"
	server_copy api
	server_copy console
	cp -R "$SRCDIR/html" "$ROOT/html"
	chmod -R u+w "$ROOT/html"
	echo archive >"$STATE/dist/perfspect.tgz"
	if [ -x "$BUILDDIR/conspectctl" ]; then server_make_database; fi
	if [ "$(id -u)" = 0 ]; then
		chmod 0755 "$TAP_TMP" "$ROOT"
		chown -R "$USER_NAME:$GROUP_NAME" "$STATE"
		# as ./appliance has it: read by the server, written by root
		chown -R root "$STATE/dist"
	fi
}

# With a user admin and an agent token (in $STATE/agent.token).
server_make_database() {
	local ctl="$BUILDDIR/conspectctl"
	"$ctl" --db "$DB" migrate >/dev/null || give_up "no database $DB"
	printf '%s\n' "$ADMIN_PASSWORD" | "$ctl" --db "$DB" user add admin \
		--role admin --password-file - >/dev/null ||
		give_up 'no user admin'
	"$ctl" --db "$DB" token add test-agent --out "$STATE/agent.token" \
		>/dev/null || give_up 'no agent token'
}

# server_render KIND NAME=value...
server_render() {
	local kind=$1
	shift
	"$SRCDIR/cgi-bin/conf/render" "$SRCDIR/cgi-bin/conf/$kind.conf.in" \
		PORT="$PORT" STATE="$STATE" HTML="$ROOT/html" \
		USER="$USER_NAME" GROUP="$GROUP_NAME" "$@" \
		>"$STATE/server.conf" || give_up "$kind.conf.in"
	"$server_edit" "$STATE/server.conf"
}

# server_spawn NAME PROGRAM...: FastCGI workers on $STATE/run/NAME.sock.
server_spawn() {
	local name=$1 as=()
	shift
	[ "$(id -u)" != 0 ] ||
		as=(-u "$USER_NAME" -g "$GROUP_NAME" -U "$USER_NAME")
	CONSPECT_DB=$DB spawn-fcgi -s "$STATE/run/$name.sock" -F 3 \
		"${as[@]}" -P "$STATE/run/$name.pids" -- "$@" \
		>/dev/null 2>>"$STATE/log/programs.log" ||
		give_up "spawn-fcgi $*"
	server_pidfiles+=("$STATE/run/$name.pids")
}

# Runs a server in the foreground, as a child of this test.
server_run() {
	"$@" >>"$STATE/log/server.out" 2>&1 </dev/null &
	server_pids+=($!)
}

server_start_lighttpd() {
	server_render "$1" DB="$DB" API="$ROOT/cgi-bin/api" \
		CONSOLE="$ROOT/cgi-bin/console" AS_USER="$AS_USER"
	server_run lighttpd -D -f "$STATE/server.conf"
}

server_start_apache_cgi() {
	server_render apache-cgi DB="$DB" API="$ROOT/cgi-bin/api" \
		CONSOLE="$ROOT/cgi-bin/console"
	server_run apache2 -D FOREGROUND -f "$STATE/server.conf"
}

server_start_apache_fcgi() {
	server_render apache-fcgi
	server_spawn api "$ROOT/cgi-bin/api"
	server_spawn console "$ROOT/cgi-bin/console"
	server_run apache2 -D FOREGROUND -f "$STATE/server.conf"
}

server_start_nginx() {
	server_render nginx-fcgiwrap DB="$DB" API="$ROOT/cgi-bin/api" \
		CONSOLE="$ROOT/cgi-bin/console" AS_USER="$AS_USER"
	server_spawn fcgiwrap "$(command -v fcgiwrap)" -f
	server_run nginx -g 'daemon off;' -c "$STATE/server.conf" \
		-e "$STATE/log/nginx.log"
}

# Whether the server that we started listens (another may have taken the
# port; then ours has ended).
server_listens() {
	kill -0 "${server_pids[-1]}" 2>/dev/null || return 0
	curl -s -o "$TAP_TMP/probe" --max-time 5 "$BASE/static/"
}

# server_start KIND: true when it answers.
server_start() {
	local kind=$1 try
	PATH=$PATH:/usr/sbin:/sbin
	server_pick_user
	at_exit server_stop
	server_make_state "$kind"
	for try in 1 2 3; do
		PORT=$(free_port)
		BASE=http://127.0.0.1:$PORT
		case $kind in
		lighttpd-*) server_start_lighttpd "$kind" ;;
		apache-cgi) server_start_apache_cgi ;;
		apache-fcgi) server_start_apache_fcgi ;;
		nginx-*) server_start_nginx ;;
		*) give_up "no server $kind" ;;
		esac
		wait_for 60 server_listens &&
			kill -0 "${server_pids[-1]}" 2>/dev/null && return 0
		diag "$kind did not start (try $try)"
		server_stop
	done
	diag "$(cat "$STATE"/log/*)"
	return 1
}

# Ends the server, then its workers.
server_stop() {
	local pid file
	for pid in "${server_pids[@]}"; do stop_pid "$pid"; done
	for file in "${server_pidfiles[@]}"; do
		# spawn-fcgi leaves out the last line end
		while read -r pid || [ -n "$pid" ]; do
			[ -z "$pid" ] || stop_pid "$pid"
		done < <(tr ' ' '\n' <"$file")
	done
	server_pids=()
	server_pidfiles=()
}

# What programs, valgrind and sanitizers wrote that no program should write.
server_reports() {
	grep -hE 'Sanitizer|runtime error:|Assertion|Segmentation|==[0-9]+==' \
		"$STATE"/log/*
}
