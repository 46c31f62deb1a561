-- make the shared tables
CREATE TABLE IF NOT EXISTS idempotent_key_rule ( operation VARCHAR(255) NOT NULL PRIMARY KEY, digest VARBINARY(255) NOT NULL, update_time BIGINT NOT NULL ) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS idempotent_meta ( name VARCHAR(255) NOT NULL PRIMARY KEY, value BIGINT NOT NULL ) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- make a table as it must be, beside the old one
CREATE TABLE IF NOT EXISTS `idempotent_record_nebis` ( id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, trace_id VARBINARY(255) NOT NULL, biz_type VARCHAR(255) NOT NULL, status TINYINT NOT NULL, version BIGINT NOT NULL, owner BINARY(16) NOT NULL, attempts BIGINT NOT NULL, request_hash VARBINARY(33) NOT NULL, lease_expire_time BIGINT NOT NULL, expire_time BIGINT NOT NULL, create_time BIGINT NOT NULL, update_time BIGINT NOT NULL, instance VARCHAR(255) NOT NULL DEFAULT '', outcome_ref VARCHAR(512) NOT NULL DEFAULT '', request_body LONGBLOB, response_body LONGBLOB, PRIMARY KEY (id), UNIQUE KEY uk_trace_id (trace_id), KEY idx_lease (status, lease_expire_time), KEY idx_expire (status, expire_time) ) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- fill it with what others write meanwhile
CREATE TRIGGER `idempotent_record_nebis_d` AFTER DELETE ON `idempotent_record` FOR EACH ROW
DELETE FROM `idempotent_record_nebis` WHERE id=OLD.id;
CREATE TRIGGER `idempotent_record_nebis_u` AFTER UPDATE ON `idempotent_record` FOR EACH ROW
UPDATE `idempotent_record_nebis` SET
    id=NEW.`id`,
    trace_id=CASE WHEN LENGTH(CONCAT(x'7C7C',CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY),x'7C',CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)))<=128 AND HEX(CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY)) REGEXP '^([2-6][0-9A-F]|7[0-9A-E])*$' AND HEX(CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY)) NOT LIKE '20%' AND HEX(CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY)) NOT LIKE '%20' AND HEX(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)) REGEXP '^([2-6][0-9A-F]|7[0-9A-E])*$' AND HEX(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)) NOT LIKE '20%' AND HEX(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)) NOT LIKE '%20' AND LOCATE(x'7C',CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY))=0 AND LEFT(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY),7)<>x'7368613235363A' THEN CONCAT(x'7C7C',CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY),x'7C',CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)) ELSE CONCAT(x'7368613235363A',CAST(SHA2(CONCAT(x'00000000000000000000000000000000',UNHEX(LPAD(HEX(LENGTH(CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY))),16,'0')),CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY),UNHEX(LPAD(HEX(LENGTH(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY))),16,'0')),CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)),256) AS BINARY)) END,
    biz_type=NEW.`biz_type`,
    status=NEW.`status`,
    version=GREATEST((TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`update_time`,'SYSTEM','+00:00')) DIV 1000)*1000,1),
    owner=UNHEX(MD5(CONCAT(UUID(),NEW.`id`))),
    attempts=1,
    request_hash=UNHEX(REPEAT('00',33)),
    lease_expire_time=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`update_time`,'SYSTEM','+00:00')) DIV 1000+300000,
    expire_time=CASE WHEN NEW.`status`=0 THEN GREATEST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`expire_time`,'SYSTEM','+00:00')) DIV 1000,TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`update_time`,'SYSTEM','+00:00')) DIV 1000+300000) ELSE TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`expire_time`,'SYSTEM','+00:00')) DIV 1000 END,
    create_time=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`create_time`,'SYSTEM','+00:00')) DIV 1000,
    update_time=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`update_time`,'SYSTEM','+00:00')) DIV 1000,
    instance='',
    outcome_ref='',
    request_body=CAST(CONVERT(NEW.`request_body` USING utf8mb4) AS BINARY),
    response_body=CASE WHEN NEW.`status`=1 THEN COALESCE(CONCAT(x'E7FE',CAST(CONVERT(NEW.`response_body` USING utf8mb4) AS BINARY)),x'E701019003000013EC9292') END
