  -- What a call that was killed had begun is still open on its connection: it must not be committed by us.
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    RESIGNAL;
  END;
  ROLLBACK;
--@include writable.sql
  -- Whatever session calls: a client that polls sets none.
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
