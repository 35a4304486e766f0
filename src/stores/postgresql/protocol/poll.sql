-- What a client is notified of, for one that polls: reads only. Of its claims of these names, with these tokens or above,
-- those that are granted; the first of a queue behind a claim that ends with its session, as in {serve}. Of claims that it
-- holds, with these tokens: those whose holder is asked to release. Lists are the texts of arrays.
--
-- Out: as in a notification: the owner of a claim, and its token; 0: it is the first; or that its holder is asked to release
CREATE OR REPLACE FUNCTION {poll}(in_client bytea, in_names text, in_tokens text, in_held boolean)
RETURNS TABLE (owner bytea, said bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  names text[] := in_names;
  tokens bigint[] := in_tokens;
  at bigint;
BEGIN
  IF in_held THEN
    RETURN QUERY
    SELECT c.owner, -9223372036854775807
      FROM unnest(names, tokens) AS n (name, token)
      JOIN {claims} c ON c.name = n.name AND c.token = n.token
     WHERE c.client = in_client AND position(',"release_request":' IN c.metadata) > 0;
    RETURN;
  END IF;
  at := {now}();
  RETURN QUERY
  SELECT c.owner, CASE WHEN c.token <= l.granted THEN c.token ELSE 0 END
    FROM unnest(names, tokens) AS n (name, token)
    JOIN {locks} l ON l.name = n.name
    JOIN {claims} c ON c.name = n.name AND c.token BETWEEN n.token AND greatest(n.token, l.granted)
   WHERE c.client = in_client
     AND (c.token <= l.granted
          OR (EXISTS (SELECT FROM {claims} h
                       WHERE h.name = n.name AND h.token BETWEEN l.oldest AND l.granted AND h.ttl >= {FOREVER})
              AND NOT EXISTS (SELECT FROM {claims} w
                               WHERE w.name = n.name AND w.token > l.granted AND w.token < n.token AND w.expires > at)));
END $$;
