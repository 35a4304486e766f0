  BEGIN
    DECLARE v_client BINARY(16);
    DECLARE v_waited BOOLEAN;
    SELECT client, since > token INTO v_client, v_waited FROM {claims} FORCE INDEX (PRIMARY)
     WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > v_now;
    SET v_done = v_client IS NOT NULL;
    IF v_done THEN
      DELETE FROM {claims} WHERE name = in_name AND token = in_token;
      -- The word of its turn, where its client has not fetched it: nobody waits for that any more.
      IF v_waited THEN
        DELETE w FROM {words} AS w FORCE INDEX (PRIMARY) WHERE w.client = v_client AND w.owner = in_owner;
      END IF;
--@include serve.sql
    END IF;
  END;
