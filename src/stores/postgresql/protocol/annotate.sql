-- Other metadata for a claim, in place: a leader replaces its value.
CREATE OR REPLACE FUNCTION {annotate}(in_name text, in_owner bytea, in_token bigint, in_metadata text,
  OUT done bigint)
--@include locals.sql
BEGIN
--@include lock.sql
  at := {now}();
  UPDATE {claims} SET metadata = in_metadata
   WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > at;
  done := FOUND::int;
  IF FOUND THEN
    PERFORM {changed}();
  END IF;
END $$;
