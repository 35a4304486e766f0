-- What there is of the fences of the database {SCHEMA}: the comments of the table {FENCES} and of the procedure {FENCE}.
-- Anybody may write a comment, so a word is added to that of an object which this user would make otherwise. A procedure of
-- another user has that user's rights, and its maker may alter it. A trigger may lower tokens.
SELECT CONCAT(IF(engine = 'InnoDB' AND
                 (SELECT GROUP_CONCAT(column_name, ' ', data_type, ' ', column_key ORDER BY ordinal_position SEPARATOR ', ')
                    FROM information_schema.columns WHERE table_schema = '{SCHEMA}' AND table_name = '{FENCES}')
                 = 'resource varbinary PRI, token bigint ' AND
                 NOT EXISTS (SELECT 1 FROM information_schema.triggers
                              WHERE event_object_schema = '{SCHEMA}' AND event_object_table = '{FENCES}'),
                 '', 'altered '), table_comment) AS said
  FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name = '{FENCES}'
UNION ALL
SELECT CONCAT(routine_comment, IF(security_type = 'DEFINER' AND definer = CURRENT_USER(), '', ' of another'))
  FROM information_schema.routines
 WHERE routine_schema = '{SCHEMA}' AND routine_type = 'PROCEDURE' AND routine_name = '{FENCE}'
 ORDER BY said
