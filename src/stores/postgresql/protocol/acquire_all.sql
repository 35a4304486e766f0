-- Claims that do not wait, in the order of their names, up to the first that is not granted. Lists are the texts of arrays.
-- Names that are free, as most are, are taken by one statement for all; what is more than that, a new name for one, is left
-- to {acquire}. The refusal of a claim sets synchronous_commit off, and what was granted before it has to reach the disk
-- all the same.
--
-- Out: a text: the token of each claim that is granted; and a minus if the next one is refused
CREATE OR REPLACE FUNCTION {acquire_all}(in_names text, in_owners text, in_client bytea, in_weights text,
  in_capacities text, in_ttls text, in_metadata text, OUT answers text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  names text[] := in_names;
  owners bytea[] := in_owners;
  weights bigint[] := in_weights;
  capacities bigint[] := in_capacities;
  ttls bigint[] := in_ttls;
  notes text[] := in_metadata;
  commits text := current_setting('synchronous_commit');
  own oid := CASE WHEN {FOREVER} <= ANY (ttls) THEN (SELECT r.oid FROM pg_roles r WHERE r.rolname = session_user) END;
  at bigint;
  free int;
  refused bigint;
  place bigint;
BEGIN
  -- New names first: who waits for a row that is being made has no other row that somebody else may wait for meanwhile.
  IF (SELECT count(*) FROM {locks} l WHERE l.name = ANY (names)) < cardinality(names) THEN
    INSERT INTO {locks} (name, token, granted, oldest, capacity)
    SELECT w.name, 0, 0, 0, w.capacity FROM unnest(names, capacities) AS w (name, capacity)
     WHERE NOT EXISTS (SELECT FROM {locks} l WHERE l.name = w.name) ORDER BY w.name COLLATE "C"
    ON CONFLICT (name) DO NOTHING;
  END IF;
  PERFORM FROM (SELECT FROM {locks} l WHERE l.name = ANY (names) ORDER BY l.name FOR NO KEY UPDATE) all_rows;
  at := {now}();
  SELECT coalesce(min(w.n) - 1, cardinality(names)) INTO free
    FROM unnest(names, owners, weights, capacities, ttls, notes)
         WITH ORDINALITY AS w (name, owner, weight, capacity, ttl, metadata, n)
   WHERE NOT EXISTS (SELECT FROM {locks} l
                      WHERE l.name = w.name AND l.token = l.granted AND l.token > 0
                        AND w.weight BETWEEN 1 AND w.capacity AND w.ttl > 0 AND length(w.owner) = 16
                        AND length(in_client) = 16 AND octet_length(w.metadata) < 16777216
                        AND NOT EXISTS (SELECT FROM {claims} c
                                         WHERE c.name = l.name AND c.token BETWEEN l.oldest AND l.granted));
  IF free > 0 THEN
    WITH drawn AS (
      UPDATE {locks} l
         SET token = greatest(l.token + 1, at), granted = greatest(l.token + 1, at),
             oldest = greatest(l.token + 1, at), capacity = w.capacity
        FROM unnest(names[:free], owners, weights, capacities, ttls, notes)
             WITH ORDINALITY AS w (name, owner, weight, capacity, ttl, metadata, n)
       WHERE l.name = w.name AND w.n <= free
      RETURNING w.*, l.token
    ), entered AS (
      INSERT INTO {claims} (name, token, owner, client, weight, ttl, expires, since, metadata, login)
      SELECT d.name, d.token, d.owner, in_client, d.weight, d.ttl, at + d.ttl, at, d.metadata,
             CASE WHEN d.ttl >= {FOREVER} THEN own END
        FROM drawn d
    )
    SELECT string_agg(d.token::text, ' ' ORDER BY d.n) INTO answers FROM drawn d;
    IF (SELECT s.watched > 0 OR 0 < ANY (s.watched_names) FROM {sweeps} s WHERE s.id = 1) THEN
      FOR i IN 1 .. free LOOP
        PERFORM {changed}(names[i]);
      END LOOP;
    END IF;
  END IF;
  FOR i IN free + 1 .. cardinality(names) LOOP
    SELECT a.outcome, a.place INTO refused, place
      FROM {acquire}(names[i], owners[i], in_client, weights[i], capacities[i], ttls[i], notes[i], false) a;
    EXIT WHEN refused > 1;
    answers := concat_ws(' ', answers, CASE refused WHEN 0 THEN place::text ELSE '-' END);
    EXIT WHEN refused > 0;
  END LOOP;
  IF answers <> '-' THEN
    PERFORM set_config('synchronous_commit', commits, true);
  END IF;
END $$;
