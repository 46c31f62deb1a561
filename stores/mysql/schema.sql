-- SPDX-License-Identifier: Apache-2.0
-- The golden truth of the MySQL and MariaDB schema, version 1. `nebis::mysql` makes exactly this; the name idempotent_record is the
-- setting `table`. All times are milliseconds since 1970 UTC.

CREATE TABLE IF NOT EXISTS `idempotent_record` (
    id                BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,  -- rows lie in the order they came, so inserts stay in memory
    trace_id          VARBINARY(255)  NOT NULL,  -- scope + operation + key; binary, because equality is equality of bytes
    biz_type          VARCHAR(255)    NOT NULL,  -- business operation
    status            TINYINT         NOT NULL,  -- 0 PROCESSING 1 SUCCESS 2 FAIL 3 REJECTED 4 UNKNOWN 5 MARKED
    version           BIGINT          NOT NULL,  -- fencing token
    owner             BINARY(16)      NOT NULL,  -- random, new for each attempt
    attempts          BIGINT          NOT NULL,
    request_hash      VARBINARY(33)   NOT NULL,  -- 1 byte scheme, 32 bytes digest
    lease_expire_time BIGINT          NOT NULL,
    expire_time       BIGINT          NOT NULL,  -- end of retention
    create_time       BIGINT          NOT NULL,
    update_time       BIGINT          NOT NULL,
    instance          VARCHAR(255)    NOT NULL DEFAULT '',
    outcome_ref       VARCHAR(512)    NOT NULL DEFAULT '',  -- transaction id of a coordinator
    request_body      LONGBLOB,
    response_body     LONGBLOB,                  -- status, headers and body, see snapshot format 1
    PRIMARY KEY (id),
    UNIQUE KEY uk_trace_id (trace_id),
    KEY idx_lease (status, lease_expire_time),   -- recovery: leases that ran out
    KEY idx_expire (status, expire_time)         -- clean-up: retentions that ended
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- Digest of each operation's key rule: an instance whose rule differs does not serve that operation.
CREATE TABLE IF NOT EXISTS idempotent_key_rule (
    operation   VARCHAR(255)   NOT NULL PRIMARY KEY,
    digest      VARBINARY(255) NOT NULL,
    update_time BIGINT         NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- 'schema': version of this file. '<table>/version_floor': greatest version among deleted rows, so that fencing tokens grow over deletes
-- even when the clock steps back.
CREATE TABLE IF NOT EXISTS idempotent_meta (
    name  VARCHAR(255) NOT NULL PRIMARY KEY,
    value BIGINT       NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT IGNORE INTO idempotent_meta (name, value) VALUES ('schema', 1);
