-- The shape of tables and procedures; made last, so that where it is, all of them are. A client refuses a layout that
-- is not its own.
--
-- Out: layout
CREATE PROCEDURE IF NOT EXISTS {layout}()
  NO SQL SQL SECURITY INVOKER COMMENT 'Holdfast 1'
BEGIN
  SELECT 1 AS layout;
END
