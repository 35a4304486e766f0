-- Take a place in the queue of a name. Whoever is its head, and fits, holds at once.
--
-- Out: outcome (0 a place, 1 refused, 2 in use with the capacity in `place`), and the place
CREATE OR REPLACE FUNCTION {acquire}(in_name text, in_owner bytea, in_client bytea, in_weight bigint,
  in_capacity bigint, in_ttl bigint, in_metadata text, in_wait boolean,
  OUT outcome bigint, OUT place bigint, OUT is_granted bigint, OUT is_head bigint, OUT holder_left bigint)
--@include locals.sql
  held bigint;
  eldest bigint;
  dead bigint;
  head boolean;
  other boolean;
  fits boolean;
BEGIN
  -- Whoever may call this may write no table: other numbers would let two hold.
  IF NOT coalesce(in_weight BETWEEN 1 AND in_capacity AND in_ttl > 0, false) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a claim has a weight from 1 to the capacity, and a ttl above 0';
  END IF;
  -- The server sends a long id no notification: nobody could serve its queue, or release before it.
  -- What is longer than on the other stores would keep others from reading the name.
  IF NOT coalesce(length(in_owner) = 16 AND length(in_client) = 16 AND octet_length(in_name) <= 512, false)
     OR octet_length(in_metadata) >= 16777216 THEN
    RAISE EXCEPTION USING ERRCODE = '22023',
      MESSAGE = 'a claim has a name of 512 bytes at most, ids of 16 bytes, and metadata of less than 16 MiB';
  END IF;
  LOOP
    SELECT l.token, l.granted, l.oldest, l.capacity INTO last, upto, low, room
      FROM {locks} l WHERE l.name = in_name FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO {locks} (name, token, granted, oldest, capacity) VALUES (in_name, 0, 0, 0, in_capacity)
    ON CONFLICT (name) DO NOTHING;
  END LOOP;
  at := {now}();
  LOOP
    held := 0;
    dead := 0;
    eldest := NULL;
    -- A name that is free, as most are, is found to be in few steps.
    IF EXISTS (SELECT FROM {claims} h WHERE h.name = in_name AND h.token BETWEEN low AND upto) THEN
      SELECT coalesce(sum(h.weight) FILTER (WHERE h.expires > at), 0),
             min(h.expires) FILTER (WHERE h.expires > at AND h.ttl < {FOREVER}) - at,
             min(h.token) FILTER (WHERE h.expires > at),
             count(*) FILTER (WHERE h.expires <= at)
        INTO held, holder_left, eldest, dead
        FROM {claims} h WHERE h.name = in_name AND h.token BETWEEN low AND upto;
    END IF;
    -- Nobody can wait where all that were drawn have been granted; but a row that is new, under claims that
    -- have lost theirs, knows of none.
    head := last = upto AND last > 0;
    IF NOT head THEN
      head := NOT EXISTS (SELECT FROM {claims} w WHERE w.name = in_name AND w.token > upto AND w.expires > at);
    END IF;
    other := room <> in_capacity AND (held > 0 OR NOT head);
    fits := head AND held <= in_capacity - in_weight AND NOT other;  -- a sum may be out of range
    EXIT WHEN fits OR NOT {bury}(in_name, at, low, upto);
  END LOOP;
  IF other THEN
    outcome := 2;
    place := room;
  ELSIF NOT fits AND NOT in_wait THEN
    outcome := 1;
  END IF;
  IF outcome > 0 THEN
    -- Nothing was written but that the row was locked, or that the dead were removed: not worth a wait for the disk.
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN;
  END IF;
  outcome := 0;
  place := greatest(last + 1, at);
  is_granted := fits::int;
  is_head := head::int;
  UPDATE {locks}
     SET token = place, granted = CASE WHEN fits THEN place ELSE upto END,
         oldest = coalesce(eldest, CASE WHEN fits THEN place ELSE low END), capacity = in_capacity
   WHERE name = in_name;
  INSERT INTO {claims} (name, token, owner, client, weight, ttl, expires, since, metadata, login)
  VALUES (in_name, place, in_owner, in_client, in_weight, in_ttl, at + in_ttl, at, in_metadata,
          CASE WHEN in_ttl >= {FOREVER} THEN (SELECT r.oid FROM pg_roles r WHERE r.rolname = session_user) END);
  -- The dead below what is granted now, waiters that were passed over among them: a clock that goes back must not
  -- make holders of them.
  IF dead > 0 OR (fits AND last > upto) THEN
    DELETE FROM {claims} c
     WHERE c.name = in_name AND c.token BETWEEN low AND CASE WHEN fits THEN place ELSE upto END
       AND c.expires <= at;
  END IF;
  PERFORM {changed}(in_name);
END $$;
