  SELECT l.token, l.granted, l.oldest, l.capacity INTO last, upto, low, room
    FROM {locks} l WHERE l.name = in_name FOR NO KEY UPDATE;
