-- The tables of a store. {locks} and {claims} stand for the tables' names.
-- Times are microseconds of the store's own lease clock; tokens, of its wall clock or above.

-- locks
CREATE TABLE IF NOT EXISTS {locks} (
  name     TEXT   NOT NULL PRIMARY KEY,  -- compared byte for byte
  token    BIGINT NOT NULL,              -- the last one drawn, by a holder or a waiter
  granted  BIGINT NOT NULL,              -- the last one granted: claims above it wait
  capacity BIGINT NOT NULL               -- how much its holders may weigh together
) WITHOUT ROWID;

-- claims
CREATE TABLE IF NOT EXISTS {claims} (
  name     TEXT   NOT NULL,
  token    BIGINT NOT NULL,              -- its place in the queue, and its fencing token
  owner    BLOB   NOT NULL,              -- 16 random bytes, known to its maker alone
  client   BLOB   NOT NULL,              -- 16 bytes: whom to tell
  weight   BIGINT NOT NULL,
  ttl      BIGINT NOT NULL,
  expires  BIGINT NOT NULL,              -- dead from then on, unless kept
  since    BIGINT NOT NULL,              -- queued, or granted
  metadata TEXT   NOT NULL,              -- for people
  PRIMARY KEY (name, token)
) WITHOUT ROWID;

-- sweeps
CREATE TABLE IF NOT EXISTS {sweeps} (
  swept BIGINT NOT NULL                  -- wall clock: when nothing was left to forget
);

-- first
INSERT INTO {sweeps} (swept) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM {sweeps});
