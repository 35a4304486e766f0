-- Follows `owners`, with $1 for {OWNER}: rights that nobody needs, as rows of a role, a kind, rights, objects, both as a
-- statement has them, and whether they write. $2: the schema; $3: the routines that only roles may execute that lock, a
-- line each.
SELECT CASE x.grantee WHEN 0 THEN 'everybody' ELSE 'the role ' || pg_get_userbyid(x.grantee) END, x.kind,
       string_agg(DISTINCT x.privilege_type, ', '), string_agg(DISTINCT x.name, ', '), string_agg(DISTINCT x.full_name, ', '),
       CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END,
       bool_or(x.privilege_type NOT LIKE 'SELECT%')::text
  FROM (
    SELECT 'TABLE', c.relname::text, format('%I.%I', $2::text, c.relname), c.relowner, a.grantee, a.privilege_type
      FROM pg_class c JOIN ours USING (oid), aclexplode(c.relacl) a
     WHERE a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER')
    UNION ALL
    SELECT 'SCHEMA', n.nspname::text, quote_ident(n.nspname), n.nspowner, a.grantee, a.privilege_type
      FROM pg_namespace n, aclexplode(n.nspacl) a
     WHERE n.nspname = $2 AND a.privilege_type = 'CREATE'
    UNION ALL
    SELECT 'FUNCTION', p.proname || '(' || oidvectortypes(p.proargtypes) || ')',
           format('%I.%I(%s)', $2::text, p.proname, oidvectortypes(p.proargtypes)), p.proowner, a.grantee, a.privilege_type
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace,
           aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     WHERE n.nspname = $2 AND a.grantee = 0
       AND p.proname || '(' || oidvectortypes(p.proargtypes) || ')' = ANY (string_to_array($3, chr(10)))
  ) AS x(kind, name, full_name, owner, grantee, privilege_type)
 WHERE x.grantee <> x.owner AND x.grantee NOT IN (SELECT oid FROM trusted)
 GROUP BY x.grantee, x.kind, CASE x.kind WHEN 'FUNCTION' THEN '' ELSE x.name END ORDER BY 1, 2, 4
