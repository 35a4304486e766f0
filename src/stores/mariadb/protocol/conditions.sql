-- What a server says of itself, as lines "name=value".
SELECT CONCAT('version=', VERSION())
UNION ALL SELECT CONCAT('user=', CURRENT_USER())
UNION ALL SELECT CONCAT('user_name=', QUOTE(LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1)),
                        '@', QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)))
UNION ALL SELECT CONCAT('flush=', @@global.innodb_flush_log_at_trx_commit)
-- What does not keep its commits. MariaDB's 3 is 1 without the grouping of commits; MySQL has none.
UNION ALL SELECT CONCAT('careless=', CASE
  WHEN @@global.innodb_flush_log_at_trx_commit <> IF(VERSION() LIKE '%MariaDB%' AND @@global.innodb_flush_log_at_trx_commit = 3, 3, 1)
    THEN CONCAT('innodb_flush_log_at_trx_commit is ', @@global.innodb_flush_log_at_trx_commit)
  WHEN @@global.log_bin AND @@global.sync_binlog <> 1
    THEN CONCAT('there is a binary log, and sync_binlog is ', @@global.sync_binlog)
  WHEN @@global.innodb_flush_method IN ('nosync', 'littlesync')
    THEN CONCAT('innodb_flush_method is ', @@global.innodb_flush_method)
  ELSE '' END)
UNION ALL SELECT CONCAT('torn_pages=', IF(@@global.innodb_doublewrite IN ('OFF', '0'), 'yes', 'no'))
UNION ALL SELECT CONCAT('log_bin=', IF(@@global.log_bin, 'yes', 'no'))
UNION ALL SELECT CONCAT('max_join_size=', @@session.max_join_size)
UNION ALL SELECT CONCAT('big_selects=', IF(@@session.sql_big_selects, 'yes', 'no'))
/*M! UNION ALL SELECT CONCAT('transaction_read_only=', IF(@@session.tx_read_only, 'yes', 'no')) */
