-- make the shared tables
CREATE TABLE IF NOT EXISTS idempotent_key_rule ( operation text NOT NULL PRIMARY KEY, digest bytea NOT NULL, update_time bigint NOT NULL );
CREATE TABLE IF NOT EXISTS idempotent_meta ( name text NOT NULL PRIMARY KEY, value bigint NOT NULL );

-- add columns
ALTER TABLE "idempotent_record"
    ADD COLUMN "nebis_trace_id" bytea,
    ALTER COLUMN "biz_type" TYPE text,
    ADD COLUMN "nebis_version" bigint,
    ADD COLUMN "nebis_owner" bytea,
    ADD COLUMN "nebis_attempts" bigint,
    ADD COLUMN "nebis_request_hash" bytea,
    ADD COLUMN "nebis_lease_expire_time" bigint,
    ADD COLUMN "nebis_expire_time" bigint,
    ADD COLUMN "nebis_create_time" bigint,
    ADD COLUMN "nebis_update_time" bigint,
    ADD COLUMN "instance" text NOT NULL DEFAULT '',
    ADD COLUMN "outcome_ref" text NOT NULL DEFAULT '',
    ADD COLUMN "nebis_request_body" bytea,
    ADD COLUMN "nebis_response_body" bytea,
    SET (fillfactor = 50);

-- fill them for what others write meanwhile
CREATE OR REPLACE FUNCTION "idempotent_record_fill"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $nebis$
BEGIN
    NEW."nebis_trace_id" := CASE WHEN octet_length('||' || NEW."biz_type"::text || '|' || NEW."trace_id"::text) <= 128 AND NEW."biz_type"::text !~ '[^ -~]|^ | $' COLLATE "C" AND NEW."trace_id"::text !~ '[^ -~]|^ | $' COLLATE "C" AND strpos(NEW."biz_type"::text, '|') = 0 AND NOT starts_with(NEW."trace_id"::text, 'sha256:') THEN convert_to('||' || NEW."biz_type"::text || '|' || NEW."trace_id"::text, 'UTF8') ELSE convert_to('sha256:' || encode(sha256(int8send(0) || int8send(0) || int8send(octet_length(convert_to(NEW."biz_type"::text, 'UTF8'))) || convert_to(NEW."biz_type"::text, 'UTF8') || int8send(octet_length(convert_to(NEW."trace_id"::text, 'UTF8'))) || convert_to(NEW."trace_id"::text, 'UTF8')), 'hex'), 'UTF8') END;
    NEW."nebis_version" := greatest(floor(extract(epoch FROM NEW."update_time") * 1000)::bigint * 1000, 1);
    NEW."nebis_owner" := coalesce(NEW."nebis_owner", uuid_send(gen_random_uuid()));
    NEW."nebis_attempts" := 1;
    NEW."nebis_request_hash" := decode(repeat('00', 33), 'hex');
    NEW."nebis_lease_expire_time" := floor(extract(epoch FROM NEW."update_time") * 1000)::bigint + 300000;
    NEW."nebis_expire_time" := CASE WHEN NEW."status" = 0 THEN greatest(floor(extract(epoch FROM NEW."expire_time") * 1000)::bigint, floor(extract(epoch FROM NEW."update_time") * 1000)::bigint + 300000) ELSE floor(extract(epoch FROM NEW."expire_time") * 1000)::bigint END;
    NEW."nebis_create_time" := floor(extract(epoch FROM NEW."create_time") * 1000)::bigint;
    NEW."nebis_update_time" := floor(extract(epoch FROM NEW."update_time") * 1000)::bigint;
    NEW."nebis_request_body" := convert_to(NEW."request_body"::text, 'UTF8');
    NEW."nebis_response_body" := CASE WHEN NEW."status" = 1 THEN coalesce('\xe7fe'::bytea || convert_to(NEW."response_body"::text, 'UTF8'), '\xe701019003000013ec9292'::bytea) END;
    RETURN NEW;
END $nebis$;
CREATE OR REPLACE TRIGGER nebis_fill BEFORE INSERT OR UPDATE ON "idempotent_record"
    FOR EACH ROW EXECUTE FUNCTION "idempotent_record_fill"();

-- fill them for the rows that are there; once for each run of pages
UPDATE "idempotent_record" SET "nebis_trace_id" = NULL
    WHERE ctid >= '($from,0)' AND ctid < '($to,0)'
    AND ("nebis_trace_id" IS NULL OR "nebis_version" IS NULL OR "nebis_owner" IS NULL OR "nebis_attempts" IS NULL OR "nebis_request_hash" IS NULL OR "nebis_lease_expire_time" IS NULL OR "nebis_expire_time" IS NULL OR "nebis_create_time" IS NULL OR "nebis_update_time" IS NULL OR ("nebis_request_body" IS NULL AND "request_body" IS NOT NULL) OR ("nebis_response_body" IS NULL AND "response_body" IS NOT NULL));