WHERE id=OLD.id;
CREATE TRIGGER `idempotent_record_nebis_i` AFTER INSERT ON `idempotent_record` FOR EACH ROW
INSERT INTO `idempotent_record_nebis` (id, trace_id, biz_type, status, version, owner, attempts, request_hash, lease_expire_time, expire_time, create_time, update_time, instance, outcome_ref, request_body, response_body) VALUES (
    NEW.`id`,
    CASE WHEN LENGTH(CONCAT(x'7C7C',CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY),x'7C',CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)))<=128 AND HEX(CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY)) REGEXP '^([2-6][0-9A-F]|7[0-9A-E])*$' AND HEX(CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY)) NOT LIKE '20%' AND HEX(CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY)) NOT LIKE '%20' AND HEX(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)) REGEXP '^([2-6][0-9A-F]|7[0-9A-E])*$' AND HEX(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)) NOT LIKE '20%' AND HEX(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)) NOT LIKE '%20' AND LOCATE(x'7C',CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY))=0 AND LEFT(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY),7)<>x'7368613235363A' THEN CONCAT(x'7C7C',CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY),x'7C',CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)) ELSE CONCAT(x'7368613235363A',CAST(SHA2(CONCAT(x'00000000000000000000000000000000',UNHEX(LPAD(HEX(LENGTH(CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY))),16,'0')),CAST(CONVERT(NEW.`biz_type` USING utf8mb4) AS BINARY),UNHEX(LPAD(HEX(LENGTH(CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY))),16,'0')),CAST(CONVERT(NEW.`trace_id` USING utf8mb4) AS BINARY)),256) AS BINARY)) END,
    NEW.`biz_type`,
    NEW.`status`,
    GREATEST((TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`update_time`,'SYSTEM','+00:00')) DIV 1000)*1000,1),
    UNHEX(MD5(CONCAT(UUID(),NEW.`id`))),
    1,
    UNHEX(REPEAT('00',33)),
    TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`update_time`,'SYSTEM','+00:00')) DIV 1000+300000,
    CASE WHEN NEW.`status`=0 THEN GREATEST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`expire_time`,'SYSTEM','+00:00')) DIV 1000,TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`update_time`,'SYSTEM','+00:00')) DIV 1000+300000) ELSE TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`expire_time`,'SYSTEM','+00:00')) DIV 1000 END,
    TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`create_time`,'SYSTEM','+00:00')) DIV 1000,
    TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(NEW.`update_time`,'SYSTEM','+00:00')) DIV 1000,
    '',
    '',
    CAST(CONVERT(NEW.`request_body` USING utf8mb4) AS BINARY),
    CASE WHEN NEW.`status`=1 THEN COALESCE(CONCAT(x'E7FE',CAST(CONVERT(NEW.`response_body` USING utf8mb4) AS BINARY)),x'E701019003000013EC9292') END);

