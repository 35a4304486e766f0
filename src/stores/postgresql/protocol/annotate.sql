-- Other metadata for a claim that holds, in place: a leader replaces its value. A request to release stays. A claim that waits has none to replace: its
-- client believes to hold what the store has forgotten.
CREATE OR REPLACE FUNCTION {annotate}(in_name text, in_owner bytea, in_token bigint, in_metadata text,
  OUT done bigint)
--@include locals.sql
BEGIN
  IF octet_length(in_metadata) >= 16777216 THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a claim has metadata of less than 16 MiB';
  END IF;
--@include lock.sql
  at := {now}();
  UPDATE {claims} c
     SET metadata = CASE WHEN position(',"release_request":' IN c.metadata) > 0 AND in_metadata LIKE '%}'
                         THEN left(in_metadata, -1) || substr(c.metadata, position(',"release_request":' IN c.metadata))
                         ELSE in_metadata END
   WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > at
     AND in_token <= upto;
  done := FOUND::int;
  IF FOUND THEN
    PERFORM {changed}(in_name);
  END IF;
END $$;
