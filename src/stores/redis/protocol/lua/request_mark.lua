local mark = ',"release_request":' -- where a request to release begins in metadata: see base/metadata.hpp
