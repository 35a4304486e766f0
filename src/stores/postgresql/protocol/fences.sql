-- What a resource in this database needs to check fencing tokens; run in one transaction.

-- What there is before anything is made. Rights to it that were changed since it was made are left as they are.
DO $$ BEGIN
  PERFORM set_config('holdfast.former',
    concat_ws(' ', CASE WHEN to_regclass('{fences}') IS NOT NULL THEN 'TABLE' END,
              CASE WHEN to_regprocedure('{fence}(text, bigint)') IS NOT NULL THEN 'FUNCTION' END), true);
END $$;

CREATE TABLE IF NOT EXISTS {fences} (
  resource text COLLATE "C" PRIMARY KEY,  -- compared byte for byte
  token    bigint NOT NULL                -- the largest seen
) WITH (fillfactor = 50);

DO $$ BEGIN
  IF (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute
       WHERE attrelid = to_regclass('{fences}') AND attnum > 0 AND NOT attisdropped) <> 'resource text, token bigint'
  THEN
    RAISE EXCEPTION USING ERRCODE = '{STRANGER}', MESSAGE = 'the table {fences} is not Holdfast''s';
  END IF;
END $$;

{TRUST}
-- A transaction calls it first, in a statement of its own. It locks the row of the resource until the transaction ends, and
-- raises {FENCED} if a larger token has been there. The row is locked also where the token stays as it is. A transaction
-- that is REPEATABLE READ or SERIALIZABLE fails with 40001 if it has waited for another.
CREATE OR REPLACE FUNCTION {fence}(in_resource text, in_token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  seen bigint;
BEGIN
  IF in_resource IS NULL OR in_token IS NULL OR in_token <= 0 THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a fence takes the name of a resource and a token above 0';
  END IF;
  INSERT INTO {fences} AS f (resource, token) VALUES (in_resource, in_token)
  ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token;
  IF FOUND THEN
    RETURN;
  END IF;
  SELECT f.token INTO seen FROM {fences} f WHERE f.resource = in_resource;
  RAISE EXCEPTION USING ERRCODE = '{FENCED}',
    MESSAGE = format('the fencing token %s is older than %s, the largest seen for "%s"', in_token, seen, in_resource),
    HINT = 'The lease has ended, and another holder has been here since. Roll back, and acquire the lock again.';
END $$;

{TRUST}
-- Nobody but the owner has a right to what is new until a role is granted more. Default privileges may have granted rights:
-- a role that writes the table lowers tokens, and a trigger on it runs with the rights of the routine's owner.
DO $$
DECLARE
  former text[] := string_to_array(current_setting('holdfast.former'), ' ');
  revocation text;
BEGIN
  FOR revocation IN
    SELECT format('REVOKE ALL ON %s %s FROM %s', o.kind, o.name,
                  CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
      FROM (SELECT 'TABLE', '{fences}', relowner, relacl, acldefault('r', relowner)
              FROM pg_class WHERE oid = '{fences}'::regclass
            UNION ALL
            SELECT 'FUNCTION', '{fence}(text, bigint)', proowner, proacl, acldefault('f', proowner)
              FROM pg_proc WHERE oid = '{fence}(text, bigint)'::regprocedure) AS o(kind, name, owner, acl, initial),
           aclexplode(coalesce(o.acl, o.initial)) x
     WHERE x.grantee <> o.owner AND (o.acl IS NULL OR o.kind <> ALL (former))
  LOOP
    EXECUTE revocation;
  END LOOP;
END $$;
