-- End the claims of a former boot of the machine, for stores whose lease clock begins anew with each: those
-- kept at a time that has not come yet. A few may look alive for the rest of their ttl; never the other way
-- round.

-- void
DELETE FROM {claims} WHERE expires - ttl > :now;
