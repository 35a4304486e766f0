  -- Where the claim v_own stands.
  SET v_first = (SELECT MIN(expires) FROM {claims} FORCE INDEX (PRIMARY)
                  WHERE name = in_name AND token BETWEEN v_oldest AND v_granted AND expires > v_now
                    AND ttl < {FOREVER}),
      v_head = NOT EXISTS (SELECT 1 FROM {claims} FORCE INDEX (PRIMARY)
                            WHERE name = in_name AND token > v_granted AND token < v_own AND expires > v_now);
