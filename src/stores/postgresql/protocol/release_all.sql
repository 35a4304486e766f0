-- Ends claims, in their order and in one transaction. Where nobody waits for one of the names, the commit is not waited
-- for to be on the disk, also if another name is handed on: who is granted that looks before it believes so, and the
-- commit of the look is waited for.
SELECT r.done
  FROM unnest($1::pg_catalog.text::pg_catalog.text[], $2::pg_catalog.text::pg_catalog.bytea[],
              $3::pg_catalog.text::pg_catalog.int8[]) WITH ORDINALITY AS h (name, owner, token, n),
       LATERAL {release}(h.name, h.owner, h.token) AS r (done)
