-- What a store in PostgreSQL is made of; run in one transaction, by whoever finds nothing or an older layout.
-- Times are microseconds since the epoch in UTC, by the server's clock; tokens, of the same clock or above.

CREATE TABLE IF NOT EXISTS {locks} (
  name     text COLLATE "C" PRIMARY KEY,  -- compared byte for byte
  token    bigint NOT NULL,               -- the last one drawn, by a holder or a waiter
  granted  bigint NOT NULL,               -- the last one granted: claims above it wait
  oldest   bigint NOT NULL,               -- no claim is below: the rows that once were need not be passed over
  capacity bigint NOT NULL                -- how much its holders may weigh together
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE IF NOT EXISTS {claims} (
  name     text COLLATE "C" NOT NULL,
  token    bigint NOT NULL,               -- its place in the queue, and its fencing token
  owner    bytea  NOT NULL,               -- 16 random bytes, known to its maker alone
  client   bytea  NOT NULL,               -- 16 bytes: whom to tell
  weight   bigint NOT NULL,
  ttl      bigint NOT NULL,
  expires  bigint NOT NULL,               -- dead from then on, unless kept
  since    bigint NOT NULL,               -- queued, or granted
  metadata text   NOT NULL,               -- for people
  PRIMARY KEY (name, token)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE IF NOT EXISTS {sweeps} (
  swept bigint NOT NULL                   -- when nothing was left to forget
);
INSERT INTO {sweeps} (swept) SELECT 0 WHERE NOT EXISTS (SELECT FROM {sweeps});
