-- Claims that do not wait, in one transaction: in their order, up to the first that is not granted. A statement that
-- calls {acquire} for each, so that a store whose routines are older has it, too.
--
-- The refusal of a claim sets synchronous_commit off. What was granted before it has to reach the disk all the same.
WITH RECURSIVE wanted AS MATERIALIZED (
  SELECT w.n, w.name, w.owner, w.weight, w.capacity, w.ttl, w.metadata
    FROM unnest($1::pg_catalog.text::pg_catalog.text[], $2::pg_catalog.text::pg_catalog.bytea[],
                $4::pg_catalog.text::pg_catalog.int8[], $5::pg_catalog.text::pg_catalog.int8[],
                $6::pg_catalog.text::pg_catalog.int8[], $7::pg_catalog.text::pg_catalog.text[])
         WITH ORDINALITY AS w (name, owner, weight, capacity, ttl, metadata, n)
), tried AS (
  SELECT w.n, pg_catalog.current_setting('synchronous_commit') AS commits, a.*
    FROM wanted w, LATERAL {acquire}(w.name, w.owner, $3, w.weight, w.capacity, w.ttl, w.metadata, false) a
   WHERE w.n OPERATOR(pg_catalog.=) 1
  UNION ALL
  SELECT w.n, t.commits, a.*
    FROM tried t, wanted w,
         LATERAL {acquire}(w.name, w.owner, $3, w.weight, w.capacity, w.ttl, w.metadata, false) a
   WHERE t.is_granted OPERATOR(pg_catalog.=) 1 AND w.n OPERATOR(pg_catalog.=) (t.n OPERATOR(pg_catalog.+) 1)
)
SELECT t.outcome, t.place, t.is_granted, t.is_head, t.holder_left,
       CASE WHEN t.outcome OPERATOR(pg_catalog.<>) 0
            THEN pg_catalog.set_config('synchronous_commit', t.commits, true) END
  FROM tried t
