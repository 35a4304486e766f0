-- What a server says of itself, as rows of a name and a value. $1: the schema; $2: the name of the routine
-- that locks; $3: the routines that clients call, a line each.
-- `careless`: other roles that may lock, whose commits are not durable, and whether that is a setting of the database for
-- all. A role's own setting wins, and that for this database.
WITH careless(rolname, of_all) AS (
  SELECT r.rolname, own.of_all
    FROM pg_roles r JOIN pg_proc p ON p.proname = $2 JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname = $1,
         LATERAL (
           SELECT s.setrole = 0, lower(split_part(c, '=', 2))
             FROM pg_db_role_setting s, unnest(s.setconfig) c
            WHERE s.setrole IN (0, r.oid) AND split_part(c, '=', 1) = 'synchronous_commit'
              AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
            ORDER BY s.setrole <> 0 DESC, s.setdatabase <> 0 DESC LIMIT 1) AS own(of_all, value)
   WHERE r.rolcanlogin AND r.rolname <> current_user AND has_function_privilege(r.oid, p.oid, 'EXECUTE')
     AND own.value IN ('off', 'false', 'no', '0')),
  called(name, is_denied, place) AS (
  SELECT p.proname::text, NOT has_function_privilege(p.oid, 'EXECUTE'), array_position(all_called, signature)
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace,
         LATERAL (SELECT p.proname || '(' || oidvectortypes(p.proargtypes) || ')', string_to_array($3, chr(10))) AS s(signature, all_called)
   WHERE n.nspname = $1 AND signature = ANY (all_called) AND has_schema_privilege(n.oid, 'USAGE'))
SELECT name, value FROM (VALUES
  ('routines', (SELECT count(*)::text FROM called)),
  ('lacking', (SELECT string_agg(name, ' ' ORDER BY place) FROM called WHERE is_denied)),
  ('version', current_setting('server_version')),
  ('user', quote_ident(current_user)),
  ('standby', pg_is_in_recovery()::text),
  ('fsync', current_setting('fsync')),
  ('full_page_writes', current_setting('full_page_writes')),
  ('synchronous_commit', current_setting('synchronous_commit')),
  ('synchronous_standby_names', current_setting('synchronous_standby_names')),
  -- Superusers may do everything, but seldom lock.
  ('careless', coalesce(
    CASE current_setting('synchronous_commit') WHEN 'off' THEN 'synchronous_commit is off' END,
    (SELECT 'synchronous_commit is off for the role ' || min(rolname) || ', which may lock' FROM careless WHERE NOT of_all),
    (SELECT 'synchronous_commit is off for the database ' || current_database() || ', and so for roles without a setting'
      WHERE EXISTS (SELECT FROM careless JOIN pg_roles r USING (rolname) WHERE of_all AND NOT r.rolsuper)))),
  -- A session that receives the log for a logical subscriber is no standby.
  ('standbys', (
    SELECT count(*)::text FROM pg_stat_replication a
     WHERE a.state IS DISTINCT FROM 'backup'
       AND NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = a.pid AND s.slot_type = 'logical'))),
  -- How many standbys a commit waits for: "FIRST 2 (a, b)", "ANY 2 (*)", "2 (a, b)", "a, b".
  ('wanted', coalesce((
    regexp_match(current_setting('synchronous_standby_names'), '^\s*(?:(?:first|any)\s+)?(\d+)\s*\(', 'i'))[1], '1')),
  -- Made for a standby, which is not connected.
  ('idle_slots', (
    SELECT count(*)::text FROM pg_replication_slots WHERE slot_type = 'physical' AND NOT active AND NOT temporary)),
  ('synchronous_standbys', (
    SELECT count(*)::text FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))),
  ('sees_all', pg_has_role('pg_read_all_stats', 'USAGE')::text),
  ('uses_schema', (
    SELECT has_schema_privilege(n.oid, 'USAGE')::text FROM pg_namespace n WHERE n.nspname = $1)),
  ('may_make', (
    SELECT CASE WHEN has_schema_privilege(n.oid, 'CREATE') THEN 'yes' ELSE 'no' END FROM pg_namespace n WHERE n.nspname = $1))
) AS said(name, value) WHERE value IS NOT NULL
