-- A transaction calls it first. It locks the row of the resource until the transaction ends, and raises 45000 with the
-- number {FENCED} if a larger token has been there: the caller rolls back. The INSERT comes first, because a search for a
-- row that is not there yet would lock the gap around it, and with it other resources. The parameters are longer than
-- the columns, because a caller without a strict sql_mode has its arguments cut off: a number that is too large would
-- become the largest token, above all that are granted.
CREATE PROCEDURE IF NOT EXISTS {fence}(in_resource VARBINARY(1024), in_token DECIMAL(20))
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast fence 1'
BEGIN
  DECLARE v_seen BIGINT;
  DECLARE v_refusal VARCHAR(128) CHARACTER SET utf8mb4;
  IF in_resource IS NULL OR in_token IS NULL OR in_token NOT BETWEEN 1 AND 9223372036854775807 THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {INVALID},
      MESSAGE_TEXT = 'a fence takes the name of a resource and a token from 1 to 2^63 - 1';
  END IF;
  INSERT INTO {fences} (resource, token) VALUES (in_resource, in_token)
  ON DUPLICATE KEY UPDATE token = GREATEST(token, in_token);
  SELECT token INTO v_seen FROM {fences} FORCE INDEX (PRIMARY) WHERE resource = in_resource FOR UPDATE;
  IF v_seen > in_token THEN
    SET v_refusal = CONCAT('the fencing token ', in_token, ' is older than ', v_seen,
                           ', the largest seen for this resource: roll back');
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {FENCED}, MESSAGE_TEXT = v_refusal;
  END IF;
END
