-- What keeps dead row versions from being removed, with its age in seconds, the oldest first: transactions of this
-- database that are prepared, or that have a snapshot or have written. What this user may not see has no age.
SELECT kind, who, age FROM (
  SELECT 'prepared', p.gid, floor(extract(epoch FROM clock_timestamp() - p.prepared))::bigint
    FROM pg_prepared_xacts p WHERE p.database = current_database()
  UNION ALL
  SELECT 'session', a.pid::text, floor(extract(epoch FROM clock_timestamp() - a.xact_start))::bigint
    FROM pg_stat_activity a
   WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
     AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
  UNION ALL
  SELECT 'hidden', a.pid::text, NULL
    FROM pg_stat_activity a
   WHERE a.datname = current_database() AND a.usesysid IS NOT NULL AND a.backend_type IS NULL
) AS found(kind, who, age) ORDER BY age DESC NULLS LAST
