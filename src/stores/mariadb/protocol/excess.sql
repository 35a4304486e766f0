-- Rights to write the tables of the database {SCHEMA}, or to replace them or the procedures, that nobody needs: those of
-- this user, and rights to all databases of others who are no administrators. Who may not see the others sees itself. As
-- lines of an account, the same for a statement, rights, an object for a statement and "columns" if they are rights to
-- columns, with CHAR(31) between. The maker of procedures, in whose name they run, needs rights to its database.
SELECT CONCAT_WS(CHAR(31), CONCAT(name, '@', host), IF(host = '', QUOTE(name), CONCAT(QUOTE(name), '@', QUOTE(host))),
                 GROUP_CONCAT(DISTINCT privilege ORDER BY privilege SEPARATOR ', '), object, part)
  FROM (
    -- A grantee is 'name'@'host', in which nothing is escaped.
    SELECT SUBSTRING(LEFT(grantee, CHAR_LENGTH(grantee) - CHAR_LENGTH(SUBSTRING_INDEX(grantee, '''@''', -1)) - 3), 2) AS name,
           TRIM(TRAILING '''' FROM SUBSTRING_INDEX(grantee, '''@''', -1)) AS host, grantee, privilege, object, part
      FROM (
        SELECT grantee, privilege_type AS privilege, '*.*' AS object, '' AS part FROM information_schema.user_privileges
        UNION ALL
        SELECT grantee, privilege_type, CONCAT('`', REPLACE(table_schema, '`', '``'), '`.*'), ''
          FROM information_schema.schema_privileges WHERE '{SCHEMA}' LIKE table_schema
        UNION ALL
        SELECT grantee, privilege_type, CONCAT('`', table_schema, '`.`', table_name, '`'), ''
          FROM information_schema.table_privileges WHERE table_schema = '{SCHEMA}' AND table_name IN ({TABLES})
        UNION ALL
        SELECT grantee, privilege_type, CONCAT('`', table_schema, '`.`', table_name, '`'), 'columns'
          FROM information_schema.column_privileges WHERE table_schema = '{SCHEMA}' AND table_name IN ({TABLES})
      ) AS granted
     WHERE privilege IN ('INSERT', 'UPDATE', 'DELETE', 'DROP', 'ALTER', 'TRIGGER', 'CREATE ROUTINE', 'ALTER ROUTINE', 'SUPER')
  ) AS found
 WHERE CONCAT(name, '@', host) = CURRENT_USER() AND (object = '*.*' OR EXISTS (
         SELECT 1 FROM information_schema.routines
          WHERE routine_schema = '{SCHEMA}' AND definer <> CURRENT_USER() AND routine_name IN ({PROCEDURES})))
    OR object = '*.*' AND NOT EXISTS (
         SELECT 1 FROM information_schema.user_privileges AS administrator
          WHERE administrator.grantee = found.grantee AND administrator.privilege_type = 'SUPER')
 GROUP BY name, host, object, part
