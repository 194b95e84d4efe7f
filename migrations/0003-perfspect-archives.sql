-- Schema version 3: PerfSpect, pinned by the appliance.

-- The archives that hosts install PerfSpect from, one for an architecture:
-- the files lie in the dist directory, which the web server offers at /dist/.
CREATE TABLE PerfSpectArchives (
    arch     TEXT PRIMARY KEY                 -- as uname -m says it
             CHECK (arch IN ('x86_64', 'aarch64')),
    version  TEXT NOT NULL                    -- NUMBER_DATE_COMMIT
             CHECK (version <> '' AND version NOT GLOB '*[^!-~]*'),
    sha256   TEXT NOT NULL                    -- of the file, hex, lower case
             CHECK (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
    bytes    INTEGER NOT NULL CHECK (bytes > 0),
    file     TEXT NOT NULL UNIQUE             -- its name in the directory
             CHECK (file <> '' AND file NOT GLOB '*[^a-z0-9_.-]*'),
    added_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
