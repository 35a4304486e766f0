{TRUST}
-- Nobody but the owner executes a routine until a role is granted more, but for those that say what there is. Whoever may
-- execute {acquire} or {inspect_part} may execute what has been added for the same purpose. Other rights stay as they are.
-- New tables and routines may have got rights from the default privileges: a trigger runs with the rights of the owner.
DO $$
DECLARE
  former oid[] := string_to_array(current_setting('holdfast.former'), ' ')::oid[];
  each record;
  former_tables oid[] := string_to_array(current_setting('holdfast.former_tables'), ' ')::oid[];
  grantee text;
  revocation text;
BEGIN
  FOR revocation IN
    SELECT format('REVOKE ALL ON TABLE %s FROM %s', c.oid::regclass,
                  CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
      FROM pg_class c, aclexplode(c.relacl) x
     WHERE c.oid IN ('{locks}'::regclass, '{claims}'::regclass, '{sweeps}'::regclass)
       AND c.oid <> ALL (former_tables) AND x.grantee <> c.relowner
  LOOP
    EXECUTE revocation;
  END LOOP;
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
    FOR revocation IN
      SELECT format('REVOKE ALL ON FUNCTION %s FROM %s', each.routine,
                    CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
        FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
       WHERE p.oid = each.routine AND (each.is_new OR p.proacl IS NULL) AND x.grantee <> p.proowner
    LOOP
      EXECUTE revocation;
    END LOOP;
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
