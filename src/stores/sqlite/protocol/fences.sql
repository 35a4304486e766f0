-- What a resource in an SQLite file needs to check fencing tokens. Triggers, because SQLite keeps no routines.
-- A table made by another text is refused, because it may lack the key or a check. So this text stays as it is.

-- table
CREATE TABLE IF NOT EXISTS {fences} (
  resource TEXT    NOT NULL PRIMARY KEY CHECK (typeof(resource) = 'text'),  -- compared byte for byte
  token    INTEGER NOT NULL CONSTRAINT "a fence takes a token above 0" CHECK (typeof(token) = 'integer' AND token > 0)
) WITHOUT ROWID;

-- formerinsert
DROP TRIGGER IF EXISTS {fence_insert};

-- formerupdate
DROP TRIGGER IF EXISTS {fence_update};

-- insert
CREATE TRIGGER {fence_insert} BEFORE INSERT ON {fences}
WHEN EXISTS (SELECT 1 FROM {fences} WHERE resource = NEW.resource AND token > NEW.token)
BEGIN
  SELECT RAISE(ABORT, 'holdfast: the fencing token is older than the largest seen for this resource: roll back');
END;

-- update
CREATE TRIGGER {fence_update} BEFORE UPDATE ON {fences}
WHEN NEW.token < OLD.token OR NEW.resource <> OLD.resource
BEGIN
  SELECT RAISE(ABORT, 'holdfast: the fencing token is older than the largest seen for this resource: roll back');
END;
