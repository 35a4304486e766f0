-- The words for a client; where there are none, wait until somebody rings, or for so many seconds, if any. Whoever rings
-- kills this call, wherever it is: it ends with an error, and the next one finds the word, which was committed
-- before. Words stay until they are said to have been seen, so that none is lost with an answer.
--
-- In:  client, seen (the owner in 16 bytes and the token in 8, the highest byte first, of words that need not be
--      told again), seconds
-- Out: owner, token (granted; negative: revoked; 0: the first in the queue)
CREATE PROCEDURE IF NOT EXISTS {listen}(in_client BINARY(16), in_seen MEDIUMBLOB, in_seconds DOUBLE)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_at INT DEFAULT 1;
  DECLARE v_calls VARCHAR(64) DEFAULT CONCAT('holdfast-calls:', LOWER(HEX(in_client)));
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    RESIGNAL;
  END;
--@include writable.sql
  IF in_seen <> '' THEN
    START TRANSACTION;
    WHILE v_at < LENGTH(in_seen) DO
      DELETE w FROM {words} AS w FORCE INDEX (PRIMARY)
       WHERE w.client = in_client AND w.owner = SUBSTR(in_seen, v_at, 16)
         AND w.token = CAST(CONV(HEX(SUBSTR(in_seen, v_at + 16, 8)), 16, -10) AS SIGNED);
      SET v_at = v_at + 24;
    END WHILE;
    COMMIT;
  END IF;
  IF in_seconds > 0 AND NOT EXISTS (SELECT 1 FROM {words} FORCE INDEX (PRIMARY) WHERE client = in_client) THEN
    -- In a wait for what the client's other connection has. A SLEEP that two ring at once holds up all sleepers of
    -- the server for two seconds: who wakes has the mutex of them all, and waits for the second ring, which waits
    -- for that mutex.
    IF GET_LOCK(v_calls, in_seconds) = 1 THEN
      SET v_calls = RELEASE_LOCK(v_calls); -- unlike DO, this shows the id to nobody who may see others' statements
      DO SLEEP(LEAST(in_seconds, 0.1)); -- that connection is just being made anew
    END IF;
  END IF;
  SELECT owner, token FROM {words} FORCE INDEX (PRIMARY)
   WHERE client = in_client ORDER BY told, ABS(token), token DESC LIMIT 256;
END
