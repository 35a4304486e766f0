{TRUST}
-- Nobody but the owner executes a routine until a role is granted more, but for those that say what there is. Whoever may
-- execute {acquire} or {inspect_part} may execute what has been added for the same purpose. Other rights stay as they are.
DO $$
DECLARE
  former oid[] := string_to_array(current_setting('holdfast.former'), ' ')::oid[];
  each record;
  grantee text;
BEGIN
  FOR each IN
    SELECT r.signature::regprocedure AS routine, r.access,
           CASE r.access WHEN 'lock' THEN {ACQUIRE}::regprocedure WHEN 'look' THEN {INSPECT_PART}::regprocedure END AS model,
           NOT r.signature::regprocedure::oid = ANY (former) AS is_new
      FROM (VALUES
{SIGNATURES}
      ) AS r(signature, access)
  LOOP
    IF each.access = 'all' THEN
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', each.routine);
      CONTINUE;
    END IF;
    IF each.is_new OR (SELECT p.proacl IS NULL FROM pg_proc p WHERE p.oid = each.routine) THEN
      EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', each.routine);
    END IF;
    CONTINUE WHEN NOT each.is_new OR NOT coalesce(each.model::oid = ANY (former), false);
    FOR grantee IN
      SELECT CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END
        FROM pg_proc p, aclexplode(p.proacl) x
       WHERE p.oid = each.model AND x.privilege_type = 'EXECUTE' AND x.grantee <> p.proowner
    LOOP
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', each.routine, grantee);
    END LOOP;
  END LOOP;
END $$;
