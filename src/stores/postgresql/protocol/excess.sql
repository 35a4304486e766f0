-- Follows `owners`, with $1 for {OWNER}: rights that nobody needs, as rows of a role, a right and its object. $2: the
-- schema; $3: the routines that only roles may execute that lock, a line each.
  , acting(oid, as_role) AS (
    SELECT m.member, m.roleid FROM pg_auth_members m
     WHERE m.roleid IN (SELECT owner FROM part) OR pg_get_userbyid(m.roleid) = 'pg_write_all_data'
    UNION SELECT m.member, m.roleid FROM pg_auth_members m JOIN acting ON acting.oid = m.roleid)
SELECT CASE x.grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(x.grantee)::text END, x.privilege_type, x.kind, x.name
  FROM (
    SELECT 'TABLE', c.relname::text, c.relowner, a.grantee, a.privilege_type
      FROM pg_class c JOIN ours USING (oid), aclexplode(c.relacl) a
     WHERE a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER')
    UNION ALL
    SELECT 'TABLE', c.relname::text, c.relowner, x.grantee, x.privilege_type || ' (' || quote_ident(a.attname) || ')'
      FROM pg_class c JOIN ours USING (oid) JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped,
           aclexplode(a.attacl) x
     WHERE x.privilege_type IN ('SELECT', 'INSERT', 'UPDATE')
    UNION ALL
    SELECT 'SCHEMA', n.nspname::text, n.nspowner, a.grantee, a.privilege_type
      FROM pg_namespace n, aclexplode(n.nspacl) a
     WHERE n.nspname = $2 AND a.privilege_type = 'CREATE'
    UNION ALL
    SELECT 'FUNCTION', p.proname || '(' || oidvectortypes(p.proargtypes) || ')', p.proowner, a.grantee, a.privilege_type
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace,
           aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     WHERE n.nspname = $2 AND a.grantee = 0
       AND p.proname || '(' || oidvectortypes(p.proargtypes) || ')' = ANY (string_to_array($3, chr(10)))
    UNION ALL
    -- A member may act as the role itself.
    SELECT 'ROLE', pg_get_userbyid(a.as_role)::text, a.as_role, a.oid, 'MEMBER' FROM acting a
  ) AS x(kind, name, owner, grantee, privilege_type)
 WHERE x.grantee <> x.owner AND x.grantee NOT IN (SELECT oid FROM trusted)
 ORDER BY 1, 3, 4, 2
