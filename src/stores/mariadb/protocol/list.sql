-- For older clients: one row a name that is held or waited for; with idle, every name. One statement, and so of one
-- moment, without a lock.
CREATE PROCEDURE IF NOT EXISTS {list}(in_idle BOOLEAN)
  READS SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 1'
BEGIN
  DECLARE v_now BIGINT DEFAULT UNIX_TIMESTAMP(SYSDATE(6)) * 1000000;
  SELECT l.name, l.token, l.capacity,
         (SELECT COUNT(*) FROM {claims} AS h FORCE INDEX (PRIMARY)
           WHERE h.name = l.name AND h.token <= l.granted AND h.expires > v_now AND NOT {GONE h}) AS holders,
         (SELECT COUNT(*) FROM {claims} AS w FORCE INDEX (PRIMARY)
           WHERE w.name = l.name AND w.token > l.granted AND w.expires > v_now AND NOT {GONE w}) AS waiters,
         f.weight, v_now - f.since AS held_for, f.metadata, f.token AS holder_token
    FROM {locks} AS l
    LEFT JOIN {claims} AS f FORCE INDEX (PRIMARY)
      ON f.name = l.name
     AND f.token = (SELECT MIN(c.token) FROM {claims} AS c FORCE INDEX (PRIMARY)
                     WHERE c.name = l.name AND c.token <= l.granted AND c.expires > v_now AND NOT {GONE c})
   WHERE in_idle OR EXISTS (SELECT 1 FROM {claims} AS c FORCE INDEX (PRIMARY)
                             WHERE c.name = l.name AND c.expires > v_now AND NOT {GONE c})
   ORDER BY l.name;
END
