-- Nothing of a stranger's is written or called from here on, its triggers and routines least of all. Who has made a table
-- or a routine of our names beforehand is its owner still.
DO $$
DECLARE
  theirs text;
BEGIN
{OWNERS}
  SELECT min('the ' || kind || ' ' || name || ' belongs to ' || pg_get_userbyid(owner))
    INTO theirs FROM part WHERE owner NOT IN (SELECT oid FROM trusted);
  IF theirs IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = '{STRANGER}', MESSAGE = theirs || '{ADVICE}';
  END IF;
END $$;
