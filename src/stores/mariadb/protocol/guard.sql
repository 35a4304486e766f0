-- Begins a script: leaves the procedures of another layout as they are. No statement outside of procedures raises an error
-- of its own, so a column is named like the reason. A client that goes on after that changes nothing, since its
-- transactions are read-only.

-- find
SET @holdfast_other = (
  SELECT COUNT(*) FROM information_schema.routines
   WHERE routine_schema = '{SCHEMA}' AND routine_name = '{LAYOUT}' AND routine_comment LIKE 'Holdfast %'
     AND SUBSTRING_INDEX(SUBSTR(routine_comment, 10), ' ', 1) <> '2')

-- stop
SET @holdfast_next = IF(@holdfast_other, 'SET SESSION TRANSACTION READ ONLY', 'DO 0')

-- prepare
PREPARE holdfast FROM @holdfast_next

-- execute
EXECUTE holdfast

-- say
SET @holdfast_next = IF(@holdfast_other, 'SELECT `the store has another layout: name another table with table=`', 'DO 0')

-- refuse
PREPARE holdfast FROM @holdfast_next
