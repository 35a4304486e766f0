-- Which routines this user may execute. $1: the schema; $2: the beginning of their names.
SELECT p.proname || '(' || oidvectortypes(p.proargtypes) || ')', has_function_privilege(p.oid, 'EXECUTE')
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
 WHERE n.nspname = $1 AND starts_with(p.proname, $2)
