-- Begin to remember a name.
--
-- In: name, capacity

-- open
INSERT INTO {locks} (name, token, granted, capacity) VALUES (:name, 0, 0, :capacity)
ON CONFLICT (name) DO NOTHING;
