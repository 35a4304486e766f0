-- Others who may write the tables of the database {SCHEMA}, or replace them or the procedures, by grants on that database,
-- or on its tables: as lines of an account, the same for a statement, rights, an object for a statement and "columns" if
-- they are rights to columns, with CHAR(31) between. The maker of procedures, in whose name they run, needs rights.
SELECT CONCAT_WS(CHAR(31), CONCAT(name, '@', host), IF(host = '', QUOTE(name), CONCAT(QUOTE(name), '@', QUOTE(host))), rights,
                 object, part)
  FROM (
    SELECT User AS name, Host AS host, CONCAT('`', REPLACE(Db, '`', '``'), '`.*') AS object, '' AS part,
           CONCAT_WS(', ', IF(Insert_priv = 'Y', 'INSERT', NULL), IF(Update_priv = 'Y', 'UPDATE', NULL),
                     IF(Delete_priv = 'Y', 'DELETE', NULL), IF(Drop_priv = 'Y', 'DROP', NULL),
                     IF(Alter_priv = 'Y', 'ALTER', NULL), IF(Trigger_priv = 'Y', 'TRIGGER', NULL),
                     IF(Alter_routine_priv = 'Y', 'ALTER ROUTINE', NULL),
                     IF(Create_routine_priv = 'Y', 'CREATE ROUTINE', NULL)) AS rights
      FROM mysql.db WHERE '{SCHEMA}' LIKE Db
    UNION ALL
    SELECT User, Host, CONCAT('`', Db, '`.`', Table_name, '`'), '',
           CONCAT_WS(', ', IF(FIND_IN_SET('Insert', Table_priv), 'INSERT', NULL),
                     IF(FIND_IN_SET('Update', Table_priv), 'UPDATE', NULL),
                     IF(FIND_IN_SET('Delete', Table_priv), 'DELETE', NULL), IF(FIND_IN_SET('Drop', Table_priv), 'DROP', NULL),
                     IF(FIND_IN_SET('Alter', Table_priv), 'ALTER', NULL),
                     IF(FIND_IN_SET('Trigger', Table_priv), 'TRIGGER', NULL))
      FROM mysql.tables_priv WHERE Db = '{SCHEMA}' AND Table_name IN ({TABLES})
    UNION ALL
    SELECT User, Host, CONCAT('`', Db, '`.`', Table_name, '`'), 'columns',
           CONCAT_WS(', ', IF(FIND_IN_SET('Insert', Column_priv), 'INSERT', NULL),
                     IF(FIND_IN_SET('Update', Column_priv), 'UPDATE', NULL))
      FROM mysql.tables_priv WHERE Db = '{SCHEMA}' AND Table_name IN ({TABLES})
  ) AS found
 WHERE rights <> '' AND CONCAT(name, '@', host) <> CURRENT_USER() AND CONCAT(name, '@', host) NOT IN (
         SELECT definer FROM information_schema.routines
          WHERE routine_schema = '{SCHEMA}' AND routine_name IN ({PROCEDURES}))
