-- For older clients: a name with all its living claims, in the order of the queue; one row without a claim if it is
-- idle. A claim that ends with its session has no time of its own, and is shown with the one that its client has for
-- it. One statement, and so of one moment, without a lock.
CREATE PROCEDURE IF NOT EXISTS {inspect}(in_name VARBINARY(512))
  READS SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 1'
BEGIN
  DECLARE v_now BIGINT DEFAULT UNIX_TIMESTAMP(SYSDATE(6)) * 1000000;
  SELECT l.token, l.granted, l.capacity,
         c.token AS place, c.owner, c.weight, v_now - c.since AS age,
         IF(c.ttl >= {FOREVER}, c.ttl - {FOREVER}, c.expires - v_now) AS expires_in, c.metadata
    FROM {locks} AS l FORCE INDEX (PRIMARY)
    LEFT JOIN {claims} AS c FORCE INDEX (PRIMARY) ON c.name = l.name AND c.expires > v_now AND NOT {GONE c}
   WHERE l.name = in_name
   ORDER BY c.token;
END
