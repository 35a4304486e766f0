-- Forget what nobody has used for long, a bounded number of rows at a time, and not again within `every` once
-- nothing is left to forget. A name's last token is a time at which it was used, and the next one is drawn no
-- lower than the clock: forgetting keeps tokens rising.
--
-- In:  keep (how long an unused name is remembered), every, limit
-- Out: more
-- Ends at due: it is not time.

-- due
SELECT 1 AS due FROM {sweeps} WHERE swept NOT BETWEEN :floor - :every AND :floor;

-- bury?
DELETE FROM {claims}
 WHERE (name, token) IN (SELECT name, token FROM {claims} WHERE expires <= :now LIMIT :limit);

-- forget?
DELETE FROM {locks}
 WHERE name IN (SELECT l.name FROM {locks} l
                 WHERE l.token < :floor - :keep
                   AND NOT EXISTS (SELECT 1 FROM {claims} c WHERE c.name = l.name)
                 LIMIT :limit);

-- swept?
UPDATE {sweeps}
   SET swept = :floor
 WHERE NOT EXISTS (SELECT 1 FROM {locks} l
                    WHERE l.token < :floor - :keep
                      AND NOT EXISTS (SELECT 1 FROM {claims} c WHERE c.name = l.name))
   AND NOT EXISTS (SELECT 1 FROM {claims} WHERE expires <= :now);

-- more
SELECT swept <> :floor AS more FROM {sweeps};
