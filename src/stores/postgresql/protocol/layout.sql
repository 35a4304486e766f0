-- Which of our layouts this is, and how new the routines are. Made last, so that they are there when all the others are.
CREATE OR REPLACE FUNCTION {layout}() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT {LAYOUT}::bigint';
CREATE OR REPLACE FUNCTION {revision}() RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ''{REVISION}''::text';
