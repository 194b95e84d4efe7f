-- Conspect's schema, version 1.
--
-- Files in this directory are numbered, applied in order, one transaction
-- each, and never changed once released: a later change is a later file.
-- Names of tables and columns are those of the feature's document, so that
-- its queries work in the sqlite3 shell.
--
-- Times are text, UTC, RFC 3339 with three decimals and Z, all of one width:
-- they sort as time does and can be read in the shell.  JSON columns hold
-- compact JSON.  Host names compare without regard to case (NOCASE) and keep
-- the spelling first seen.

-- What a user asked for.  Its commands (one per host) are in
-- ProfilingCommands, tied by CommandRequests.
CREATE TABLE ProfilingRequests (
    id               INTEGER PRIMARY KEY,
    request_id       TEXT NOT NULL UNIQUE,    -- UUID, lower case
    service_name     TEXT NOT NULL CHECK (service_name <> ''),
    request_type     TEXT NOT NULL CHECK (request_type IN ('start', 'stop')),
    continuous       INTEGER NOT NULL DEFAULT 0 CHECK (continuous IN (0, 1)),
    duration         INTEGER DEFAULT 60 CHECK (duration > 0),   -- seconds
    frequency        INTEGER DEFAULT 11 CHECK (frequency > 0),  -- Hz
    profiling_mode   TEXT NOT NULL DEFAULT 'cpu'
                     CHECK (profiling_mode IN ('cpu', 'allocation', 'none')),
    target_hostnames TEXT NOT NULL            -- array of host names
                     CHECK (json_type(target_hostnames) = 'array'),
    pids             TEXT                     -- array: those of all hosts
                     CHECK (pids IS NULL OR json_type(pids) = 'array'),
    host_pids        TEXT                     -- object: host name to pids
                     CHECK (host_pids IS NULL OR
                            json_type(host_pids) = 'object'),
    stop_level       TEXT DEFAULT 'process'
                     CHECK (stop_level IN ('process', 'host')),
    additional_args  TEXT                     -- object; PerfSpect stands here
                     CHECK (additional_args IS NULL OR
                            json_type(additional_args) = 'object'),
    -- how many commands it has, and how many of them wait, are under way,
    -- failed, and are done (completed or stopped); the rest was withdrawn
    n_commands       INTEGER NOT NULL DEFAULT 0,
    n_waiting        INTEGER NOT NULL DEFAULT 0,
    n_open           INTEGER NOT NULL DEFAULT 0,
    n_failed         INTEGER NOT NULL DEFAULT 0,
    n_done           INTEGER NOT NULL DEFAULT 0,
    -- follows from these numbers and from nothing else
    status           TEXT NOT NULL DEFAULT 'pending'
                     CHECK (status IN ('pending', 'assigned', 'completed',
                                       'failed', 'cancelled')),
    expires_in       INTEGER CHECK (expires_in > 0), -- seconds, if asked for
    created_by       TEXT,                    -- name of the user
    created_from     TEXT,                    -- network address
    created_at       TEXT NOT NULL
                     DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
                     CHECK (created_at GLOB '????-??-??T??:??:??.???Z')
) STRICT;

CREATE INDEX RequestsByTime ON ProfilingRequests (created_at);

-- One host's share of one or more requests, and how far it has come.  A row
-- is never overwritten by another command: what ended stays.
CREATE TABLE ProfilingCommands (
    id              INTEGER PRIMARY KEY,
    command_id      TEXT NOT NULL UNIQUE,     -- UUID, lower case
    hostname        TEXT NOT NULL COLLATE NOCASE CHECK (hostname <> ''),
    service_name    TEXT NOT NULL CHECK (service_name <> ''),
    command_type    TEXT NOT NULL CHECK (command_type IN ('start', 'stop')),
    combined_config TEXT NOT NULL             -- what the agent is given
                    CHECK (json_type(combined_config) = 'object'),
    -- commands of one kind take the same slot of the agent
    kind            TEXT NOT NULL GENERATED ALWAYS AS (
                        CASE WHEN command_type = 'stop' THEN 'stop'
                             WHEN combined_config ->> 'continuous'
                             THEN 'continuous' ELSE 'adhoc' END) STORED,
    status          TEXT NOT NULL DEFAULT 'pending'
                    CHECK (status IN ('pending', 'sent', 'accepted',
                           'installing', 'running', 'completed', 'failed',
                           'stopped', 'superseded', 'cancelled', 'expired')),
    reason          TEXT,                     -- why it ended as it did
    created_at      TEXT NOT NULL
                    DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    expires_at      TEXT,                     -- until shown; NULL: never
    sent_at         TEXT,                     -- first handed out
    accepted_at     TEXT,                     -- first shown by the agent
    ended_at        TEXT                      -- entered its end state
) STRICT;

-- A host has at most one pending command of a kind for a service: a second
-- one merges into it.
CREATE UNIQUE INDEX OnePendingCommand
    ON ProfilingCommands (hostname, service_name, kind)
    WHERE status = 'pending';

