  -- Where the claim v_own stands.
  SELECT MIN(expires) INTO v_first FROM {claims} FORCE INDEX (PRIMARY)
   WHERE name = in_name AND token BETWEEN v_oldest AND v_granted AND expires > v_now AND ttl < {FOREVER};
  IF v_last > v_granted THEN
--@include bury.sql
  END IF;
  SET v_head = COALESCE(v_waiter >= v_own, TRUE);
