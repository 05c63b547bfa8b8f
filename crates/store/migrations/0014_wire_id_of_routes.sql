-- The id of a route's request on the wire is called what it is.
ALTER TABLE routes RENAME COLUMN letter TO wire_id;
