-- Ask the holders of a name with a token from in_token to in_last to release: the request stands at the end of the
-- metadata, in place of a former one, and their clients are told.
CREATE OR REPLACE FUNCTION {request_release}(in_name text, in_token bigint, in_last bigint, in_reason text,
  OUT holders bigint)
--@include locals.sql
  c record;
BEGIN
  holders := 0;
--@include lock.sql
  IF NOT FOUND THEN
    RETURN;
  END IF;
  at := {now}();
  FOR c IN SELECT h.token, h.owner, h.client, h.login, h.ttl
             FROM {claims} h
            WHERE h.name = in_name AND h.token BETWEEN greatest(low, in_token) AND least(upto, in_last)
              AND h.expires > at
  LOOP
    CONTINUE WHEN c.ttl >= {FOREVER} AND {gone}(c.client, c.login);
    holders := holders + 1;
    -- Quotes are escaped within JSON: the mark occurs nowhere else.
    UPDATE {claims} h
       SET metadata = CASE WHEN position(',"release_request":' IN h.metadata) > 0
                           THEN left(h.metadata, position(',"release_request":' IN h.metadata) - 1)
                           ELSE left(h.metadata, -1) END
                      || ',"release_request":' || to_json(left(in_reason, 200))::text || '}'
     WHERE h.name = in_name AND h.token = c.token AND h.metadata LIKE '%}';
    PERFORM pg_notify('holdfast_' || encode(c.client, 'hex'), encode(c.owner, 'hex') || ' -9223372036854775807');
  END LOOP;
  IF holders > 0 THEN
    PERFORM {changed}(in_name);
  END IF;
END $$;