-- demand values of new rows
ALTER TABLE "idempotent_record"
    DROP CONSTRAINT IF EXISTS nebis_whole,
    ADD CONSTRAINT nebis_whole CHECK ("nebis_trace_id" IS NOT NULL AND "nebis_version" IS NOT NULL AND "nebis_owner" IS NOT NULL AND "nebis_attempts" IS NOT NULL AND "nebis_request_hash" IS NOT NULL AND "nebis_lease_expire_time" IS NOT NULL AND "nebis_expire_time" IS NOT NULL AND "nebis_create_time" IS NOT NULL AND "nebis_update_time" IS NOT NULL) NOT VALID;

-- check the rows that are there
ALTER TABLE "idempotent_record"
    VALIDATE CONSTRAINT nebis_whole;

-- demand values
ALTER TABLE "idempotent_record"
    ALTER COLUMN "nebis_trace_id" SET NOT NULL,
    ALTER COLUMN "nebis_version" SET NOT NULL,
    ALTER COLUMN "nebis_owner" SET NOT NULL,
    ALTER COLUMN "nebis_attempts" SET NOT NULL,
    ALTER COLUMN "nebis_request_hash" SET NOT NULL,
    ALTER COLUMN "nebis_lease_expire_time" SET NOT NULL,
    ALTER COLUMN "nebis_expire_time" SET NOT NULL,
    ALTER COLUMN "nebis_create_time" SET NOT NULL,
    ALTER COLUMN "nebis_update_time" SET NOT NULL;

-- drop the check
ALTER TABLE "idempotent_record"
    DROP CONSTRAINT IF EXISTS nebis_whole;

-- make the index idempotent_record_trace
CREATE UNIQUE INDEX CONCURRENTLY "idempotent_record_trace" ON "idempotent_record" ("nebis_trace_id");

-- make the index idempotent_record_lease
CREATE INDEX CONCURRENTLY "idempotent_record_lease" ON "idempotent_record" ("nebis_lease_expire_time") WHERE "status" = 0;

-- make the index idempotent_record_expire
CREATE INDEX CONCURRENTLY "idempotent_record_expire" ON "idempotent_record" ("nebis_expire_time") WHERE "status" <> 0 AND "status" <> 4;

-- let the new columns take the names
DROP TRIGGER nebis_fill ON "idempotent_record";
DROP FUNCTION "idempotent_record_fill"();
ALTER TABLE "idempotent_record" ALTER COLUMN "trace_id" DROP NOT NULL, ALTER COLUMN "trace_id" DROP DEFAULT;
ALTER TABLE "idempotent_record" RENAME COLUMN "trace_id" TO "trace_id_before";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_trace_id" TO "trace_id";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_version" TO "version";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_owner" TO "owner";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_attempts" TO "attempts";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_request_hash" TO "request_hash";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_lease_expire_time" TO "lease_expire_time";
ALTER TABLE "idempotent_record" ALTER COLUMN "expire_time" DROP NOT NULL, ALTER COLUMN "expire_time" DROP DEFAULT;
ALTER TABLE "idempotent_record" RENAME COLUMN "expire_time" TO "expire_time_before";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_expire_time" TO "expire_time";
ALTER TABLE "idempotent_record" ALTER COLUMN "create_time" DROP NOT NULL, ALTER COLUMN "create_time" DROP DEFAULT;
ALTER TABLE "idempotent_record" RENAME COLUMN "create_time" TO "create_time_before";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_create_time" TO "create_time";
ALTER TABLE "idempotent_record" ALTER COLUMN "update_time" DROP NOT NULL, ALTER COLUMN "update_time" DROP DEFAULT;
ALTER TABLE "idempotent_record" RENAME COLUMN "update_time" TO "update_time_before";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_update_time" TO "update_time";
ALTER TABLE "idempotent_record" ALTER COLUMN "request_body" DROP NOT NULL, ALTER COLUMN "request_body" DROP DEFAULT;
ALTER TABLE "idempotent_record" RENAME COLUMN "request_body" TO "request_body_before";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_request_body" TO "request_body";
ALTER TABLE "idempotent_record" ALTER COLUMN "response_body" DROP NOT NULL, ALTER COLUMN "response_body" DROP DEFAULT;
ALTER TABLE "idempotent_record" RENAME COLUMN "response_body" TO "response_body_before";
ALTER TABLE "idempotent_record" RENAME COLUMN "nebis_response_body" TO "response_body";

-- record the version
INSERT INTO idempotent_meta (name, value) VALUES ('schema', 1), ('idempotent_record/schema', 1), ('idempotent_record/schema/1', 2614601544608482371) ON CONFLICT (name) DO NOTHING;
UPDATE idempotent_meta SET value = 1 WHERE name IN ('schema', 'idempotent_record/schema') AND value < 1;

