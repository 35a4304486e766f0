-- Ends a script before it replaces the procedures of another layout: a column is named like the reason, since outside of
-- procedures no statement raises an error of its own.

-- look
SET @holdfast = IF(
  EXISTS (SELECT 1 FROM information_schema.routines
           WHERE routine_schema = '{SCHEMA}' AND routine_name = '{LAYOUT}' AND routine_comment LIKE 'Holdfast %'
             AND SUBSTRING_INDEX(SUBSTR(routine_comment, 10), ' ', 1) <> '2'),
  'SELECT `the store has another layout: name another table with table=`', 'DO 0')

-- prepare
PREPARE holdfast FROM @holdfast

-- refuse
EXECUTE holdfast

-- forget
DEALLOCATE PREPARE holdfast
