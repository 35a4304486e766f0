local furthest = 1000000 -- microseconds by which a number may be ahead of the clock: less than any guard
