DECLARE
  next int := 1;
  size int;
  of_name text;
  of_owner bytea;
  own bigint;
  its_ttl bigint;
  at bigint;
  upto bigint;
BEGIN
  kept := '';
  WHILE next <= length(packed) LOOP
    size := get_byte(packed, next - 1) * 256 + get_byte(packed, next);
    of_name := convert_from(substring(packed FROM next + 2 FOR size), 'UTF8');
    next := next + 2 + size;
    of_owner := substring(packed FROM next FOR 16);
    own := ('x' || encode(substring(packed FROM next + 16 FOR 8), 'hex'))::bit(64)::bigint;
    its_ttl := ('x' || encode(substring(packed FROM next + 24 FOR 8), 'hex'))::bit(64)::bigint;
    next := next + 32;
