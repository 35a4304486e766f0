-- A part of a name's claims, in the order of the queue: those behind in_after and up to in_upto, and those that hold. So
-- many at most, living or not, so that no queue keeps a session for long; the next call reads on. Of longer texts than
-- 15 kB the beginning. A claim that ends with its session has no time of its own, and is shown with the one that its
-- client has for it. One statement, and so of one moment, without a lock.
--
-- Out: the name, in a row without a place; then its claims
CREATE PROCEDURE IF NOT EXISTS {inspect_part}(in_name VARBINARY(512), in_after BIGINT, in_upto BIGINT, in_most INT)
  READS SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_now BIGINT DEFAULT UNIX_TIMESTAMP(SYSDATE(6)) * 1000000;
  -- Not joined: the server would read all claims of a long queue, and sort them.
  (SELECT token, granted, capacity, NULL AS place, NULL AS owner, NULL AS weight, NULL AS age, NULL AS expires_in,
          NULL AS metadata, NULL AS living
     FROM {locks} FORCE INDEX (PRIMARY) WHERE name = in_name)
  UNION ALL
  (SELECT NULL, NULL, NULL, c.token, c.owner, c.weight, v_now - c.since,
          IF(c.ttl >= {FOREVER}, c.ttl - {FOREVER}, c.expires - v_now), LEFT(c.metadata, 15000),
          c.expires > v_now AND NOT {GONE c}
     FROM {claims} AS c FORCE INDEX (PRIMARY)
    WHERE c.name = in_name AND c.token > in_after
      AND c.token <= GREATEST(in_upto, (SELECT granted FROM {locks} FORCE INDEX (PRIMARY) WHERE name = in_name))
    ORDER BY c.token LIMIT in_most);
END
