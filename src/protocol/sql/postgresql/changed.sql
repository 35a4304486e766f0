-- Tell those who watch. They hold an advisory lock together, which nobody gets alone while there are any: without
-- them, nothing is told, since commits that tell anything wait for one another. Two who find out at the same
-- moment take each other for somebody who watches, which costs a word to nobody. A session that watches alone does
-- not hear of its own changes, which it knows of. In PL/pgSQL, like all that each lock and unlock calls: of
-- functions in SQL the server makes the plans anew in every transaction.
CREATE OR REPLACE FUNCTION {changed}() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF NOT pg_try_advisory_lock({WATCH}) THEN
    PERFORM pg_notify('{CHANGED}', '');
  ELSE
    PERFORM pg_advisory_unlock({WATCH});
  END IF;
END $$;
