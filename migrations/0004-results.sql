-- Schema version 4: result files, what really ran, what a host can measure.

-- The files that agents delivered.  Their bytes are beside the database:
-- results/COMMAND_ID/NAME.
CREATE TABLE ResultFiles (
    id          INTEGER PRIMARY KEY,
    command_id  TEXT NOT NULL REFERENCES ProfilingCommands (command_id)
                ON DELETE CASCADE,
    name        TEXT NOT NULL
                CHECK (name <> '' AND substr(name, 1, 1) <> '.'
                       AND instr(name, '/') = 0),
    bytes       INTEGER NOT NULL CHECK (bytes >= 0),
    sha256      TEXT NOT NULL CHECK (length(sha256) = 64), -- hex
    received_at TEXT NOT NULL,
    UNIQUE (command_id, name)
) STRICT;

-- The oldest are the first to go.
CREATE INDEX ResultsByTime ON ResultFiles (received_at, id);

-- The command line that really ran, an array of texts, and whether the
-- results cover less than the asked duration; both as the agent reports.
ALTER TABLE ProfilingExecutions ADD COLUMN arguments TEXT
    CHECK (arguments IS NULL OR json_type(arguments) = 'array');
ALTER TABLE ProfilingExecutions ADD COLUMN partial INTEGER NOT NULL DEFAULT 0
    CHECK (partial IN (0, 1));

-- What the agent found out about its host before any run: an array of
-- objects with check, outcome and text; NULL: it did not say.
ALTER TABLE HostHeartbeats ADD COLUMN preflight TEXT
    CHECK (preflight IS NULL OR json_type(preflight) = 'array');
