-- What a server says of itself, as lines "name=value".
SELECT CONCAT('version=', VERSION())
UNION ALL SELECT CONCAT('user=', CURRENT_USER())
UNION ALL SELECT CONCAT('user_name=', QUOTE(LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1)),
                        '@', QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)))
UNION ALL SELECT CONCAT('read_only=', @@global.read_only)
UNION ALL SELECT CONCAT('flush=', @@global.innodb_flush_log_at_trx_commit)
UNION ALL SELECT CONCAT('doublewrite=', @@global.innodb_doublewrite)
UNION ALL SELECT CONCAT('log_bin=', IF(@@global.log_bin, 'yes', 'no'))
UNION ALL SELECT CONCAT('sync_binlog=', @@global.sync_binlog)
UNION ALL SELECT CONCAT('binlog_format=', @@session.binlog_format)
UNION ALL SELECT CONCAT('flush_method=', @@global.innodb_flush_method)
UNION ALL SELECT CONCAT('force_recovery=', @@global.innodb_force_recovery)
UNION ALL SELECT CONCAT('innodb_read_only=', IF(@@global.innodb_read_only, 'yes', 'no'))
UNION ALL SELECT CONCAT('max_join_size=', @@session.max_join_size)
UNION ALL SELECT CONCAT('big_selects=', IF(@@session.sql_big_selects, 'yes', 'no'))
/*M! UNION ALL SELECT CONCAT('transaction_read_only=', IF(@@session.tx_read_only, 'yes', 'no')) */