-- fill it with the rows that are there; once for each run of ids, in one transaction
SELECT COUNT(*) FROM `idempotent_record` AS was FORCE INDEX (PRIMARY) WHERE was.id>=$from AND was.id<=$to LOCK IN SHARE MODE;
INSERT INTO `idempotent_record_nebis` (id, trace_id, biz_type, status, version, owner, attempts, request_hash, lease_expire_time, expire_time, create_time, update_time, instance, outcome_ref, request_body, response_body)
SELECT
    was.`id`,
    CASE WHEN LENGTH(CONCAT(x'7C7C',CAST(CONVERT(was.`biz_type` USING utf8mb4) AS BINARY),x'7C',CAST(CONVERT(was.`trace_id` USING utf8mb4) AS BINARY)))<=128 AND HEX(CAST(CONVERT(was.`biz_type` USING utf8mb4) AS BINARY)) REGEXP '^([2-6][0-9A-F]|7[0-9A-E])*$' AND HEX(CAST(CONVERT(was.`biz_type` USING utf8mb4) AS BINARY)) NOT LIKE '20%' AND HEX(CAST(CONVERT(was.`biz_type` USING utf8mb4) AS BINARY)) NOT LIKE '%20' AND HEX(CAST(CONVERT(was.`trace_id` USING utf8mb4) AS BINARY)) REGEXP '^([2-6][0-9A-F]|7[0-9A-E])*$' AND HEX(CAST(CONVERT(was.`trace_id` USING utf8mb4) AS BINARY)) NOT LIKE '20%' AND HEX(CAST(CONVERT(was.`trace_id` USING utf8mb4) AS BINARY)) NOT LIKE '%20' AND LOCATE(x'7C',CAST(CONVERT(was.`biz_type` USING utf8mb4) AS BINARY))=0 AND LEFT(CAST(CONVERT(was.`trace_id` USING utf8mb4) AS BINARY),7)<>x'7368613235363A' THEN CONCAT(x'7C7C',CAST(CONVERT(was.`biz_type` USING utf8mb4) AS BINARY),x'7C',CAST(CONVERT(was.`trace_id` USING utf8mb4) AS BINARY)) ELSE CONCAT(x'7368613235363A',CAST(SHA2(CONCAT(x'00000000000000000000000000000000',UNHEX(LPAD(HEX(LENGTH(CAST(CONVERT(was.`biz_type` USING utf8mb4) AS BINARY))),16,'0')),CAST(CONVERT(was.`biz_type` USING utf8mb4) AS BINARY),UNHEX(LPAD(HEX(LENGTH(CAST(CONVERT(was.`trace_id` USING utf8mb4) AS BINARY))),16,'0')),CAST(CONVERT(was.`trace_id` USING utf8mb4) AS BINARY)),256) AS BINARY)) END,
    was.`biz_type`,
    was.`status`,
    GREATEST((TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(was.`update_time`,'SYSTEM','+00:00')) DIV 1000)*1000,1),
    UNHEX(MD5(CONCAT(UUID(),was.`id`))),
    1,
    UNHEX(REPEAT('00',33)),
    TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(was.`update_time`,'SYSTEM','+00:00')) DIV 1000+300000,
    CASE WHEN was.`status`=0 THEN GREATEST(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(was.`expire_time`,'SYSTEM','+00:00')) DIV 1000,TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(was.`update_time`,'SYSTEM','+00:00')) DIV 1000+300000) ELSE TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(was.`expire_time`,'SYSTEM','+00:00')) DIV 1000 END,
    TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(was.`create_time`,'SYSTEM','+00:00')) DIV 1000,
    TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(was.`update_time`,'SYSTEM','+00:00')) DIV 1000,
    '',
    '',
    CAST(CONVERT(was.`request_body` USING utf8mb4) AS BINARY),
    CASE WHEN was.`status`=1 THEN COALESCE(CONCAT(x'E7FE',CAST(CONVERT(was.`response_body` USING utf8mb4) AS BINARY)),x'E701019003000013EC9292') END
FROM `idempotent_record` AS was LEFT JOIN `idempotent_record_nebis` AS made ON made.id=was.id
WHERE was.id>=$from AND was.id<=$to AND made.id IS NULL
LOCK IN SHARE MODE;

-- let it take the name
RENAME TABLE `idempotent_record` TO `idempotent_record_before`, `idempotent_record_nebis` TO `idempotent_record`;

-- drop the triggers of the old one
DROP TRIGGER IF EXISTS `idempotent_record_nebis_d`;
DROP TRIGGER IF EXISTS `idempotent_record_nebis_u`;
DROP TRIGGER IF EXISTS `idempotent_record_nebis_i`;

-- record the version
INSERT IGNORE INTO idempotent_meta (name, value) VALUES ('schema', 1), ('idempotent_record/schema', 1), ('idempotent_record/schema/1', 5358348290118133048);
UPDATE idempotent_meta SET value=1 WHERE name IN ('schema','idempotent_record/schema') AND value<1;

