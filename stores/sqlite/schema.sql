-- SPDX-License-Identifier: Apache-2.0
-- The golden truth of the SQLite schema, version 1. `nebis::sqlite` makes exactly this; the name idempotent_record is the setting `table`.
-- All times are milliseconds since 1970 UTC.

CREATE TABLE IF NOT EXISTS idempotent_record (
    trace_id          BLOB    NOT NULL,  -- scope + operation + key; a BLOB, because equality is equality of bytes
    biz_type          TEXT    NOT NULL,  -- business operation
    status            INTEGER NOT NULL,  -- 0 PROCESSING 1 SUCCESS 2 FAIL 3 REJECTED 4 UNKNOWN 5 MARKED
    version           INTEGER NOT NULL,  -- fencing token
    owner             BLOB    NOT NULL,  -- 16 random bytes, new for each attempt
    attempts          INTEGER NOT NULL,
    request_hash      BLOB    NOT NULL,  -- 1 byte scheme, 32 bytes digest
    lease_expire_time INTEGER NOT NULL,
    expire_time       INTEGER NOT NULL,  -- end of retention
    create_time       INTEGER NOT NULL,
    update_time       INTEGER NOT NULL,
    instance          TEXT    NOT NULL DEFAULT '',
    outcome_ref       TEXT    NOT NULL DEFAULT '',  -- transaction id of a coordinator
    request_body      BLOB,
    response_body     BLOB,              -- status, headers and body, see snapshot format 1
    PRIMARY KEY (trace_id)
) STRICT;

-- Recovery asks for leases that ran out, clean-up for retentions that ended. Partial, so that a row pays for one of them at a time;
-- comparisons, because an IN list would be built anew for each row written (measured: a third of the whole cost).
CREATE INDEX IF NOT EXISTS idempotent_record_lease ON idempotent_record (lease_expire_time) WHERE status = 0;
CREATE INDEX IF NOT EXISTS idempotent_record_expire ON idempotent_record (expire_time) WHERE status != 0 AND status != 4;

-- Digest of each operation's key rule: an instance whose rule differs does not serve that operation.
CREATE TABLE IF NOT EXISTS idempotent_key_rule (
    operation   TEXT    NOT NULL PRIMARY KEY,
    digest      BLOB    NOT NULL,
    update_time INTEGER NOT NULL
) STRICT;

-- 'schema': version of the shared tables. '<table>/schema': of a record table; '<table>/schema/1': checksum of what version 1 makes.
-- '<table>/version_floor': greatest version among deleted rows, so that fencing tokens grow over deletes
-- even when the clock steps back.
CREATE TABLE IF NOT EXISTS idempotent_meta (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;
INSERT INTO idempotent_meta (name, value) VALUES ('schema', 1), ('idempotent_record/schema', 1),
    ('idempotent_record/schema/1', 4800068257992732142) ON CONFLICT (name) DO NOTHING;