-- What a heartbeat looks at: the unfinished commands of one host.
CREATE INDEX OpenCommands
    ON ProfilingCommands (hostname, service_name, id)
    WHERE status IN ('pending', 'sent', 'accepted', 'installing', 'running');

-- The newest command of a host, for the page.
CREATE INDEX CommandsByHost
    ON ProfilingCommands (service_name, hostname, id);

-- Which requests a command serves: several after a merge.
CREATE TABLE CommandRequests (
    command_id TEXT NOT NULL REFERENCES ProfilingCommands (command_id)
               ON DELETE CASCADE,
    request_id TEXT NOT NULL REFERENCES ProfilingRequests (request_id)
               ON DELETE CASCADE,
    PRIMARY KEY (command_id, request_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX CommandsOfRequest ON CommandRequests (request_id);

-- Hosts, each as its agent last showed it.  A host that serves two services
-- has two rows.
CREATE TABLE HostHeartbeats (
    id                  INTEGER PRIMARY KEY,
    hostname            TEXT NOT NULL COLLATE NOCASE CHECK (hostname <> ''),
    ip_address          TEXT NOT NULL DEFAULT '', -- as the agent says
    service_name        TEXT NOT NULL CHECK (service_name <> ''),
    last_command_id     TEXT,
    status              TEXT NOT NULL DEFAULT 'active'
                        CHECK (status IN ('active', 'idle', 'offline')),
    heartbeat_timestamp TEXT NOT NULL,        -- the agent's clock
    last_seen           TEXT NOT NULL         -- ours: what counts
                        DEFAULT '1970-01-01T00:00:00.000Z',
    first_seen          TEXT NOT NULL
                        DEFAULT '1970-01-01T00:00:00.000Z',
    remote_address      TEXT,                 -- where the connection is from
    agent_id            TEXT,                 -- the rest only from our agent
    boot_id             TEXT,
    agent_version       TEXT,
    arch                TEXT,
    UNIQUE (service_name, hostname)
) STRICT;

CREATE INDEX HeartbeatsByTime ON HostHeartbeats (heartbeat_timestamp);

-- An agent's attempt to run a command.  Delivery is at least once but a
-- command runs at most once, so there is at most one per command.
CREATE TABLE ProfilingExecutions (
    id                INTEGER PRIMARY KEY,
    command_id        TEXT NOT NULL UNIQUE
                      REFERENCES ProfilingCommands (command_id)
                      ON DELETE CASCADE,
    hostname          TEXT NOT NULL COLLATE NOCASE,
    status            TEXT NOT NULL
                      CHECK (status IN ('installing', 'running', 'completed',
                                        'failed', 'stopped')),
    started_at        TEXT NOT NULL,          -- first seen under way
    completed_at      TEXT,
    execution_time    INTEGER CHECK (execution_time >= 0), -- s, the agent's
    exit_status       INTEGER,
    error_message     TEXT,
    results_path      TEXT,                   -- on the host
    perfspect_version TEXT
) STRICT;

-- People.
CREATE TABLE Users (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE COLLATE NOCASE CHECK (name <> ''),
    role          TEXT NOT NULL
                  CHECK (role IN ('viewer', 'operator', 'admin')),
    password_hash TEXT NOT NULL,              -- argon2id, libsodium's text
    created_at    TEXT NOT NULL,
    changed_at    TEXT NOT NULL               -- of the password
) STRICT;

-- Who is logged in.  The cookie holds the secret, the table its hash.
CREATE TABLE Sessions (
    id         INTEGER PRIMARY KEY,
    token_hash BLOB NOT NULL UNIQUE,          -- BLAKE2b-256
    user_id    INTEGER NOT NULL REFERENCES Users (id) ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT;

CREATE INDEX SessionsByExpiry ON Sessions (expires_at);

-- Agents' tokens, stored as hashes.  A revoked one stays as history.
CREATE TABLE AgentTokens (
    id           INTEGER PRIMARY KEY,
    name         TEXT NOT NULL CHECK (name <> ''),
    token_hash   BLOB NOT NULL UNIQUE,        -- BLAKE2b-256
    service_name TEXT,                        -- NULL: every service
    hostname     TEXT COLLATE NOCASE,         -- NULL: every host
    created_at   TEXT NOT NULL,
    revoked_at   TEXT
) STRICT;

CREATE UNIQUE INDEX OneTokenOfAName
    ON AgentTokens (name) WHERE revoked_at IS NULL;

-- Failed logins, by account and address, to slow down guessing.
CREATE TABLE LoginFailures (
    account TEXT NOT NULL COLLATE NOCASE,
    address TEXT NOT NULL,
    count   INTEGER NOT NULL,
    last_at TEXT NOT NULL,
    PRIMARY KEY (account, address)
) STRICT, WITHOUT ROWID;
