-- What a resource in this database needs to check fencing tokens; see fence.sql. The comment tells the table from others
-- of the same name.

-- fences
CREATE TABLE IF NOT EXISTS {fences} (
  resource VARBINARY(512) NOT NULL,      -- compared byte for byte, trailing spaces included
  token    BIGINT         NOT NULL,      -- the largest seen
  PRIMARY KEY (resource)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = 'Holdfast fences 1'
