-- Which routines are there before any is made: the rights to these are left as they are.
DO $$ BEGIN
  PERFORM set_config('holdfast.former', array_to_string(ARRAY(
    SELECT to_regprocedure(r.signature)::oid::text FROM (VALUES
{SIGNATURES}
    ) AS r(signature, access) WHERE to_regprocedure(r.signature) IS NOT NULL), ' '), true);
END $$;
