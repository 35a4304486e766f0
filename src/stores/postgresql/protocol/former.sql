-- What there is before anything is made. Another layout, and the routines of a newer version, are left alone: they are
-- read and not called, because it is not known yet whose they are. The rights to what exists are left as they are.
DO $$
DECLARE
  layout text := (SELECT substring(prosrc FROM '[0-9]+') FROM pg_proc WHERE oid = to_regprocedure('{layout}()'));
  revision text := (SELECT substring(prosrc FROM '[0-9]+') FROM pg_proc WHERE oid = to_regprocedure('{revision}()'));
BEGIN
  IF layout <> '{LAYOUT}' THEN
    RAISE EXCEPTION USING ERRCODE = '{STRANGER}',
      MESSAGE = 'the tables have layout ' || layout || ', and these routines need layout {LAYOUT}; name another table with table=';
  END IF;
  IF length(revision) < 10 AND revision::int > {NEWEST} THEN
    RAISE EXCEPTION USING ERRCODE = '{STRANGER}', MESSAGE = 'the routines were made by a newer Holdfast; update this one';
  END IF;
  PERFORM set_config('holdfast.former', array_to_string(ARRAY(
    SELECT to_regprocedure(r.signature)::oid::text FROM (VALUES
{SIGNATURES}
    ) AS r(signature, access) WHERE to_regprocedure(r.signature) IS NOT NULL), ' '), true);
  PERFORM set_config('holdfast.former_tables', concat_ws(' ',
    to_regclass('{locks}')::oid, to_regclass('{claims}')::oid, to_regclass('{sweeps}')::oid), true);
END $$;
