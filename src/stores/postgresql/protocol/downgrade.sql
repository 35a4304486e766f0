-- From writer to reader, in place: nobody can come between. Then others may fit beside it. What waits does not hold,
-- whatever its owner was told by a database that has gone back to an earlier state since.
CREATE OR REPLACE FUNCTION {downgrade}(in_name text, in_owner bytea, in_token bigint, in_weight bigint,
  OUT done bigint)
--@include locals.sql
BEGIN
--@include lock.sql
  at := {now}();
  UPDATE {claims} SET weight = in_weight
   WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > at AND in_token <= upto
     AND in_weight BETWEEN 1 AND weight;  -- heavier, or lighter than nothing, others would hold beside it
  done := FOUND::int;
  IF FOUND THEN
    IF last > upto THEN
      PERFORM {serve}(in_name, at, low, upto, room);
    END IF;
    PERFORM {changed}(in_name);
  END IF;
END $$;
