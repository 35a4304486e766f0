-- Whose objects a client may run: those of the user itself, of superusers, of the database's owner, of roles that one of
-- these has made the user a member of (in older servers anybody may make anybody a member of himself), and of the role
-- that the URL names. And what of the store there is, with its owners. One statement: all of it is of one moment.
WITH RECURSIVE
  chief(oid) AS (
    SELECT oid FROM pg_roles WHERE rolsuper
    UNION SELECT datdba FROM pg_database WHERE datname = current_database()),
  own(oid) AS (
    SELECT oid FROM pg_roles WHERE rolname IN (current_user, session_user)
    UNION SELECT m.roleid FROM pg_auth_members m JOIN own ON own.oid = m.member
           WHERE m.grantor IN (SELECT oid FROM chief)),
  trusted(oid) AS (
    SELECT oid FROM own
    UNION SELECT oid FROM chief
    UNION SELECT oid FROM pg_roles WHERE rolname IN ('pg_database_owner', {OWNER}::text)),
  ours(oid) AS (
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = {SCHEMA}::text AND c.relname = ANY (string_to_array({TABLES}::text, chr(10)))),
  part(kind, name, owner) AS (
    SELECT 'schema', n.nspname::text, n.nspowner FROM pg_namespace n WHERE n.nspname = {SCHEMA}::text
    UNION ALL
    SELECT 'table', c.relname::text, c.relowner FROM pg_class c JOIN ours USING (oid)
    UNION ALL
    SELECT 'trigger function', p.proname::text, p.proowner
      FROM pg_trigger t JOIN ours ON ours.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
     WHERE NOT t.tgisinternal
    UNION ALL
    SELECT 'routine', p.proname::text, p.proowner
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE n.nspname = {SCHEMA}::text
       AND p.proname || '(' || oidvectortypes(p.proargtypes) || ')' = ANY (string_to_array({ROUTINES}::text, chr(10))))
