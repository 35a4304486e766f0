-- What a store in PostgreSQL is made of; run in one transaction, by whoever finds nothing or older routines.
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
  owner    bytea  NOT NULL,               -- 16 random bytes: whoever may look at the claim knows them, and may end it
  client   bytea  NOT NULL,               -- 16 random bytes, half of them secret: whom to notify
  weight   bigint NOT NULL,
  ttl      bigint NOT NULL,
  expires  bigint NOT NULL,               -- dead from then on, unless kept
  since    bigint NOT NULL,               -- queued, or granted
  metadata text   NOT NULL,               -- for people
  login    oid,                           -- of a claim that ends with its session: the role that has logged in there
  PRIMARY KEY (name, token)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- With a key, so that a publication of all tables forbids no update.
CREATE TABLE IF NOT EXISTS {sweeps} (
  swept   bigint NOT NULL,                -- when nothing was left to forget
  id      smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  walked  text COLLATE "C" NOT NULL DEFAULT '',  -- how far the sweep has come that is under way
  watched bigint NOT NULL DEFAULT 0,      -- until when changes are notified
  -- The same of single names, by their buckets, which count from 1; see track.sql.
  watched_names bigint[] NOT NULL DEFAULT array_fill(0::bigint, ARRAY[{BUCKETS}])
);

{TRUST}
INSERT INTO {sweeps} (swept) VALUES (0) ON CONFLICT (id) DO NOTHING;
