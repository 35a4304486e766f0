// Excerpts of what a search has found are fetched, which a browser refuses for files.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
