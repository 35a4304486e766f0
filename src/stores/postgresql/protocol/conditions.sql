-- What a server says of itself, as rows of a name and a value. $1: the schema; $2, $3: the beginning of the names of tables
-- and routines, and the name of the routine that locks.
SELECT name, value FROM (VALUES
  ('version', current_setting('server_version')),
  ('user', current_user::text),
  ('standby', pg_is_in_recovery()::text),
  ('read_only', current_setting('default_transaction_read_only')),
  ('encoding', current_setting('server_encoding')),
  ('fsync', current_setting('fsync')),
  ('full_page_writes', current_setting('full_page_writes')),
  ('synchronous_commit', current_setting('synchronous_commit')),
  ('synchronous_standby_names', current_setting('synchronous_standby_names')),
  ('autovacuum', current_setting('autovacuum')),
  ('track_counts', current_setting('track_counts')),
  -- Tables of the store that autovacuum passes over.
  ('not_vacuumed', (
    SELECT min(c.oid::text || ' ' || c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind = 'r' AND starts_with(c.relname, $2)
       AND c.reloptions && ARRAY['autovacuum_enabled=false', 'autovacuum_enabled=off'])),
  -- Another role that may lock, whose commits are not durable.
  ('careless', (
    SELECT min(r.rolname) FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole
      JOIN pg_proc p ON p.proname = $3 JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname = $1
     WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
       AND has_function_privilege(r.oid, p.oid, 'EXECUTE') AND r.rolname <> current_user
       AND s.setconfig && ARRAY['synchronous_commit=off', 'synchronous_commit=false', 'synchronous_commit=no',
                                'synchronous_commit=0'])),
  -- A session that receives the log for a logical subscriber is no standby.
  ('standbys', (
    SELECT count(*)::text FROM pg_stat_replication a
     WHERE a.state IS DISTINCT FROM 'backup'
       AND NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = a.pid AND s.slot_type = 'logical'))),
  ('synchronous_standbys', (
    SELECT count(*)::text FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))),
  ('sees_all', pg_has_role('pg_read_all_stats', 'USAGE')::text),
  -- An auxiliary process has no user.
  ('connections', (
    SELECT count(*)::text FROM pg_stat_activity
     WHERE usesysid IS NOT NULL AND datid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend')),
  ('most_connections',
    (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int)::text),
  ('uses_schema', (
    SELECT has_schema_privilege(n.oid, 'USAGE')::text FROM pg_namespace n WHERE n.nspname = $1)),
  ('creates', (
    SELECT has_schema_privilege(n.oid, 'CREATE')::text FROM pg_namespace n WHERE n.nspname = $1))
) AS said(name, value) WHERE value IS NOT NULL
