    at := {now}();
    IF its_ttl >= {FOREVER} THEN
      PERFORM FROM {claims} c
        WHERE c.name = of_name AND c.token = own AND c.owner = of_owner AND c.client = {OWN} AND c.expires > at
          AND c.token <= upto;
    ELSE
      UPDATE {claims} SET expires = at + its_ttl
       WHERE name = of_name AND token = own AND owner = of_owner AND expires > at AND token <= upto;
    END IF;
    kept := kept || CASE WHEN FOUND THEN '1' ELSE '0' END;
  END LOOP;
END $$;
