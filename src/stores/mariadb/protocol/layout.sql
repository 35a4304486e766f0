-- The shape of tables and procedures; made last, so that where it is, all of them are. A client refuses a layout that
-- is not its own. It looks at each table, since who may only call procedures sees none of them.
--
-- Out: layout
CREATE PROCEDURE IF NOT EXISTS {layout}()
  READS SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  SELECT 2 AS layout, EXISTS (SELECT 1 FROM {locks}) AS l, EXISTS (SELECT 1 FROM {claims}) AS c,
         EXISTS (SELECT 1 FROM {words}) AS w, EXISTS (SELECT 1 FROM {sweeps}) AS s;
END
