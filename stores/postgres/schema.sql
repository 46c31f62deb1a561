-- SPDX-License-Identifier: Apache-2.0
-- The golden truth of the PostgreSQL schema, version 1. `nebis::postgres` makes exactly this; the name idempotent_record is the setting `table`.
-- All times are milliseconds since 1970 UTC.

CREATE TABLE IF NOT EXISTS "idempotent_record" (
    trace_id          bytea    NOT NULL,  -- scope + operation + key; bytea, because equality is equality of bytes
    biz_type          text     NOT NULL,  -- business operation
    status            smallint NOT NULL,  -- 0 PROCESSING 1 SUCCESS 2 FAIL 3 REJECTED 4 UNKNOWN 5 MARKED
    version           bigint   NOT NULL,  -- fencing token
    owner             bytea    NOT NULL,  -- 16 random bytes, new for each attempt
    attempts          bigint   NOT NULL,
    request_hash      bytea    NOT NULL,  -- 1 byte scheme, 32 bytes digest
    lease_expire_time bigint   NOT NULL,
    expire_time       bigint   NOT NULL,  -- end of retention
    create_time       bigint   NOT NULL,
    update_time       bigint   NOT NULL,
    instance          text     NOT NULL DEFAULT '',
    outcome_ref       text     NOT NULL DEFAULT '',  -- transaction id of a coordinator
    request_body      bytea,
    response_body     bytea,              -- status, headers and body, see snapshot format 1
    PRIMARY KEY (trace_id)
) WITH (fillfactor = 50);  -- the finish finds room on the page of its begin

-- Recovery asks for leases that ran out, clean-up for retentions that ended. Partial, so that a row pays for one of them at a time.
CREATE INDEX IF NOT EXISTS "idempotent_record_lease" ON "idempotent_record" (lease_expire_time) WHERE status = 0;
CREATE INDEX IF NOT EXISTS "idempotent_record_expire" ON "idempotent_record" (expire_time) WHERE status <> 0 AND status <> 4;

-- Digest of each operation's key rule: an instance whose rule differs does not serve that operation.
CREATE TABLE IF NOT EXISTS idempotent_key_rule (
    operation   text   NOT NULL PRIMARY KEY,
    digest      bytea  NOT NULL,
    update_time bigint NOT NULL
);

-- 'schema': version of the shared tables. '<table>/schema': of a record table; '<table>/schema/1': checksum of what version 1 makes.
-- '<table>/version_floor': greatest version among deleted rows, so that fencing tokens grow over deletes
-- even when the clock steps back.
CREATE TABLE IF NOT EXISTS idempotent_meta (
    name  text   NOT NULL PRIMARY KEY,
    value bigint NOT NULL
);
INSERT INTO idempotent_meta (name, value) VALUES ('schema', 1), ('idempotent_record/schema', 1),
    ('idempotent_record/schema/1', 2614601544608482371) ON CONFLICT (name) DO NOTHING;
