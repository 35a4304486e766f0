-- Which of our layouts this is: made last, so that it is there when all the others are.
CREATE OR REPLACE FUNCTION {layout}() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT {LAYOUT}::bigint';
