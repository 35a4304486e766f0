  DELETE FROM {claims} WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > v_now;
  SET v_done = ROW_COUNT();
  IF v_done > 0 THEN
--@include serve.sql
  END IF;
