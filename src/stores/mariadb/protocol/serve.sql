  -- Hand the name on: grant it to as many of the first waiters as now fit together, and tell exactly those. Dead
  -- claims are passed over, and deleted once they have been; those of sessions that are over, at once. The waiters
  -- behind the first who does not fit are not looked at, so the cost does not grow with the queue. Behind a claim that
  -- ends with its session that one is told that it is the first, since it has to look whether that is over.
  IF v_last > v_granted THEN BEGIN
    DECLARE v_at BIGINT DEFAULT v_oldest - 1;
    DECLARE v_upto BIGINT DEFAULT v_granted;
    DECLARE v_room, v_next, v_weight BIGINT;
    DECLARE v_owner, v_client BINARY(16);
    DECLARE v_gone, v_ends, v_fits BOOLEAN;
    DECLARE v_lasting BOOLEAN DEFAULT FALSE;
    serving: LOOP
      SET v_next = NULL;
      SELECT token, weight, owner, client, {GONE c}, ttl >= {FOREVER}
        INTO v_next, v_weight, v_owner, v_client, v_gone, v_ends
        FROM {claims} AS c FORCE INDEX (PRIMARY)
       WHERE name = in_name AND token > v_at AND expires > v_now AND (token > v_granted OR {GONE c})
       ORDER BY token LIMIT 1;
      IF v_next IS NULL THEN LEAVE serving; END IF;
      SET v_at = v_next;
      IF v_gone THEN
        DELETE FROM {claims} WHERE name = in_name AND token = v_next;
        ITERATE serving;
      END IF;
      IF v_room IS NULL THEN -- the first that waits: whoever is gone does not hold any more
        SELECT v_capacity - COALESCE(SUM(weight), 0) INTO v_room FROM {claims} FORCE INDEX (PRIMARY)
         WHERE name = in_name AND token BETWEEN v_oldest AND v_granted AND expires > v_now;
      END IF;
      SET v_fits = v_weight <= v_room;
      IF NOT v_fits AND NOT v_lasting THEN LEAVE serving; END IF;
      INSERT INTO {words} (client, owner, token, told) VALUES (v_client, v_owner, IF(v_fits, v_next, 0), v_now)
          ON DUPLICATE KEY UPDATE told = v_now;
      IF LOCATE(v_client, v_told) = 0 THEN SET v_told = CONCAT(v_told, v_client); END IF;
      IF NOT v_fits THEN LEAVE serving; END IF;
      UPDATE {claims} FORCE INDEX (PRIMARY) SET since = v_now WHERE name = in_name AND token = v_next;
      SET v_upto = v_next, v_room = v_room - v_weight, v_lasting = v_lasting OR v_ends;
      IF v_room = 0 AND NOT v_lasting THEN LEAVE serving; END IF;
    END LOOP;
    IF v_upto > v_granted THEN
      UPDATE {locks} FORCE INDEX (PRIMARY) SET granted = v_upto WHERE name = in_name;
      DELETE c FROM {claims} AS c FORCE INDEX (PRIMARY)
       WHERE c.name = in_name AND c.token BETWEEN v_oldest AND v_upto AND c.expires <= v_now;
    END IF;
  END; END IF;
