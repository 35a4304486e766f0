-- What a store of this kind keeps, beside the procedures that alone touch it. Times are microseconds since the
-- epoch, by the server's clock; names, owners and clients are bytes, so that no collation folds them.
-- The comments tell these tables from others of the same names.

-- locks
CREATE TABLE IF NOT EXISTS {locks} (
  name     VARBINARY(512) NOT NULL,      -- compared byte for byte, trailing spaces included
  token    BIGINT         NOT NULL,      -- the last one drawn, by a holder or a waiter
  granted  BIGINT         NOT NULL,      -- the last one granted: claims above it wait
  oldest   BIGINT         NOT NULL,      -- no claim is below: the rows that once were need not be passed over
  capacity BIGINT         NOT NULL,      -- how much its holders may weigh together
  PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = 'Holdfast locks 2'

-- claims
CREATE TABLE IF NOT EXISTS {claims} (
  name     VARBINARY(512) NOT NULL,
  token    BIGINT         NOT NULL,      -- its place in the queue, and its fencing token
  owner    BINARY(16)     NOT NULL,      -- random bytes, known to its maker alone
  client   BINARY(16)     NOT NULL,      -- whom to tell
  weight   BIGINT         NOT NULL,
  ttl      BIGINT         NOT NULL,
  expires  BIGINT         NOT NULL,      -- dead from then on, unless kept
  since    BIGINT         NOT NULL,      -- queued, or granted
  metadata MEDIUMBLOB     NOT NULL,      -- for people: JSON in UTF-8
  PRIMARY KEY (name, token)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = 'Holdfast claims 2'

-- words
CREATE TABLE IF NOT EXISTS {words} (
  client BINARY(16) NOT NULL,            -- whose bell fetches it
  owner  BINARY(16) NOT NULL,
  token  BIGINT     NOT NULL,            -- granted; negative: revoked, or asked to release; 0: it is the first
  told   BIGINT     NOT NULL,
  PRIMARY KEY (client, owner, token)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = 'Holdfast words 2'

-- sweeps
CREATE TABLE IF NOT EXISTS {sweeps} (
  id     TINYINT        NOT NULL,
  swept  BIGINT         NOT NULL,        -- when nothing was left to forget
  walked VARBINARY(512) NOT NULL,        -- the last name that the walk under way has come to
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = 'Holdfast sweeps 2'

-- first
INSERT IGNORE INTO {sweeps} (id, swept, walked) VALUES (1, 0, '')
