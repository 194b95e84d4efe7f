-- Schema version 2: settings, agents with one name, housekeeping.

-- What an operator may change while the appliance runs; a key that is not
-- here has its default (lib/store/settings.c).
CREATE TABLE Settings (
    key        TEXT PRIMARY KEY,
    value      INTEGER NOT NULL,
    changed_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Two agents that report under one name take turns in a host's row: the one
-- before is kept, and when it is back that is a conflict.
ALTER TABLE HostHeartbeats ADD COLUMN other_agent_id TEXT;
ALTER TABLE HostHeartbeats ADD COLUMN conflict_at TEXT;

-- How far the agent's clock is from ours, positive when it is ahead.
ALTER TABLE HostHeartbeats ADD COLUMN clock_skew_ms INTEGER;

-- Housekeeping looks for what may expire and for what ended long ago.
CREATE INDEX CommandsThatExpire
    ON ProfilingCommands (expires_at)
    WHERE status IN ('pending', 'sent');
CREATE INDEX CommandsThatEnded
    ON ProfilingCommands (ended_at)
    WHERE ended_at IS NOT NULL;
